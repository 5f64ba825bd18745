import { expect } from 'chai';
import { run } from '../support/cli.ts';
import { useRealSockets } from '../support/real-sockets.ts';
import { COMMAND_ROWS, openCommandScene, type CommandScene } from './commands.ts';

/** The names of all commands, as their helps tell them. */
async function commandsIn(words: readonly string[] = []): Promise<readonly string[]> {
  const { stdout } = await run([...words, '--help']);
  const [, list = ''] = /^Commands:\n((?: {2}.*\n)+)/m.exec(stdout) ?? [];
  const names = [...list.matchAll(/^ {2}([\w-]+)/gm)].flatMap(([, name = '']) => (name === 'help' ? [] : [name]));
  if (names.length === 0) return [words.join(' ')];
  const inner = (await Promise.all(names.map((name) => commandsIn([...words, name])))).flat();
  // One that only groups others has no examples of its own.
  return words.length > 0 && stdout.includes('Examples:') ? [words.join(' '), ...inner] : inner;
}

describe('every command', () => {
  useRealSockets();

  const folderBefore = process.cwd();
  let scene: CommandScene;

  before(async () => {
    scene = await openCommandScene();
    process.chdir(scene.folder);
  });
  after(async () => {
    process.chdir(folderBefore);
    await scene.close();
  });

  it('is in the table', async () => {
    expect((await commandsIn()).toSorted()).to.deep.equal(COMMAND_ROWS.map(({ name }) => name).toSorted());
  });

  for (const { name, args, prints } of COMMAND_ROWS) {
    it(`has a help with examples and the options that hold everywhere: ${name}`, async () => {
      const { status, stdout, stderr } = await run(`${name} --help`);
      expect(stdout).to.match(new RegExp(`Examples:\n {2}[.]/gateway ${name}`));
      expect(stdout).to.contain('--json');
      expect({ status, stderr }).to.deep.equal({ status: 0, stderr: '' });
    });

    it(`ends with 2, says one sentence and does nothing with a wrong option: ${name}`, async () => {
      const { status, stdout, stderr } = await run([...name.split(' '), '--nonsense']);
      expect(stderr).to.match(
        /^error: (?:unknown option '--nonsense'|required option .* not specified)\n(?:\(.*\)\n)?$/,
      );
      expect({ status, stdout }).to.deep.equal({ status: 2, stdout: '' });
    });

    if (typeof prints === 'string') continue;
    it(`prints one JSON document for a program: ${name}`, async () => {
      const { status, stdout, stderr } = await run([...scene.words({ name, args }), '--json'], { env: scene.env });
      expect(status, stderr).to.equal(0);
      expect(JSON.parse(stdout)).to.include(prints);
    });
  }
});
