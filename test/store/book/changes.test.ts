import { expect } from 'chai';
import { WHOLE_GATEWAY } from '../../../src/core/ids.ts';
import { array, assert, constantFrom, nat, oneof, option, property, record } from 'fast-check';
import type { AccountId, KeyId, RequestId } from '../../../src/contract/ids.ts';
import { prepareCharges } from '../../../src/store/book/charges.ts';
import { decide, neededBy, type Change } from '../../../src/store/book/changes.ts';
import { UTC } from '../../../src/core/time.ts';
import { createCalendar } from '../../../src/store/calendar.ts';
import { openUnitOfWork, type Account, type EntryRow } from '../../../src/store/book/unit-of-work.ts';
import {
  toDraftRow,
  toNewRecord,
  toOutcomeRow,
  toPresent,
  toWhole,
  type BegunRow,
  type RecordRow,
} from '../../../src/store/rows/records.ts';
import { newHold, newKeyId } from '../../support/keys.ts';
import { runs } from '../../support/property.ts';
import { newDraft, newKeyedDraft, newOutcome, newRequestId } from '../../support/records.ts';

const AT_MS = Date.UTC(2026, 8, 10);
const IN_TIME = Infinity;

/** A database of two maps, which loads and writes as an engine does. */
class Table {
  readonly records = new Map<RequestId, RecordRow>();
  readonly accounts = new Map<number, Account>();
  readonly entries: EntryRow[] = [];
  readonly late = new Set<RequestId>();

  apply(changes: readonly Change[]): readonly unknown[] {
    const { beginnings, records: wanted } = neededBy(changes);
    const unit = openUnitOfWork({
      of: (seq) => this.accounts.get(seq),
      find: (id) => [...this.accounts.values()].find((account) => account.id === id),
    });
    const records = new Map<RequestId, BegunRow>();
    const originals = new Map<RequestId, BegunRow>();
    const begun = new Map<string, BegunRow>();
    for (const { draft, hold } of beginnings) {
      const name = JSON.stringify(toPresent(draft));
      const original = draft.idempotencyKey === null ? undefined : begun.get(name);
      if (original !== undefined) {
        originals.set(draft.requestId, original);
        continue;
      }
      const key = hold && unit.funding.find(hold.keyId);
      const made = toNewRecord({ ...draft, ...hold }, { seq: 0, key: key?.seq ?? null, groupId: null });
      begun.set(name, made);
      records.set(draft.requestId, made);
    }
    for (const requestId of wanted) {
      const known = this.records.get(requestId);
      if (known !== undefined) records.set(requestId, known);
    }
    const charges = prepareCharges(unit, createCalendar(UTC));
    const decided = decide(changes, { records, originals, late: this.late, charges });
    for (const { draft } of beginnings) {
      const made = records.get(draft.requestId);
      if (made !== undefined) this.records.set(draft.requestId, toWhole(made));
    }
    for (const [requestId, changed] of decided.changed) this.records.set(requestId, changed);
    for (const requestId of decided.removed) this.records.delete(requestId);
    const { accounts, entries } = unit.flush();
    for (const account of accounts) this.accounts.set(account.seq, account);
    this.entries.push(...entries);
    return decided.results;
  }

  addKey(seq: number, balanceMicro: number | null): KeyId {
    const id = newKeyId();
    this.addAccount(seq, id, balanceMicro);
    return id;
  }

  addAccount(seq: number, id: AccountId, balanceMicro: number | null): void {
    const noLimits = {
      spendPerDayMicro: null,
      spendPerWeekMicro: null,
      spendPerMonthMicro: null,
      requestsPerMinute: null,
      tokensPerMinute: null,
    };
    const nothingSpent = {
      heldMicro: 0,
      day: 0,
      daySpentMicro: 0,
      week: 0,
      weekSpentMicro: 0,
      month: 0,
      monthSpentMicro: 0,
    };
    const nothingCounted = { minute: 0, minuteRequests: 0, minuteTokens: 0 };
    const rest = { groupId: null, isDisabled: 0, expiresAtMs: null, balanceMicro } as const;
    this.accounts.set(seq, { id, seq, ...rest, ...noLimits, ...nothingSpent, ...nothingCounted });
  }

  account(seq: number): Account {
    const account = this.accounts.get(seq);
    if (account === undefined) throw new Error('there is no such account');
    return account;
  }
}

