import { expect } from 'chai';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createIdentities } from '../../src/identity/identities.ts';
import { newDraft, newOutcome } from '../support/records.ts';
import { makeWorkshop, type Workshop } from '../support/sqlite.ts';

const CANARY = 'canary-5bd1';

describe('the files of the store', () => {
  let shop: Workshop;

  beforeEach(() => {
    shop = makeWorkshop();
  });
  afterEach(() => shop.clear());

  it('hold nothing of API key, idempotency key or body, but do hold the record', async () => {
    const identities = createIdentities('a secret of ours', null);
    const caller = identities.caller(`sk-${CANARY}`);
    const draft = newDraft({
      caller,
      idempotency: {
        key: identities.idempotencyKey(caller, `retry-${CANARY}`),
        body: identities.body(caller, new TextEncoder().encode(`{"input": "${CANARY}"}`), 'responses'),
      },
    });
    const store = await shop.open();
    await store.accept(draft);
    await store.finish(draft.requestId, newOutcome());
    const inLog = readAll();
    await store.pragma('wal_checkpoint(TRUNCATE)');
    for (const bytes of [inLog, readAll()]) {
      expect(bytes).to.include(draft.requestId);
      expect(bytes).not.to.include(CANARY);
    }
  });

  function readAll(): string {
    const folder = dirname(shop.file);
    return readdirSync(folder)
      .map((name) => readFileSync(join(folder, name), 'latin1'))
      .join('\n');
  }
});
