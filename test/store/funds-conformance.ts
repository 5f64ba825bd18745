/** What holds of the funds of a key whatever happens, in whichever order; called by the tests of each engine. */
import { expect } from 'chai';
import { array, assert, asyncProperty, integer, nat, oneof, option, record } from 'fast-check';
import type { KeyId, RequestId } from '../../src/contract/ids.ts';
import { openStore } from '../../src/store/open.ts';
import type { Store } from '../../src/core/books/store.ts';
import { NO_LIMITS, newHold, newKeyDraft, newKeyId } from '../support/keys.ts';
import { runs } from '../support/property.ts';
import { newDraft, newOutcome, newRequestId } from '../support/records.ts';
import type { EngineUnderTest } from './conformance.ts';

const START_MS = Date.UTC(2026, 8, 10);
const DAY_MS = 86_400_000;

interface Sums {
  grants: number;
  /** What its requests cost, as days and months count it. */
  spent: number;
  charged: number;
  isPrepaid: boolean;
}

interface World {
  readonly store: Store;
  /** Prepaid, not prepaid, and prepaid with a limit. */
  readonly keyIds: readonly KeyId[];
  readonly requestIds: RequestId[];
  /** By the order in which things were asked for. */
  readonly running: Map<RequestId, { readonly keyId: KeyId; readonly heldMicro: number }>;
  readonly sums: Map<KeyId, Sums>;
  nowMs: number;
}

/** Asks for something at once; what comes back says, once it has happened, what that means for the sums. */
type Act = (world: World) => Promise<() => void>;

const KEYS = 3;
const place = nat({ max: 30 });
const key = nat({ max: KEYS - 1 });

const accepts = record({ key, heldMicro: nat({ max: 60 }) }).map(({ key, heldMicro }): Act => async (world) => {
  const keyId = keyAt(world, key);
  const draft = newDraft({ caller: [keyId], hold: newHold(keyId, heldMicro), createdAtMs: world.nowMs });
  world.requestIds.push(draft.requestId);
  const { kind } = await world.store.accept(draft);
  return () => {
    if (kind === 'accepted') world.running.set(draft.requestId, { keyId, heldMicro });
  };
});

const cost = option(nat({ max: 80 }));
const finishes = record({ place, costMicro: cost }).map(({ place, costMicro }): Act => async (world) => {
  const requestId = requestAt(world, place);
  await world.store.finish(requestId, newOutcome({ costMicro, completedAtMs: world.nowMs }));
  return () => {
    const running = world.running.get(requestId);
    if (running === undefined) return;
    const { keyId, heldMicro } = running;
    const sums = sumsOf(world, keyId);
    // Beyond what is reserved, nobody is charged so much as to owe more than this reservation.
    const payable = sums.isPrepaid ? Math.max(heldMicro, balanceOf(world, keyId) + 2 * heldMicro) : Infinity;
    sums.spent += costMicro ?? 0;
    sums.charged += Math.min(costMicro ?? 0, payable);
    world.running.delete(requestId);
  };
});

const discards = place.map((place): Act => async (world) => {
  const requestId = requestAt(world, place);
  await world.store.discard(requestId);
  return () => {
    world.running.delete(requestId);
  };
});

const cancels = record({ key, place }).map(({ key, place }): Act => async (world) => {
  await world.store.requestCancel([keyAt(world, key)], requestAt(world, place));
  return () => undefined;
});

const credits = record({ key, amountMicro: integer({ min: -50, max: 200 }).filter((amount) => amount !== 0) }).map(
  ({ key, amountMicro }): Act =>
    async (world) => {
      const keyId = keyAt(world, key);
      const createdAtMs = world.nowMs;
      await world.store.credit(keyId, { kind: 'adjust', amountMicro, note: '', createdAtMs });
      return () => {
        const sums = sumsOf(world, keyId);
        // What a key has spent before it became prepaid was not taken from its credits.
        if (!sums.isPrepaid) sums.grants = sums.charged;
        sums.grants += amountMicro;
        sums.isPrepaid = true;
      };
    },
);

const prunes = nat({ max: 20 * DAY_MS }).map((afterMs): Act => async (world) => {
  await world.store.prune(START_MS + afterMs);
  return () => undefined;
});

const rotations = key.map((key): Act => async (world) => {
  await world.store.rotateKey(keyAt(world, key), { hash: [newKeyId()], prefix: 'sk-new' }, 1);
  return () => undefined;
});

