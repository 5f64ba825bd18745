import { execFileSync } from 'node:child_process';
import { expect } from 'chai';
import { howIsRun } from './blocks.ts';
import { BLOCKS, DOCUMENTS, type Block } from './documents.ts';
import { openShell, readCommands, readTranscript, type Shell } from './shell.ts';

/** What commands must print, beyond what the guides show of it. */
const PRINTED: readonly { readonly command: RegExp; readonly printed: RegExp }[] = [
  // 9 tokens of input at 2.50 and 20 of output at 10.00, rounded up.
  { command: /gateway usage --by key/, printed: /^alice .* 0\.000223 /m },
  { command: /^curl .*\/admin\/v1\/usage/, printed: /"key":"key_\w+".*"cost":223/ },
  { command: /gateway keys disable alice/, printed: /^status +disabled$/m },
];

/** What README and the guides tell to type is typed, as it stands there, from the first command of each to its last. */
describe('the commands of a guide', () => {
  let shell: Shell;

  before(function () {
    if (canRunShell()) return;
    console.log('\n  not run, since there is no bash or no curl: the commands of README and the guides');
    this.skip();
  });

  beforeEach(() => {
    shell = openShell();
  });

  afterEach(() => shell.close());

  for (const { path } of DOCUMENTS) {
    const blocks = BLOCKS.filter((block) => block.path === path);
    if (!blocks.some((block) => commandsOf(block).length > 0)) continue;
    it(`work one after another, and print what it shows: ${path}`, async () => {
      let printed = '';
      for (const block of blocks) {
        const commands = commandsOf(block);
        if (commands.length > 0) printed = '';
        for (const command of commands) {
          const said = await shell.run(command);
          for (const wanted of PRINTED.filter((one) => one.command.test(command)))
            expect(said).to.match(wanted.printed);
          printed += said;
        }
        if (isOutputOf(block, blocks[blocks.indexOf(block) - 1])) expectShown(block, printed);
      }
    });
  }

  it('include those of which more is known than what is shown', () => {
    const commands = BLOCKS.flatMap(commandsOf);
    for (const { command } of PRINTED)
      expect(
        commands.some((one) => command.test(one)),
        String(command),
      ).to.equal(true);
  });
});

function commandsOf(block: Block): readonly string[] {
  switch (howIsRun(block)) {
    case 'shell':
      return readCommands(block.code);
    case 'output':
      return readTranscript(block.code);
    default:
      return [];
  }
}

/** Whether it is what the commands of the block before it print. */
function isOutputOf(block: Block, before: Block | undefined): boolean {
  if (before?.section !== block.section || howIsRun(before) !== 'shell') return false;
  const how = howIsRun(block);
  return how === 'output' || how === 'parsed';
}

/** Each line that is shown must have been printed, in this order, but for what `…` leaves out, white space and what differs each time. */
function expectShown({ path, line, code }: Block, printed: string): void {
  let rest = toComparable(printed);
  for (const part of code.split(/…|\n/).map(toComparable)) {
    // The ends of what is left out in part.
    if (/^[\]},]*$/.test(part)) continue;
    const at = rest.indexOf(part);
    expect(at, `${path}:${line} shows what is not printed: ${part}\nprinted: ${rest}`).to.be.at.least(0);
    rest = rest.slice(at + part.length);
  }
}

function toComparable(text: string): string {
  return text
    .replaceAll(/\b(req_|resp_|msg_|key_|rgk_)\w+/g, '$1')
    .replaceAll(/\d{4}-\d\d-\d\d( \d\d:\d\d:\d\d)?/g, 'DATE')
    .replaceAll(/\b1[79]\d{8}\b/g, 'TIME')
    .replaceAll(/\b(\d+m)?\d+s$/gm, 'SECONDS')
    .replaceAll(/\s+/g, '');
}

function canRunShell(): boolean {
  try {
    execFileSync('bash', ['-c', 'curl --version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
