import { expect } from 'chai';
import { ApiError } from '../../src/core/errors.ts';
import { createHistories, type History } from '../../src/web-socket/history.ts';

/** Of fourteen bytes as JSON, in a list of its own. */
const item = (name: string): object => ({ a: name.padEnd(4, '.') });
const BYTES = 14;

describe('createChains', () => {
  function remembers(history: History, responseId: string): boolean {
    try {
      history.get(responseId);
      return true;
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      expect(error).to.include({ code: 'previous_response_not_found', param: 'previous_response_id' });
      return false;
    }
  }

  it('remembers nothing at first', () => {
    expect(remembers(createHistories({ maxBytes: 100 }).open(), 'resp_1')).to.equal(false);
  });

  it('puts the turns of a history together, and knows their size', () => {
    const history = createHistories({ maxBytes: 100 }).open();
    history.set('resp_1', [item('one')], undefined);
    history.set('resp_2', [item('two')], 'resp_1');
    expect(history.get('resp_2')).to.deep.equal({ items: [item('one'), item('two')], bytes: 2 * BYTES });
    expect(remembers(history, 'resp_1')).to.equal(false);
  });

  it('gives items which the next request may change', () => {
    const history = createHistories({ maxBytes: 100 }).open();
    history.set('resp_1', [item('one')], undefined);
    Object.assign(history.get('resp_1').items[0] as object, { a: 'changed' });
    expect(history.get('resp_1').items).to.deep.equal([item('one')]);
  });

  it('begins anew with a response that continues nothing', () => {
    const history = createHistories({ maxBytes: 100 }).open();
    history.set('resp_1', [item('one')], undefined);
    history.set('resp_2', [item('two')], undefined);
    expect(history.get('resp_2').items).to.deep.equal([item('two')]);
  });

  it('forgets the response that it is told to, and no other', () => {
    const history = createHistories({ maxBytes: 100 }).open();
    history.set('resp_1', [item('one')], undefined);
    history.delete(undefined);
    history.delete('resp_2');
    expect(remembers(history, 'resp_1')).to.equal(true);
    history.delete('resp_1');
    expect(remembers(history, 'resp_1')).to.equal(false);
  });

  it('forgets a history that grows too large, and takes a new one', () => {
    const history = createHistories({ maxBytes: 2 * BYTES }).open();
    history.set('resp_1', [item('one')], undefined);
    history.set('resp_2', [item('two')], 'resp_1');
    expect(remembers(history, 'resp_2')).to.equal(true);
    history.set('resp_3', [item('3')], 'resp_2');
    expect([remembers(history, 'resp_2'), remembers(history, 'resp_3')]).to.deep.equal([false, false]);
    history.set('resp_4', [item('4')], undefined);
    expect(remembers(history, 'resp_4')).to.equal(true);
  });

  it('keeps no half of a conversation, whose beginning was forgotten meanwhile', () => {
    const history = createHistories({ maxBytes: 100 }).open();
    history.set('resp_1', [item('one')], undefined);
    history.delete('resp_1');
    history.set('resp_2', [item('two')], 'resp_1');
    expect(remembers(history, 'resp_2')).to.equal(false);
  });

  it('forgets of all histories together the one that was used longest ago', () => {
    const histories = createHistories({ maxBytes: 100, maxTotalBytes: 3 * BYTES });
    const [first, second, third] = [histories.open(), histories.open(), histories.open()];
    first.set('resp_1', [item('one')], undefined);
    second.set('resp_2', [item('two')], undefined);
    first.set('resp_3', [item('3')], 'resp_1');
    third.set('resp_4', [item('4')], undefined);
    expect(remembers(second, 'resp_2')).to.equal(false);
    expect([remembers(first, 'resp_3'), remembers(third, 'resp_4')]).to.deep.equal([true, true]);
  });

  it('gives room back when a connection is closed', () => {
    const histories = createHistories({ maxBytes: 100, maxTotalBytes: BYTES });
    const [first, second] = [histories.open(), histories.open()];
    first.set('resp_1', [item('one')], undefined);
    first.close();
    expect(remembers(first, 'resp_1')).to.equal(false);
    second.set('resp_2', [item('two')], undefined);
    expect(remembers(second, 'resp_2')).to.equal(true);
  });
});
