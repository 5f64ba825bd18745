import { expect } from 'chai';
import { ApiError } from '../../src/core/errors.ts';
import { createShares, type SharesOptions } from '../../src/access/shares.ts';
import { createHistories, type History } from '../../src/web-socket/history.ts';

/** A turn of one item, as JSON. */
const item = (name: string): Buffer => Buffer.from(JSON.stringify([{ a: name.padEnd(4, '.') }]));
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
    expect(remembers(openHistory(100), 'resp_1')).to.equal(false);
  });

  it('puts the turns of a history together, and knows their size', () => {
    const history = openHistory(100);
    history.set('resp_1', [item('one')], undefined);
    history.set('resp_2', [item('two')], 'resp_1');
    expect(history.get('resp_2')).to.deep.equal({ turns: [item('one'), item('two')], bytes: 2 * BYTES });
    expect(remembers(history, 'resp_1')).to.equal(false);
  });

  it('begins anew with a response that continues nothing', () => {
    const history = openHistory(100);
    history.set('resp_1', [item('one')], undefined);
    history.set('resp_2', [item('two')], undefined);
    expect(history.get('resp_2').turns).to.deep.equal([item('two')]);
  });

  it('forgets the response that it is told to, and no other', () => {
    const history = openHistory(100);
    history.set('resp_1', [item('one')], undefined);
    history.delete(undefined);
    history.delete('resp_2');
    expect(remembers(history, 'resp_1')).to.equal(true);
    history.delete('resp_1');
    expect(remembers(history, 'resp_1')).to.equal(false);
  });

  it('forgets a history that grows too large, and takes a new one', () => {
    const history = openHistory(2 * BYTES);
    history.set('resp_1', [item('one')], undefined);
    history.set('resp_2', [item('two')], 'resp_1');
    expect(remembers(history, 'resp_2')).to.equal(true);
    history.set('resp_3', [item('3')], 'resp_2');
    expect([remembers(history, 'resp_2'), remembers(history, 'resp_3')]).to.deep.equal([false, false]);
    history.set('resp_4', [item('4')], undefined);
    expect(remembers(history, 'resp_4')).to.equal(true);
  });

  it('keeps no half of a conversation, whose beginning was forgotten meanwhile', () => {
    const history = openHistory(100);
    history.set('resp_1', [item('one')], undefined);
    history.delete('resp_1');
    history.set('resp_2', [item('two')], 'resp_1');
    expect(remembers(history, 'resp_2')).to.equal(false);
  });

  describe('of several connections', () => {
    const me = { name: 'me', isStranger: false };
    const other = { name: 'other', isStranger: false };

    it('takes the oldest history of a caller that has its share', () => {
      const histories = open({ capacity: 4 * BYTES, largest: BYTES });
      const [first, second, third] = [histories.open(() => me), histories.open(() => me), histories.open(() => me)];
      const foreign = histories.open(() => other);
      first.set('resp_1', [item('one')], undefined);
      foreign.set('resp_2', [item('two')], undefined);
      second.set('resp_3', [item('3')], undefined);
      third.set('resp_4', [item('4')], undefined);
      expect(remembers(first, 'resp_1')).to.equal(false);
      expect([remembers(second, 'resp_3'), remembers(third, 'resp_4')]).to.deep.equal([true, true]);
      expect(remembers(foreign, 'resp_2')).to.equal(true);
    });

    it('does not remember what others leave no room for', () => {
      const histories = open({ capacity: BYTES, largest: BYTES });
      const [mine, foreign] = [histories.open(() => me), histories.open(() => other)];
      foreign.set('resp_1', [item('one')], undefined);
      mine.set('resp_2', [item('two')], undefined);
      expect([remembers(foreign, 'resp_1'), remembers(mine, 'resp_2')]).to.deep.equal([true, false]);
    });

    it('gives room back when a connection is closed', () => {
      const histories = open({ capacity: BYTES, largest: BYTES });
      const [mine, foreign] = [histories.open(() => me), histories.open(() => other)];
      foreign.set('resp_1', [item('one')], undefined);
      foreign.close();
      expect(remembers(foreign, 'resp_1')).to.equal(false);
      mine.set('resp_2', [item('two')], undefined);
      expect(remembers(mine, 'resp_2')).to.equal(true);
    });

    it('takes no room for an answer that comes to its end after its connection is closed', () => {
      const histories = open({ capacity: BYTES, largest: BYTES });
      const [mine, foreign] = [histories.open(() => me), histories.open(() => other)];
      foreign.close();
      foreign.set('resp_1', [item('one')], undefined);
      mine.set('resp_2', [item('two')], undefined);
      expect(remembers(mine, 'resp_2')).to.equal(true);
    });

    function open(options: Pick<SharesOptions, 'capacity' | 'largest'>) {
      return createHistories({ maxBytes: 100, shares: createShares({ ...options, callerShare: 1 }) });
    }
  });

  function openHistory(maxBytes: number): History {
    const shares = createShares({ capacity: 1000, largest: 1000, callerShare: 1 });
    return createHistories({ maxBytes, shares }).open(() => ({ name: 'me', isStranger: false }));
  }
});
