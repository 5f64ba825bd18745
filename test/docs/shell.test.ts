import { expect } from 'chai';
import { openShell, readCommands, readTranscript } from './shell.ts';

describe('readCommands', () => {
  for (const { name, code, commands } of [
    { name: 'takes each line for a command', code: 'a\n\nb c   # d\n', commands: ['a', 'b c   # d'] },
    { name: 'leaves comments out', code: '# a\nb\n', commands: ['b'] },
    { name: 'goes on behind a backslash', code: 'a \\\n  b\nc\n', commands: ['a \\\n  b', 'c'] },
    { name: 'goes on within quotes', code: "a '{\n}'\nb\n", commands: ["a '{\n}'", 'b'] },
    { name: 'goes on to the end of a text', code: "a <<'END'\n'b\nEND\nc\n", commands: ["a <<'END'\n'b\nEND", 'c'] },
    { name: 'keeps what does not end', code: "a\nb '\n", commands: ['a', "b '\n"] },
  ]) {
    it(name, () => {
      expect(readCommands(code)).to.deep.equal(commands);
    });
  }
});

describe('readTranscript', () => {
  it('finds what was typed among what was printed', () => {
    expect(readTranscript('$ a b\nc $ d\n$ e\n')).to.deep.equal(['a b', 'e']);
  });
});

describe('the shell of a guide', () => {
  it('runs nothing that it does not know', async () => {
    const shell = openShell();
    const failure = await shell.run('rm -r data').catch((error: unknown) => error);
    await shell.close();
    expect(String(failure)).to.include('does not know how to run: rm -r data');
  });
});
