import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { AT_ONCE_MS } from '../support/time.ts';

describe('createLogger', () => {
  const module = join(import.meta.dirname, '../../src/telemetry/log.ts');

  function argsOf(statements: string): string[] {
    const program = `import { createLogger, openLogOutput } from ${JSON.stringify(module)}; ${statements}`;
    return ['--disable-warning=ExperimentalWarning', '--input-type=module', '--eval', program];
  }

  async function outputOf(statements: string): Promise<string> {
    const { stdout } = await promisify(execFile)(process.execPath, argsOf(statements));
    return stdout;
  }

  it('loses no line when the process ends', async () => {
    expect(await outputOf("createLogger('info').info('last words'); process.exit(0);")).to.include(
      '"msg":"last words"',
    );
  });

  it('lets the process go on, and end, where no line can be written', async function () {
    // Whatever is written to it finds no room.
    if (!existsSync('/dev/full')) this.skip();
    const output = openSync('/dev/full', 'w');
    const statements = `
      import { write } from 'node:fs';
      import { promisify } from 'node:util';
      const log = createLogger('info');
      for (let line = 0; line < 9; line += 1) {
        log.info('a line');
        await promisify(write)(1, 'x').catch(() => undefined);
      }
      process.exit(7);`;
    const child = spawn(process.execPath, argsOf(statements), {
      stdio: ['ignore', output, 'ignore'],
      timeout: AT_ONCE_MS,
      killSignal: 'SIGKILL',
    });
    closeSync(output);
    expect(await once(child, 'exit')).to.deep.equal([7, null]);
  });

  const REQUEST_LINE =
    "info({ req: { method: 'GET', path: '/x' }, status: 200, model: 'm' }, 'answered'); process.exit(0);";

  for (const format of ['auto', 'json']) {
    it(`writes JSON where nobody looks, in the format ${format}`, async () => {
      const line = await outputOf(`createLogger('info', await openLogOutput('${format}')).${REQUEST_LINE}`);
      expect(JSON.parse(line)).to.deep.include({ msg: 'answered', status: 200, model: 'm' });
    });
  }

  it('writes for people in the format pretty', async () => {
    const line = await outputOf(`createLogger('info', await openLogOutput('pretty')).${REQUEST_LINE}`);
    expect(line).to.match(/^\[\d\d:\d\d:\d\d\.\d{3}\] INFO: GET \/x 200 answered \{"model":"m"\}\n$/);
  });

  it('writes for people where they look, in the format auto', async () => {
    const line = await outputOf(
      `process.stdout.isTTY = true; createLogger('info', await openLogOutput('auto')).${REQUEST_LINE}`,
    );
    expect(line).to.include('INFO').and.to.include('GET /x 200 answered');
  });

  it('writes nothing below its level', async () => {
    expect(await outputOf("const log = createLogger('warn'); log.info('no'); log.warn('yes');")).to.match(
      /^[^\n]*"yes"[^\n]*\n$/,
    );
  });
});
