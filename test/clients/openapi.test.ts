import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { blocksRunAs } from '../docs/blocks.ts';
import { ROOT } from '../docs/documents.ts';
import { SPECIAL } from './model-words.ts';
import { useGateway } from './scene.ts';
import { API_KEY } from './strict-backend.ts';

const run = promisify(execFile);
const GATEWAY = 'http://127.0.0.1:8080';
const TSC = ['--noEmit', '--pretty', 'false', '--project', '.'];
const TSCONFIG = {
  extends: '../../../tsconfig.json',
  // Examples for others write process.env.NAME.
  compilerOptions: { noPropertyAccessFromIndexSignature: false },
  include: ['.'],
  exclude: [],
};

describe('a client generated from /openapi.json', () => {
  const scene = useGateway();
  const blocks = blocksRunAs('generated');
  const [, output = ''] = /^npx openapi-typescript \S+ -o (\S+)$/m.exec(blocks[0]?.code ?? '') ?? [];
  const program = blocks.find(({ language }) => language === 'ts')?.code ?? '';
  let folder: string;

  beforeEach(() => {
    // Below the packages that it imports.
    folder = mkdtempSync(join(import.meta.dirname, 'generated-'));
  });

  afterEach(() => rmSync(folder, { recursive: true }));

  it('compiles in the strictest way without a cast, and gets an answer', async () => {
    const url = new URL(scene.baseUrl).origin;
    const generator = join(import.meta.dirname, 'node_modules/openapi-typescript/bin/cli.js');
    await run(process.execPath, [generator, `${url}/openapi.json`, '-o', output], { cwd: folder });
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(TSCONFIG));
    writeFileSync(join(folder, 'program.ts'), program.replace(GATEWAY, url));
    expect(program).not.to.match(/\bas\b|\bany\b|@ts-/);
    expect(await compile()).to.equal('');
    scene.backend.plays({ text: SPECIAL });
    const env = { ...process.env, GATEWAY_API_KEY: API_KEY };
    const { stdout } = await run(process.execPath, ['program.ts'], { cwd: folder, env });
    expect(stdout).to.equal(`${SPECIAL}\n`);
    writeFileSync(join(folder, 'program.ts'), program.replace('data.output_text', 'data.output_txet'));
    expect(await compile()).to.include("Property 'output_txet' does not exist");
  });

  /** Resolves with its complaints. */
  async function compile(): Promise<string> {
    const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
    const { stdout } = await run(process.execPath, [tsc, ...TSC], { cwd: folder }).catch(
      (error: unknown) => error as { stdout: string },
    );
    return stdout;
  }
});
