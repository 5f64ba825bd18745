import { expect } from 'chai';
import { createReuse, type Reuse } from '../../src/backend/reuse.ts';
import { useHeldTime } from '../support/held-time.ts';

const PROOF_MS = 250;
const DOUBT_MS = 60_000;
const STREAM = { 'transfer-encoding': 'chunked' };

describe('what is known of the connections to a backend', () => {
  const passTime = useHeldTime();
  let reuse: Reuse;

  beforeEach(() => {
    reuse = createReuse();
  });

  /** Returns how often a connection was given back at the end of a stream, and then in time. */
  async function rest(connection = reuse.watch()): Promise<readonly number[]> {
    let times = 0;
    connection.ended(STREAM, () => (times += 1));
    const atOnce = times;
    await passTime(PROOF_MS);
    return [atOnce, times];
  }

  it('is that they last, once one has stayed open after a stream', async () => {
    const connection = reuse.watch();
    expect(await rest(connection)).to.deep.equal([0, 1]);
    expect(await rest(connection)).to.deep.equal([1, 1]);
    expect(await rest()).to.deep.equal([1, 1]);
  });

  it('is in doubt for a minute after the backend has closed one early', async () => {
    await rest();
    const closed = reuse.watch();
    closed.ended(STREAM, () => {});
    closed.closed(true);
    await passTime(DOUBT_MS - 2 * PROOF_MS);
    expect(await rest()).to.deep.equal([0, 1]);
    expect(await rest()).to.deep.equal([0, 1]);
    expect(await rest()).to.deep.equal([1, 1]);
  });

  it('does not change by one that the gateway has closed, or the backend late or in the middle of an answer', async () => {
    await rest();
    const closed = reuse.watch();
    closed.ended(STREAM, () => {});
    closed.closed(false);
    await rest(closed);
    closed.closed(true);
    reuse.watch().closed(true);
    expect(await rest()).to.deep.equal([1, 1]);
  });

  it('is no reason to wait for one that is closed, which is given back once', async () => {
    const connection = reuse.watch();
    let times = 0;
    connection.ended(STREAM, () => (times += 1));
    connection.closed(true);
    expect(times).to.equal(1);
    await passTime(PROOF_MS);
    expect(times).to.equal(1);
  });
});