const clocks = nat({ max: 20 * DAY_MS }).map((afterMs): Act => async (world) => {
  world.nowMs = START_MS + afterMs;
  return () => undefined;
});

const acts = oneof(
  { weight: 8, arbitrary: accepts },
  { weight: 8, arbitrary: finishes },
  { weight: 2, arbitrary: discards },
  { weight: 2, arbitrary: cancels },
  { weight: 2, arbitrary: credits },
  { weight: 1, arbitrary: prunes },
  { weight: 1, arbitrary: rotations },
  { weight: 2, arbitrary: clocks },
);

/** Describes what holds whatever happens. */
export function describeFunds(name: string, { makeDatabase, open = openStore }: EngineUnderTest): void {
  describe(`the funds of keys in the store ${name}`, () => {
    let store: Store;

    before(async () => {
      store = await open({
        databaseUrl: makeDatabase(),
        recordRetentionDays: 30,
        clock: () => START_MS,
      });
    });
    after(() => store.close());

    for (const way of ['one after another', 'at once'] as const) {
      it(`add up after anything that is done ${way}`, async () => {
        const holds = asyncProperty(array(acts, { maxLength: 80 }), async (acts) => {
          const world = await makeWorld(store);
          const done: Promise<() => void>[] = [];
          for (const act of acts) {
            done.push(act(world));
            if (way === 'one after another') await done.at(-1);
          }
          for (const count of await Promise.all(done)) count();
          for (const keyId of world.keyIds) await expectToAddUp(world, keyId);
        });
        await assert(holds, runs(60));
      });
    }
  });
}

async function makeWorld(store: Store): Promise<World> {
  const drafts = [
    newKeyDraft({ creditsMicro: 200, createdAtMs: START_MS }),
    newKeyDraft({ createdAtMs: START_MS }),
    newKeyDraft({ creditsMicro: 50, createdAtMs: START_MS, limits: { ...NO_LIMITS, spendPerDayMicro: 100 } }),
  ];
  for (const draft of drafts) await store.createKey(draft);
  return {
    store,
    keyIds: drafts.map(({ keyId }) => keyId),
    requestIds: [],
    running: new Map(),
    sums: new Map(
      drafts.map(({ keyId, creditsMicro }) => [
        keyId,
        { grants: creditsMicro ?? 0, spent: 0, charged: 0, isPrepaid: creditsMicro !== null },
      ]),
    ),
    nowMs: START_MS,
  };
}

async function expectToAddUp(world: World, keyId: KeyId): Promise<void> {
  const { store } = world;
  const { spent, isPrepaid } = sumsOf(world, keyId);
  const stored = await store.findKey(keyId);
  expect(stored).to.include({ heldMicro: heldOf(world, keyId), monthSpentMicro: spent });
  expect(stored).to.have.property('balanceMicro', isPrepaid ? balanceOf(world, keyId) : null);
  const ledger = await store.listLedger(keyId, { limit: 1000 });
  const sum = ledger?.entries.reduce((sum, { amountMicro }) => sum + amountMicro, 0);
  expect(sum, 'the sum of the ledger').to.equal(stored?.balanceMicro ?? 0);
  const usage = await store.listUsage({ caller: [keyId], fromMs: 0, untilMs: 2 * START_MS, per: 'month' });
  expect(usage.reduce((sum, { costMicro }) => sum + costMicro, 0)).to.equal(spent);
}

function heldOf({ running }: World, keyId: KeyId): number {
  const holds = [...running.values()].filter((hold) => hold.keyId === keyId);
  return holds.reduce((sum, { heldMicro }) => sum + heldMicro, 0);
}

function balanceOf(world: World, keyId: KeyId): number {
  const { grants, charged } = sumsOf(world, keyId);
  return grants - charged - heldOf(world, keyId);
}

function keyAt({ keyIds }: World, place: number): KeyId {
  return keyIds[place] ?? newKeyId();
}

/** One of the requests so far, or one that was never made. */
function requestAt({ requestIds }: World, place: number): RequestId {
  return requestIds[place] ?? newRequestId();
}

function sumsOf({ sums }: World, keyId: KeyId): Sums {
  const found = sums.get(keyId);
  if (found === undefined) throw new Error('no such key in this world');
  return found;
}
