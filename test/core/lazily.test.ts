import { expect } from 'chai';
import { lazily } from '../../src/core/lazily.ts';

describe('lazily', () => {
  it('makes nothing before it is asked, and undefined too but once', () => {
    let made = 0;
    const get = lazily(() => {
      made += 1;
      return undefined;
    });
    expect(made).to.equal(0);
    expect([get(), get(), made]).to.deep.equal([undefined, undefined, 1]);
  });

  it('tries again after a promise that failed, and keeps one that did not', async () => {
    const made = [Promise.reject(new Error('not now')), Promise.resolve(1), Promise.resolve(2)];
    const get = lazily(() => made.shift());
    expect(await get()?.catch(String)).to.equal('Error: not now');
    expect([await get(), await get()]).to.deep.equal([1, 1]);
  });

  it('tries again after a throw', () => {
    const get = lazily(() => {
      throw new Error('not now');
    });
    expect(get).to.throw('not now');
    expect(get).to.throw('not now');
  });
});
