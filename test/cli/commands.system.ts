import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect } from 'chai';
import { COMMAND_ROWS, openCommandScene, type CommandScene } from './commands.ts';

const MAIN = join(import.meta.dirname, '../../src/cli/main.ts');

/** As `| head -0` does. Every process loads the program anew. */
describe('every command, when its reader closes the pipe', () => {
  let scene: CommandScene;

  before(async () => {
    scene = await openCommandScene();
  });
  after(() => scene.close());

  for (const row of COMMAND_ROWS) {
    const isShown = typeof row.prints !== 'string';
    it(`ends with 0 and no word of the pipe: ${row.name}${isShown ? '' : ' --help'}`, async () => {
      const words = isShown ? scene.words(row) : [...row.name.split(' '), '--help'];
      const child = spawn(process.execPath, [MAIN, ...words], {
        cwd: scene.folder,
        env: { ...scene.env },
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      child.stdout.destroy();
      const [said, [status]] = await Promise.all([text(child.stderr), once(child, 'exit')]);
      expect(said).not.to.match(/EPIPE|^ {4}at /m);
      expect(status, said).to.equal(0);
    });
  }

  it('ends with its status when nobody reads what is wrong', async () => {
    const child = spawn(process.execPath, [MAIN, 'nonsense'], { cwd: scene.folder, env: {}, stdio: 'pipe' });
    child.stderr.destroy();
    expect(await once(child, 'exit')).to.deep.equal([2, null]);
  });
});
