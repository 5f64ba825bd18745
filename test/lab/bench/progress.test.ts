import { expect } from 'chai';
import { createProgress } from './progress.ts';

describe('the progress of the bench', () => {
  const write = (terminal: { isTTY: boolean; columns?: number }) => {
    const written: string[] = [];
    const progress = createProgress(2, { ...terminal, write: (text: string) => written.push(text) });
    progress.step('the first');
    progress.step('the second');
    progress.done();
    return written;
  };

  it('is a line for each step where there is no terminal', () => {
    expect(write({ isTTY: false })).to.deep.equal(['[1/2] the first (0 s)\n', '[2/2] the second (0 s, 1 s left)\n']);
  });

  it('is one line of a terminal, never longer than it, and gone at the end', () => {
    expect(write({ isTTY: true, columns: 12 })).to.deep.equal([
      '\r\u001B[2K[1/2] the f',
      '\r\u001B[2K[2/2] the s',
      '\r\u001B[2K',
    ]);
  });
});
