/** Opens the store of a checkout, and writes records in batches. records.ts starts it. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { openStore as Open } from '../../../../src/store/open.ts';
import type { newDraft as Draft, newOutcome as Outcome } from '../../../support/records.ts';

const [checkout = '', url = ''] = process.argv.slice(2);
const { openStore } = (await import(join(checkout, 'src/store/open.ts'))) as { openStore: typeof Open };
const { newDraft, newOutcome } = (await import(join(checkout, 'test/support/records.ts'))) as {
  newDraft: typeof Draft;
  newOutcome: typeof Outcome;
};
const folder = mkdtempSync(join(tmpdir(), 'records-'));
const databaseUrl = url === '' ? `file:${join(folder, 'records.db')}` : url;
const store = await openStore({ databaseUrl, recordRetentionDays: 1 });

// One sum of usage for all would have thousands of versions, which a database without a vacuum reads each time.
let batches = 0;
const draftsOf = (batch: number) => {
  const caller = [`caller-${(batches += 1)}`] as const;
  return Array.from({ length: batch }, () => newDraft({ caller }));
};

const WAYS = {
  'begun and ended': async (batch: number) => {
    const drafts = draftsOf(batch);
    await Promise.all(drafts.map((draft) => store.accept(draft)));
    await Promise.all(drafts.map(({ requestId }) => store.finish(requestId, newOutcome())));
  },
  'written at once': async (batch: number) => {
    await Promise.all(draftsOf(batch).map((draft) => store.record(draft, newOutcome())));
  },
};
const figures: Record<string, number> = {};
for (const [name, write] of Object.entries(WAYS)) {
  for (const [batch, batches] of [
    [1, 1500],
    [16, 250],
    [64, 60],
  ] as const) {
    for (let warm = 0; warm < batches; warm += 1) await write(batch);
    const before = process.cpuUsage();
    for (let counted = 0; counted < 2 * batches; counted += 1) await write(batch);
    const { user, system } = process.cpuUsage(before);
    figures[`${name}, ${batch} at a time`] = (user + system) / (2 * batches * batch);
  }
}
await store.close();
rmSync(folder, { recursive: true });
process.stdout.write(JSON.stringify(figures), () => process.exit());
