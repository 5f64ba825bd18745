import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { expect } from 'chai';

const ROOT = join(import.meta.dirname, '..');

describe('npm start, under a supervisor', () => {
  it('ends the gateway with the signal that npm gets', async function () {
    if (process.platform === 'win32') this.skip();
    const npm = spawn('npm', ['start'], {
      cwd: ROOT,
      env: { PATH: process.env['PATH'], HOME: process.env['HOME'], PORT: '0', DATABASE_URL: ':memory:' },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let said = '';
    const isReady = Promise.withResolvers<void>();
    npm.stdout.on('data', (piece: Buffer) => {
      said += piece.toString();
      if (said.includes('"input"')) isReady.resolve();
    });
    // It closes when the last process that writes to it has ended.
    const closed = once(npm.stdout, 'close');
    await Promise.race([isReady.promise, closed]);
    const [url = ''] = /http:\/\/127\.0\.0\.1:\d+/.exec(said) ?? [];
    expect((await fetch(`${url}/healthz`)).status).to.equal(200);
    npm.kill('SIGTERM');
    await closed;
    expect(
      await fetch(`${url}/healthz`).then(
        ({ status }) => status,
        () => 'nothing listens',
      ),
    ).to.equal('nothing listens');
  });
});
