import { expect } from 'chai';
import { UTC } from '../../../src/core/time.ts';
import { createCalendar } from '../../../src/store/calendar.ts';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { identifyFile } from '../../../src/store/sqlite/open-file.ts';
import { openEngine, type Engine, type EngineOptions } from '../../../src/store/sqlite/engine.ts';
import type { Operation, Reply } from '../../../src/store/queue/operations.ts';
import { toKeyDraftRow, toStoredKey, type KeyRow } from '../../../src/store/rows/keys.ts';
import { machineMs } from '../../../src/store/queue/deadline.ts';
import { toDraftRow, toOutcomeRow } from '../../../src/store/rows/records.ts';
import { newHold, newKeyDraft } from '../../support/keys.ts';
import { limitFiles } from '../../support/small-disk.ts';
import { CALLER, newDraft, newOutcome } from '../../support/records.ts';
import { makeWorkshop, type Workshop } from '../../support/sqlite.ts';
import type { LedgerEntry } from '../../../src/core/books/keys.ts';
import type { RecordDraft } from '../../../src/core/books/store.ts';

describe('the engine', () => {
  let shop: Workshop;
  let engine: Engine;

  beforeEach(async () => {
    shop = makeWorkshop();
    await (await shop.open()).close();
    engine = openEngine(optionsOf('me'));
  });
  afterEach(() => {
    engine.close();
    return shop.clear();
  });

  function optionsOf(owner: string): EngineOptions {
    return { file: shop.file, fileId: identifyFile(shop.file) ?? '', owner, timeZone: UTC };
  }

  const accept = (draft: RecordDraft): Operation => ['accept', toDraftRow(draft, Infinity), []];
  const find = ({ requestId }: RecordDraft): Operation => ['find', CALLER, requestId];
  const resultsOf = (reply: Reply): readonly unknown[] => ('results' in reply ? reply.results : [reply.failure.reason]);

  function fundsOf(row: unknown): readonly (number | null)[] {
    const { balanceMicro, heldMicro } = toStoredKey(row as KeyRow, new Map(), createCalendar(UTC).at(1));
    return [balanceMicro, heldMicro];
  }

  it('leaves out the one operation that breaks a rule of the tables', () => {
    const [one, other] = [newDraft(), newDraft()];
    const results = resultsOf(engine.run('write', [accept(one), accept({ ...one, model: 'again' }), accept(other)]));
    expect(results[1]).to.be.instanceOf(Error);
    expect([results[0], results[2]]).to.deep.equal([null, null]);
    const found = resultsOf(engine.run('read', [find(one), find(other)]));
    expect(found).to.have.deep.nested.property('[0].model', one.model);
    expect(found).to.have.deep.nested.property('[1].requestId', other.requestId);
  });

  it('does not know what became of a commit that the disk has failed, and goes on after it', () => {
    const [before, failed, after] = [newDraft(), newDraft(), newDraft()];
    engine.run('write', [accept(before)]);
    if (!limitFiles(statSync(`${shop.file}-wal`).size)) return;
    try {
      expect(resultsOf(engine.run('write', [accept(failed)]))).to.deep.equal(['lost']);
    } finally {
      limitFiles('unlimited');
    }
    expect(resultsOf(engine.run('write', [accept(after), find(before)]))).to.have.nested.property(
      '[1].requestId',
      before.requestId,
    );
  });

  it('accepts nothing after its deadline, with a hold or without', () => {
    const key = newKeyDraft({ creditsMicro: 100 });
    const draft = newDraft();
    const late = toDraftRow(draft, machineMs());
    const [created, ...results] = resultsOf(
      engine.run('write', [
        ['createKeys', [toKeyDraftRow(key)]],
        ['accept', late, []],
        ['acceptPaid', late, [], newHold(key.keyId, 30)],
        find(draft),
        ['findKey', key.keyId],
      ]),
    );
    expect(created).to.deep.equal([results[3]]);
    expect(results.slice(0, 3)).to.deep.equal(['late', { kind: 'late', rates: null }, null]);
  });

  it('takes back all of an operation that breaks a rule of the tables, its hold too', () => {
    const key = newKeyDraft({ creditsMicro: 100 });
    const draft = newDraft();
    const acceptPaid: Operation = ['acceptPaid', toDraftRow(draft, Infinity), [], newHold(key.keyId, 30)];
    const results = resultsOf(
      engine.run('write', [
        ['createKeys', [toKeyDraftRow(key)]],
        accept(draft),
        acceptPaid,
        ['listLedger', key.keyId, { beforeSeq: Number.MAX_SAFE_INTEGER }, 10],
        ['findKey', key.keyId],
      ]),
    );
    expect(results[2]).to.be.instanceOf(Error);
    expect(results[3]).to.have.lengthOf(1);
    expect([results[4]]).to.deep.equal(results[0]);
  });

  it('shows within a batch what was done before in it', () => {
    const key = newKeyDraft({ creditsMicro: 100 });
    const drafts = Array.from({ length: 5 }, () => newDraft());
    const acceptPaid = (draft: RecordDraft): Operation => [
      'acceptPaid',
      toDraftRow(draft, Infinity),
      [],
      newHold(key.keyId, 10),
    ];
    const finish = ({ requestId }: RecordDraft): Operation => [
      'finish',
      toOutcomeRow(requestId, newOutcome({ costMicro: 3 })),
      null,
    ];
    const balance: Operation = ['findKey', key.keyId];
    const credit: Operation = ['credit', key.keyId, { kind: 'grant', amountMicro: 1000, note: '', createdAtMs: 1 }];
    const usage: Operation = ['sumUsage', null, 'month', { from: 0, until: Number.MAX_SAFE_INTEGER }, 9];
    const batch = [
      ['createKeys', [toKeyDraftRow(key)]] as const,
      ...drafts.map(acceptPaid),
      balance,
      ...drafts.map(finish),
      usage,
      balance,
      ...drafts.map(({ requestId }) => acceptPaid(newDraft({ model: requestId }))),
      credit,
      balance,
      ['listLedger', key.keyId, { beforeSeq: Number.MAX_SAFE_INTEGER }, 100] as const,
    ];
    const results = resultsOf(engine.run('write', batch));
    const [created, held, sums, spent, credited, entries] = [0, 6, 12, 13, 20, 21].map((place) => results[place]);
    expect((created as readonly unknown[]).map(fundsOf)).to.deep.equal([[100, 0]]);
    expect(fundsOf(held)).to.deep.equal([50, 50]);
    expect(sums).to.have.nested.property('[0].requests', 5);
    expect(fundsOf(spent)).to.deep.equal([85, 0]);
    expect(fundsOf(credited)).to.deep.equal([1035, 50]);
    const kinds = (entries as readonly LedgerEntry[]).map(({ kind }) => kind).toReversed();
    const reserved = drafts.map(() => 'reserve');
    const ended = drafts.flatMap(() => ['release', 'settle']);
    expect(kinds).to.deep.equal(['grant', ...reserved, ...ended, ...reserved, 'grant']);
  });

  it('goes by what another process has left of the funds since its last batch', () => {
    const key = newKeyDraft({ creditsMicro: 100 });
    const accept = (): Operation => ['acceptPaid', toDraftRow(newDraft(), Infinity), [], newHold(key.keyId, 30)];
    engine.run('write', [['createKeys', [toKeyDraftRow(key)]], accept()]);
    const other = openEngine(optionsOf('other'));
    engine.run('read', [['findRate', key.keyId, 1]]);
    other.run('write', [accept()]);
    other.close();
    const results = resultsOf(engine.run('write', [accept(), accept()]));
    expect(results).to.deep.equal([
      { kind: 'accepted', rates: null },
      { kind: 'insufficient_credits', ofGroup: null, rates: null },
    ]);
  });

  it('takes back a whole batch that the database refuses', () => {
    const drafts = Array.from({ length: 200 }, () => newDraft());
    const [size] = resultsOf(engine.run('read', [['pragma', 'page_count']]));
    engine.run('read', [['pragma', `max_page_count = ${String(size)}`]]);
    expect(resultsOf(engine.run('write', drafts.map(accept)))).to.deep.equal(['full']);
    expect(resultsOf(engine.run('read', drafts.map(find)))).to.deep.equal(drafts.map(() => null));
  });

  it('opens the database anew after it was damaged and repaired', () => {
    const draft = newDraft();
    engine.run('write', [accept(draft)]);
    engine.run('read', [['pragma', 'wal_checkpoint(TRUNCATE)']]);
    const sound = readFileSync(shop.file);
    writeFileSync(
      shop.file,
      sound.map((byte, index) => (index < 100 ? byte : 0xff)),
    );
    engine.run('read', [['pragma', 'shrink_memory']]);
    expect(resultsOf(engine.run('read', [find(draft)]))).to.deep.equal(['corrupt']);
    expect(resultsOf(engine.run('read', [find(draft)]))).to.deep.equal(['corrupt']);
    writeFileSync(shop.file, sound);
    expect(resultsOf(engine.run('read', [find(draft)]))).to.have.deep.nested.property('[0].requestId', draft.requestId);
  });
});
