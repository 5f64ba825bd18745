import { expect } from 'chai';
import * as fc from 'fast-check';
import { createShares, type Share, type Shares } from '../../src/access/shares.ts';
import { ApiError } from '../../src/core/errors.ts';
import type { Holder } from '../../src/accounts/caller.ts';
import { runs } from '../support/property.ts';

const CAPACITY = 2000;
const AS_BY_DEFAULT = { capacity: CAPACITY, largest: 1, callerShare: 1 };

const known = (name: string) => ({ name, isStranger: false });
const stranger = (network: string) => ({ name: `network ${network}`, isStranger: true });

/** The code of the refusal; undefined when it was taken. */
function take(share: Share, amount = 1): string | undefined {
  try {
    share.take(amount);
    return undefined;
  } catch (error) {
    return (error as ApiError).code;
  }
}

/** How much one after the other gets until it is refused. */
function fill(shares: Shares, holder: Holder): number {
  let taken = 0;
  while (take(shares.open(() => holder)) === undefined) taken++;
  return taken;
}

describe('shares', () => {
  it('let one caller have all but a quarter', () => {
    expect(fill(createShares(AS_BY_DEFAULT), known('one'))).to.equal(1500);
  });

  it('let a second caller have the quarter that is free, but for the last of it', () => {
    const shares = createShares(AS_BY_DEFAULT);
    fill(shares, known('one'));
    expect(fill(shares, known('two'))).to.equal(375);
  });

  it('make the one wait who holds more than its part, until it holds less', () => {
    const shares = createShares(AS_BY_DEFAULT);
    const held = Array.from({ length: 1500 }, () => shares.open(() => known('one')));
    for (const share of held) share.take(1);
    fill(shares, known('two'));
    for (const share of held.splice(0, 100)) share.release();
    expect(take(shares.open(() => known('one')))).to.equal('concurrency_limit_exceeded');
    expect(fill(shares, known('two'))).to.equal(100);
    for (const share of held.splice(0, 450)) share.release();
    expect(fill(shares, known('one'))).to.be.above(0);
  });

  it('keep room for a newcomer however many others take all that they can get', () => {
    const shares = createShares(AS_BY_DEFAULT);
    for (let n = 0; n < 12; n++) fill(shares, known(`greedy ${n}`));
    expect(fill(shares, known('newcomer'))).to.be.at.least(7);
  });

  it('let strangers have a quarter, and an eighth per network', () => {
    const shares = createShares(AS_BY_DEFAULT);
    expect([1, 2, 3].map((network) => fill(shares, stranger(`192.0.2.${network}`)))).to.deep.equal([250, 250, 0]);
    expect(fill(shares, known('one'))).to.be.at.least(1000);
  });

  it('count what a stranger took for itself once it is accepted', () => {
    const shares = createShares(AS_BY_DEFAULT);
    let holder = stranger('192.0.2.1');
    const held = shares.open(() => holder);
    held.take(250);
    expect(fill(shares, stranger('192.0.2.1'))).to.equal(0);
    holder = known('one');
    expect(fill(shares, stranger('192.0.2.1'))).to.equal(250);
    expect(fill(shares, known('one'))).to.equal(1000);
    held.release();
    expect(fill(shares, stranger('192.0.2.2'))).to.equal(250);
  });

  it('look at few of many strangers for each refusal, and at each of them in its turn', () => {
    const shares = createShares(AS_BY_DEFAULT);
    let looks = 0;
    let accepted = -1;
    const holderOf = (n: number) => () => {
      looks++;
      return n === accepted ? known('one') : stranger('192.0.2.1');
    };
    for (let n = 0; n < 250; n++) shares.open(holderOf(n)).take(1);
    const refused = shares.open(() => stranger('192.0.2.1'));
    looks = 0;
    expect(take(refused)).to.equal('concurrency_limit_exceeded');
    expect(looks).to.be.within(1, 10);
    accepted = 200;
    const isTaken = Array.from({ length: 70 }, () => take(refused) === undefined);
    expect(isTaken.filter(Boolean)).to.have.length(1);
  });

  it('hold everybody to the hard limit', () => {
    const shares = createShares({ ...AS_BY_DEFAULT, callerShare: 0.1 });
    expect([fill(shares, known('one')), fill(shares, stranger('192.0.2.1'))]).to.deep.equal([200, 200]);
  });

  it('let a single request have what it needs, however small the capacity', () => {
    const shares = createShares({ capacity: 15_000, largest: 10_000, callerShare: 0.01 });
    expect(
      take(
        shares.open(() => stranger('192.0.2.1')),
        10_000,
      ),
    ).to.equal(undefined);
  });

  it('say that the gateway is full where the caller holds no more than its part', () => {
    const shares = createShares({ ...AS_BY_DEFAULT, capacity: 2 });
    for (const name of ['one', 'two']) expect(take(shares.open(() => known(name)))).to.equal(undefined);
    expect(take(shares.open(() => known('three')))).to.equal('server_overloaded');
    expect(take(shares.open(() => known('one')))).to.equal('concurrency_limit_exceeded');
  });

  const anyHolder = fc.oneof(
    fc.integer({ min: 0, max: 5 }).map((n) => known(`key ${n}`)),
    fc.integer({ min: 0, max: 3 }).map((n) => stranger(`192.0.2.${n}`)),
  );
  const anyStep = fc.record({ holder: anyHolder, amount: fc.integer({ min: 1, max: 60 }), isRelease: fc.boolean() });

  it('never give more than there is, to strangers more than a quarter, or to one more than its limit', () => {
    fc.assert(
      fc.property(fc.array(anyStep, { maxLength: 120 }), (steps) => {
        const options = { capacity: 800, largest: 60, callerShare: 0.8 };
        const shares = createShares(options);
        const open: { readonly share: Share; readonly name: string; readonly isStranger: boolean; amount: number }[] =
          [];
        const heldBy = (filter: (one: (typeof open)[number]) => boolean): number =>
          open.filter(filter).reduce((sum, { amount }) => sum + amount, 0);
        for (const { holder, amount, isRelease } of steps) {
          if (isRelease) {
            open.shift()?.share.release();
            continue;
          }
          const share = shares.open(() => holder);
          const heldBefore = heldBy(({ name }) => name === holder.name);
          if (take(share, amount) === undefined) open.push({ share, ...holder, amount });
          // Whoever holds nothing is served while there is room beside the part for newcomers.
          else if (heldBefore === 0 && !holder.isStranger) expect(heldBy(() => true) + amount).to.be.above(750);
          expect(heldBy(() => true)).to.be.at.most(800);
          expect(heldBy(({ isStranger }) => isStranger)).to.be.at.most(200);
          expect(heldBy(({ name }) => name === holder.name)).to.be.at.most(holder.isStranger ? 100 : 640);
        }
        for (const { share } of open) share.release();
        expect(fill(shares, known('one'))).to.equal(600);
      }),
      runs(300),
    );
  });
});
