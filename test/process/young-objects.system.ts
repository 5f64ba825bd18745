import { execFile, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { startGatewayProcess } from '../support/gateway-process.ts';

const SOURCES = join(import.meta.dirname, '../../src');

/** Tells which flags each process of the gateway was started with, and which it sets. */
const TELL = `
  import { syncBuiltinESMExports } from 'node:module';
  import v8 from 'node:v8';
  const set = v8.setFlagsFromString;
  v8.setFlagsFromString = (flags) => (process.stderr.write('set: ' + flags + '\\n'), set(flags));
  syncBuiltinESMExports();
  process.stderr.write('started: ' + process.execArgv.join(' ') + '\\n');`;
const env = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(TELL)}` };

/** Keeps many objects for a while, and then few: how much of these is made old. */
const SCRIPT = `
  import { getHeapSpaceStatistics } from 'node:v8';
  import { keepRequestsYoung } from ${JSON.stringify(join(SOURCES, 'process/young-objects.ts'))};
  keepRequestsYoung();
  const oldBytes = () => getHeapSpaceStatistics().find((space) => space.space_name === 'old_space').space_used_size;
  const make = (n) => ({ n, body: { text: [n, n, n, n, n, n, n, n] } });
  let held = [];
  for (let n = 0; n < 1e6; n += 1) {
    held.push(make(n));
    if (held.length > 1e5) held = [];
  }
  const last = [];
  let [before, grown] = [oldBytes(), 0];
  for (let n = 0; n < 1e6; n += 1) {
    last[n % 64] = make(n);
    if (n % 1000 > 0) continue;
    const now = oldBytes();
    grown += Math.max(0, now - before);
    before = now;
  }
  console.log(grown);`;

/** Ends with the first flag that is set once the start is forgotten. */
const FORGET = `
  import { syncBuiltinESMExports } from 'node:module';
  import v8 from 'node:v8';
  v8.setFlagsFromString = (flag) => (console.log(flag), process.exit());
  syncBuiltinESMExports();
  const { forgetStart } = await import(${JSON.stringify(join(SOURCES, 'process/young-objects.ts'))});
  forgetStart();
  setInterval(() => {}, 1000);`;

describe('forgetStart', () => {
  it('lets the heap grow further before everything is collected', async () => {
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', FORGET]);
    expect(stdout).to.equal('--heap-growing-percent=150\n');
  });
});

describe('keepRequestsYoung', () => {
  it('leaves what is soon needed no more to the quick collections', async () => {
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', SCRIPT]);
    // Most of what was made was old without it: 120 MB and more.
    expect(Number(stdout)).to.be.below(40e6);
  });

  it('is called before the start of a gateway, and holds for its workers', async () => {
    const gateway = await startGatewayProcess({ ...env, WORKERS: '2' });
    await gateway.stop();
    const { stderr } = await gateway.ended();
    expect(stderr.match(/^set: --no-allocation-site-pretenuring$/gm)).to.have.lengthOf(1);
    expect(stderr.match(/^started: .*--no-allocation-site-pretenuring$/gm)).to.have.lengthOf(2);
  });

  it('is called before the start of a gateway by the command', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'young-'));
    const settings = { ...env, PORT: '0', DATABASE_URL: ':memory:', LOG_LEVEL: 'silent' };
    const child = spawn(process.execPath, [join(SOURCES, 'cli/main.ts'), 'serve'], { cwd: folder, env: settings });
    try {
      const stderr = text(child.stderr);
      for await (const output of child.stdout) if (String(output).includes('http://127.0.0.1:')) break;
      child.kill('SIGTERM');
      expect(await stderr).to.contain('set: --no-allocation-site-pretenuring\n');
    } finally {
      child.kill('SIGKILL');
      rmSync(folder, { recursive: true });
    }
  });
});
