import { expect } from 'chai';
import { createProgress } from '../../src/cli/progress.ts';

function open(isTTY: boolean) {
  const written: string[] = [];
  return { written, stderr: { isTTY, write: (text: string) => written.push(text) } };
}

describe('createProgress', () => {
  it('writes nothing where nobody watches', () => {
    const { written, stderr } = open(false);
    const progress = createProgress({ stderr });
    progress.begin('one');
    progress.stop();
    expect(written).to.deep.equal([]);
  });

  it('writes over one line on a terminal, and clears it at the end', () => {
    const { written, stderr } = open(true);
    const progress = createProgress({ stderr });
    progress.begin('one');
    progress.begin('two');
    progress.stop();
    expect(written).to.deep.equal(['\r\u{1b}[K⠙ one', '\r\u{1b}[K⠹ two', '\r\u{1b}[K']);
  });
});
