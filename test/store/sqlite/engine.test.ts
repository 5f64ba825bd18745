import { expect } from 'chai';
import { readFileSync, writeFileSync } from 'node:fs';
import { openEngine, type Engine } from '../../../src/store/sqlite/engine.ts';
import type { Operation, Reply } from '../../../src/store/engine/operations.ts';
import { toKeyDraftRow } from '../../../src/store/engine/key-rows.ts';
import { toDraftRow } from '../../../src/store/engine/rows.ts';
import { newHold, newKeyDraft } from '../../support/keys.ts';
import { CALLER, newDraft } from '../../support/records.ts';
import { makeWorkshop, type Workshop } from '../../support/sqlite.ts';
import type { RecordDraft } from '../../../src/store/store.ts';

describe('the engine', () => {
  let shop: Workshop;
  let engine: Engine;

  beforeEach(async () => {
    shop = makeWorkshop();
    await (await shop.open()).close();
    engine = openEngine({ file: shop.file, owner: 'me' });
  });
  afterEach(() => {
    engine.close();
    return shop.clear();
  });

  const accept = (draft: RecordDraft): Operation => ['accept', toDraftRow(draft), []];
  const find = ({ requestId }: RecordDraft): Operation => ['find', CALLER, requestId];
  const resultsOf = (reply: Reply): readonly unknown[] => ('results' in reply ? reply.results : [reply.failure.reason]);

  it('leaves out the one operation that breaks a rule of the tables', () => {
    const [one, other] = [newDraft(), newDraft()];
    const results = resultsOf(engine.run('write', [accept(one), accept({ ...one, model: 'again' }), accept(other)]));
    expect(results[1]).to.be.instanceOf(Error);
    expect([results[0], results[2]]).to.deep.equal([null, null]);
    const found = resultsOf(engine.run('read', [find(one), find(other)]));
    expect(found).to.have.deep.nested.property('[0][2]', one.model);
    expect(found).to.have.deep.nested.property('[1][0]', other.requestId);
  });

  it('takes back all of an operation that breaks a rule of the tables, its hold too', () => {
    const key = newKeyDraft({ creditsMicro: 100 });
    const draft = newDraft();
    const acceptPaid: Operation = ['acceptPaid', toDraftRow(draft), [], newHold(key.keyId, 30)];
    const results = resultsOf(
      engine.run('write', [
        ['createKey', toKeyDraftRow(key)],
        accept(draft),
        acceptPaid,
        ['listLedger', key.keyId, Number.MAX_SAFE_INTEGER, 10],
        ['findKey', key.keyId],
      ]),
    );
    expect(results[2]).to.be.instanceOf(Error);
    expect(results[3]).to.have.lengthOf(1);
    expect(results[4]).to.deep.equal(results[0]);
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
    expect(resultsOf(engine.run('read', [find(draft)]))).to.have.deep.nested.property('[0][0]', draft.requestId);
  });
});
