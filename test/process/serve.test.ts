import { expect } from 'chai';
import { describeCrash } from '../../src/process/serve.ts';

describe('describeCrash', () => {
  it('names the kind of the error, its code and where it was thrown', () => {
    const error = Object.assign(new TypeError('x'), { code: 'ERR_X' });
    expect(describeCrash(error)).to.match(/^TypeError ERR_X at .*serve\.test\.ts:\d+:\d+/);
  });

  it('leaves the message out, which may quote a prompt', () => {
    let line = '';
    try {
      JSON.parse('{"input": "canary');
    } catch (error) {
      line = describeCrash(error);
    }
    expect(line).to.match(/^SyntaxError at JSON\.parse|^SyntaxError at .*serve\.test\.ts/);
    expect(line).not.to.contain('canary');
  });

  it('leaves out a message of several lines that looks like a stack', () => {
    expect(describeCrash(new Error('one\n    at canary (two)\nthree'))).not.to.contain('canary');
  });

  it('is one line, of a bounded length, for a deep stack', () => {
    const fall = (depth: number): string => (depth === 0 ? describeCrash(new Error('x')) : fall(depth - 1));
    expect(fall(50).split(' at ')).to.have.lengthOf.within(2, 11);
    expect(fall(50)).not.to.contain('\n');
  });

  it('says of what is not an error only its type', () => {
    expect(describeCrash('canary')).to.equal('a thrown string');
  });
});
