/**
 * A process with a store of its own, for tests to kill; other-process.ts starts it. It says on its standard output, line by
 * line, what the store has promised it.
 */
import type { RequestId } from '../../src/contract/ids.ts';
import type { Hold } from '../../src/core/books/keys.ts';
import { openStore } from '../../src/store/open.ts';
import type { RecordDraft, Store } from '../../src/core/books/store.ts';
import { answerDoubts } from './answer-doubts.ts';
import { CALLER, newDraft, newOutcome } from './records.ts';
import './patient.ts';

export interface StoreJob {
  readonly databaseUrl: string;
  /** Accepted, and left unfinished. */
  readonly drafts?: readonly RecordDraft[];
  /** Whether it answers other processes that ask about them. */
  readonly answers?: boolean;
  /** Of these, a cancel is asked for. */
  readonly cancels?: readonly RequestId[];
  /** So many requests at a time are accepted and finished, one after another, until the process is killed. */
  readonly churn?: number;
  /** What each of these holds, and what it costs. */
  readonly hold?: Hold;
  readonly costMicro?: number;
}

// The test that started this process may end without killing it.
process.stdin.on('end', () => process.exit()).resume();

const job: StoreJob = JSON.parse(process.argv[2] ?? '{}');
const store = await openStore({ databaseUrl: job.databaseUrl, recordRetentionDays: 30 });
await Promise.all((job.drafts ?? []).map((draft) => store.accept(draft)));
await Promise.all((job.cancels ?? []).map((requestId) => store.requestCancel(CALLER, requestId)));
if (job.answers === true) answerDoubts([store]);
say('ready');
await Promise.all(Array.from({ length: job.churn ?? 0 }, () => churn(store)));

async function churn(store: Store): Promise<never> {
  for (;;) {
    const draft = newDraft(job.hold === undefined ? {} : { hold: job.hold });
    await store.accept(draft);
    say(`accepted ${draft.requestId}`);
    await store.finish(draft.requestId, newOutcome({ costMicro: job.costMicro ?? null }));
    say(`finished ${draft.requestId}`);
  }
}

/** Node writes to a pipe at once and as a whole (not so on Windows), so what was said survives a kill. */
function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
