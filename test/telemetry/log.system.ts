import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';

describe('createLogger', () => {
  const module = join(import.meta.dirname, '../../src/telemetry/log.ts');

  async function outputOf(statements: string): Promise<string> {
    const program = `import { createLogger, openLogOutput } from ${JSON.stringify(module)}; ${statements}`;
    const args = ['--disable-warning=ExperimentalWarning', '--input-type=module', '--eval', program];
    const { stdout } = await promisify(execFile)(process.execPath, args);
    return stdout;
  }

  it('loses no line when the process ends', async () => {
    expect(await outputOf("createLogger('info').info('last words'); process.exit(0);")).to.include(
      '"msg":"last words"',
    );
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