describe('the book', () => {
  let table: Table;
  let keyId: KeyId;
  const acceptPaid = (requestId: RequestId, heldMicro: number): Change => [
    'acceptPaid',
    toDraftRow(newDraft({ requestId, createdAtMs: AT_MS }), IN_TIME),
    [],
    newHold(keyId, heldMicro),
  ];
  const finish = (requestId: RequestId, costMicro: number | null): Change => [
    'finish',
    toOutcomeRow(requestId, newOutcome({ costMicro, completedAtMs: AT_MS })),
    null,
  ];

  beforeEach(() => {
    table = new Table();
    keyId = table.addKey(1, 100);
  });

  it('refuses a request that the funds do not cover, and keeps no record of it', () => {
    const [result] = table.apply([acceptPaid(newRequestId(), 101)]);
    expect(result).to.include({ kind: 'insufficient_credits' });
    expect(table.records).to.have.property('size', 0);
  });

  it('takes no more from the holds of all keys than is there, because an older gateway holds nothing for them', () => {
    const [ofOlder, own] = [newRequestId(), newRequestId()];
    table.apply([acceptPaid(ofOlder, 30)]);
    table.addAccount(-1, WHOLE_GATEWAY, null);
    table.apply([acceptPaid(own, 20), finish(ofOlder, 5)]);
    expect(table.account(-1)).to.include({ heldMicro: 0, daySpentMicro: 5 });
    table.apply([finish(own, 2)]);
    expect(table.account(-1)).to.include({ heldMicro: 0, daySpentMicro: 7 });
  });

  it('refuses the repetition of a refused request alike', () => {
    const repeated = (): Change => [
      'acceptPaid',
      toDraftRow(newKeyedDraft('key', { createdAtMs: AT_MS }), IN_TIME),
      [],
      newHold(keyId, 101),
    ];
    const results = table.apply([repeated(), repeated()]);
    expect(results.map((result) => (result as { kind: string }).kind)).to.deep.equal([
      'insufficient_credits',
      'insufficient_credits',
    ]);
  });

  it('answers the second of two equal drafts with the record of the first', () => {
    const [first, second] = [newKeyedDraft(), newKeyedDraft()];
    const accept = (draft: typeof first): Change => ['accept', toDraftRow(draft, IN_TIME), []];
    const [, result] = table.apply([accept(first), accept(second)]);
    expect(result).to.include({ requestId: first.requestId });
    expect([...table.records.keys()]).to.deep.equal([first.requestId]);
  });

  it('begins no record for a caller that has been refused meanwhile', () => {
    const draft = newDraft();
    table.late.add(draft.requestId);
    const { requestId } = draft;
    const row = toDraftRow(draft, 0);
    expect(table.apply([['accept', row, []]])).to.deep.equal(['late']);
    expect(table.apply([['record', row, toOutcomeRow(requestId, newOutcome())]])).to.deep.equal(['late']);
    expect(table.records).to.have.property('size', 0);
  });

  it('settles a hold once, whoever ends the request first', () => {
    const requestId = newRequestId();
    table.apply([acceptPaid(requestId, 40)]);
    expect(
      table.apply([finish(requestId, 30), finish(requestId, 40), ['discard', requestId, AT_MS, null]]),
    ).to.deep.equal(['succeeded', 'succeeded', 'succeeded']);
    expect(table.account(1)).to.include({ balanceMicro: 70, heldMicro: 0 });
  });

  it('keeps the promise of a cancel, whatever end comes after it', () => {
    const requestId = newRequestId();
    table.apply([acceptPaid(requestId, 40), ['requestCancel', ['caller'], requestId, AT_MS]]);
    expect(table.apply([finish(requestId, 30)])).to.deep.equal(['cancelled']);
    expect(table.records.get(requestId)).to.include({ status: 'cancelled', errorCode: 'request_cancelled' });
  });

  it('shows nobody the record of another caller', () => {
    const requestId = newRequestId();
    table.apply([acceptPaid(requestId, 1)]);
    expect(table.apply([['requestCancel', ['another'], requestId, AT_MS]])).to.deep.equal([null]);
  });

  const place = nat({ max: 9 });
  const anyStep = oneof(
    record({ kind: constantFrom('accept' as const), place, micro: nat({ max: 60 }) }),
    record({ kind: constantFrom('finish' as const), place, micro: option(nat({ max: 80 })) }),
    record({ kind: constantFrom('discard' as const, 'cancel' as const, 'undo' as const), place }),
  );

  it('decides a batch as it decides its changes one by one, and every balance is the sum of its ledger', () => {
    const requestIds = Array.from({ length: 10 }, newRequestId);
    assert(
      property(array(anyStep, { maxLength: 30 }), (steps) => {
        const [together, alone] = [new Table(), new Table()];
        keyId = together.addKey(1, 100);
        alone.accounts.set(1, together.account(1));
        const accepted = new Set<RequestId>();
        const changes = steps.flatMap((step): Change[] => {
          const requestId = requestIds[step.place] ?? newRequestId();
          // A request begins once.
          if (step.kind === 'accept' && accepted.has(requestId)) return [];
          accepted.add(requestId);
          switch (step.kind) {
            case 'accept':
              return [acceptPaid(requestId, step.micro)];
            case 'finish':
              return [finish(requestId, step.micro)];
            case 'cancel':
              return [['requestCancelOfAny', requestId, AT_MS]];
            case 'discard':
              return [['discard', requestId, AT_MS, null]];
            case 'undo':
              return [['undoAccept', requestId, AT_MS, null]];
          }
        });
        const results = together.apply(changes);
        expect(changes.flatMap((change) => alone.apply([change]))).to.deep.equal(results);
        expect(alone.records).to.deep.equal(together.records);
        expect(alone.account(1)).to.deep.equal(together.account(1));
        const { balanceMicro, heldMicro } = together.account(1);
        expect(together.entries.reduce((sum, { amountMicro }) => sum + amountMicro, 100)).to.equal(balanceMicro);
        const running = [...together.records.values()].filter(({ status }) => status === 'processing');
        expect(running.reduce((sum, each) => sum + (each.heldMicro ?? 0), 0)).to.equal(heldMicro);
      }),
      runs(1000),
    );
  });
});
