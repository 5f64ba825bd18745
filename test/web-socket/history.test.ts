import { expect } from 'chai';
import { ApiError } from '../../src/core/errors.ts';
import { createChains, type Chain } from '../../src/web-socket/history.ts';

/** Of fourteen bytes as JSON, in a list of its own. */
const item = (name: string): object => ({ a: name.padEnd(4, '.') });
const BYTES = 14;

describe('createChains', () => {
  function remembers(chain: Chain, responseId: string): boolean {
    try {
      chain.recall(responseId);
      return true;
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      expect(error).to.include({ code: 'previous_response_not_found', param: 'previous_response_id' });
      return false;
    }
  }

  it('remembers nothing at first', () => {
    expect(remembers(createChains({ maxBytes: 100 }).open(), 'resp_1')).to.equal(false);
  });

  it('puts the turns of a chain together, and knows their size', () => {
    const chain = createChains({ maxBytes: 100 }).open();
    chain.keep('resp_1', [item('one')], undefined);
    chain.keep('resp_2', [item('two')], 'resp_1');
    expect(chain.recall('resp_2')).to.deep.equal({ items: [item('one'), item('two')], bytes: 2 * BYTES });
    expect(remembers(chain, 'resp_1')).to.equal(false);
  });

  it('gives items which the next request may change', () => {
    const chain = createChains({ maxBytes: 100 }).open();
    chain.keep('resp_1', [item('one')], undefined);
    Object.assign(chain.recall('resp_1').items[0] as object, { a: 'changed' });
    expect(chain.recall('resp_1').items).to.deep.equal([item('one')]);
  });

  it('begins anew with a response that continues nothing', () => {
    const chain = createChains({ maxBytes: 100 }).open();
    chain.keep('resp_1', [item('one')], undefined);
    chain.keep('resp_2', [item('two')], undefined);
    expect(chain.recall('resp_2').items).to.deep.equal([item('two')]);
  });

  it('forgets the response that it is told to, and no other', () => {
    const chain = createChains({ maxBytes: 100 }).open();
    chain.keep('resp_1', [item('one')], undefined);
    chain.forget(undefined);
    chain.forget('resp_2');
    expect(remembers(chain, 'resp_1')).to.equal(true);
    chain.forget('resp_1');
    expect(remembers(chain, 'resp_1')).to.equal(false);
  });

  it('forgets a chain that grows too large, and takes a new one', () => {
    const chain = createChains({ maxBytes: 2 * BYTES }).open();
    chain.keep('resp_1', [item('one')], undefined);
    chain.keep('resp_2', [item('two')], 'resp_1');
    expect(remembers(chain, 'resp_2')).to.equal(true);
    chain.keep('resp_3', [item('3')], 'resp_2');
    expect([remembers(chain, 'resp_2'), remembers(chain, 'resp_3')]).to.deep.equal([false, false]);
    chain.keep('resp_4', [item('4')], undefined);
    expect(remembers(chain, 'resp_4')).to.equal(true);
  });

  it('keeps no half of a conversation, whose beginning was forgotten meanwhile', () => {
    const chain = createChains({ maxBytes: 100 }).open();
    chain.keep('resp_1', [item('one')], undefined);
    chain.forget('resp_1');
    chain.keep('resp_2', [item('two')], 'resp_1');
    expect(remembers(chain, 'resp_2')).to.equal(false);
  });

  it('forgets of all chains together the one that was used longest ago', () => {
    const chains = createChains({ maxBytes: 100, maxTotalBytes: 3 * BYTES });
    const [first, second, third] = [chains.open(), chains.open(), chains.open()];
    first.keep('resp_1', [item('one')], undefined);
    second.keep('resp_2', [item('two')], undefined);
    first.keep('resp_3', [item('3')], 'resp_1');
    third.keep('resp_4', [item('4')], undefined);
    expect(remembers(second, 'resp_2')).to.equal(false);
    expect([remembers(first, 'resp_3'), remembers(third, 'resp_4')]).to.deep.equal([true, true]);
  });

  it('gives room back when a connection is closed', () => {
    const chains = createChains({ maxBytes: 100, maxTotalBytes: BYTES });
    const [first, second] = [chains.open(), chains.open()];
    first.keep('resp_1', [item('one')], undefined);
    first.close();
    expect(remembers(first, 'resp_1')).to.equal(false);
    second.keep('resp_2', [item('two')], undefined);
    expect(remembers(second, 'resp_2')).to.equal(true);
  });
});
