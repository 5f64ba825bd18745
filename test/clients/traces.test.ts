import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect } from 'chai';
import { blocksRunAs } from '../docs/blocks.ts';
import { ROOT } from '../docs/documents.ts';

const MODULES = join(import.meta.dirname, 'node_modules');

describe('the traces of the guide', () => {
  it('reach the collector, with the span of a request', async () => {
    const [program, start] = blocksRunAs('traces');
    expect(start?.code).to.match(/^npx node --import \.\/tracing\.mjs src\/main\.ts /);
    // Where the SDK is installed.
    const folder = mkdtempSync(join(MODULES, '.traces-'));
    const file = join(folder, 'tracing.mjs');
    writeFileSync(file, program?.code ?? '');
    const collected: Buffer[] = [];
    const collector = createServer((req, res) => {
      req.on('data', (piece: Buffer) => collected.push(piece));
      req.once('end', () => res.end());
    }).listen(0, '127.0.0.1');
    await once(collector, 'listening');
    const { port } = collector.address() as AddressInfo;
    const gateway = spawn(process.execPath, ['--import', file, 'src/main.ts'], {
      cwd: ROOT,
      env: {
        PORT: '0',
        DATABASE_URL: ':memory:',
        LOG_LEVEL: 'silent',
        OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
        // The spans are sent at once, and nothing else is.
        OTEL_BSP_SCHEDULE_DELAY: '1',
        OTEL_METRICS_EXPORTER: 'none',
        OTEL_LOGS_EXPORTER: 'none',
      },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    try {
      const url = await readUrl(gateway.stdout);
      const traced = once(collector, 'request');
      const reply = await fetch(`${url}/api/v1/responses`, {
        method: 'POST',
        headers: { authorization: 'Bearer demo', 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'demo', input: 'hello' }),
      });
      expect(reply.status).to.equal(200);
      await traced;
      gateway.kill('SIGTERM');
      await once(gateway, 'exit');
      const said = Buffer.concat(collected).toString('latin1');
      for (const named of ['responses-gateway', 'chat demo']) expect(said).to.include(named);
      expect(said).not.to.include('hello');
    } finally {
      gateway.kill('SIGKILL');
      collector.close();
      rmSync(folder, { recursive: true, force: true });
    }
  });
});

/** Resolves with the URL of the banner. All of the output is read, so that its writer never waits. */
function readUrl(stdout: NodeJS.ReadableStream): Promise<string> {
  let printed = '';
  return new Promise((resolve, reject) => {
    stdout.on('data', (piece: Buffer) => {
      printed += piece.toString();
      const url = /http:\/\/127\.0\.0\.1:\d+/.exec(printed)?.[0];
      if (url !== undefined) resolve(url);
    });
    stdout.once('end', () => reject(new Error(`The gateway ended: ${printed}`)));
  });
}
