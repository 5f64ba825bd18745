import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { AccountId } from '../../../../src/contract/ids.ts';
import type { RequestRecord } from '../../../../src/contract/types.ts';
import { startScriptedBackend } from '../../../support/backend.ts';
import type { PostgresServer } from '../../../support/postgres-server.ts';
import { createTestDatabase } from '../../../support/postgres.ts';
import { clusterSettings, issueKey, makeGroup, type NewGroup } from '../open-cluster.ts';
import type { Attempt } from './attempts.ts';
import { createCustomer, type Account, type Customer, type Diary } from './customer.ts';
import { createFaults, type Faults } from './faults.ts';
import { createNode, type Node } from './nodes.ts';
import type { Plan } from './plans.ts';
import type { Random } from './random.ts';
import { judge, type Verdict } from './verdict.ts';
import { countUnfinished, followPlans, watchFinalRecords } from './witness.ts';

export interface ChaosReport {
  readonly seconds: number;
  readonly nodes: readonly Node[];
  readonly faults: Faults;
  readonly diary: Diary;
  readonly backendCalls: number;
  /** From the end of all faults until nothing was unfinished. */
  readonly settledMs: number;
  readonly verdict: Verdict;
}

const CUSTOMERS = 24;
/** Some are rich, and some have to wait for their own payments. */
const CREDITS_MICRO = [1_000_000, 2500];
/** Half of the customers share these, whose credits or limits some of their requests exceed. */
const GROUPS: readonly NewGroup[] = [
  { name: 'rich', credits: '1' },
  { name: 'poor', credits: '0.005' },
  // It refuses when two ask at once, and after some twenty requests everybody.
  { name: 'thrifty', credits: '1', limits: { spend_per_day: '0.003' } },
  { name: 'slow', credits: '1', limits: { requests_per_minute: 20 } },
];
/** Longer than what a dead gateway has left may stay unfinished. */
const SETTLED_WITHIN_MS = 90_000;

/** Three gateways on this server, customers, and faults, for so long. Throws when something of it does not come back. */
export async function runChaos(options: {
  readonly server: PostgresServer;
  readonly random: Random;
  readonly minutes: number;
  readonly onProgress: (text: string) => void;
}): Promise<ChaosReport> {
  const { server, random, minutes, onProgress } = options;
  const folder = mkdtempSync(join(tmpdir(), 'chaos-'));
  const backend = await startScriptedBackend();
  const database = await createTestDatabase(server.url, { isSynced: true });
  const settings = {
    ...clusterSettings({ folder, backendUrl: backend.baseUrl, databaseUrl: database.url }),
    DRAIN_TIMEOUT_MS: '4000',
  };
  const log: string[] = [];
  let stderr = '';
  const nodes = await Promise.all(
    ['A', 'B', 'C'].map((name) =>
      createNode({
        name,
        settings,
        databaseUrl: database.url,
        onLog: (text) => log.push(...text.split('\n').filter((line) => line !== '')),
        onStderr: (text) => (stderr += text),
      }),
    ),
  );
  const plans = new Map<string, Plan>();
  const diary: Diary = { attempts: [] as Attempt[], finals: new Map<string, RequestRecord>(), cancels: new Map() };
  const failures: string[] = [];
  const killAll = () => Promise.all(nodes.map((node) => node.kill()));
  process.once('exit', () => {
    void killAll();
    rmSync(folder, { recursive: true, force: true });
  });
  try {
    await Promise.all(nodes.map((node) => node.start()));
    await watchFinalRecords(database.url);
    const calls = followPlans(backend, plans);
    const customers: Customer[] = [];
    const accounts: Account[] = [];
    const open = (id: AccountId, path: string, credits: string): Account => {
      const account = { id, path, paidMicro: Math.round(Number(credits) * 1e6) };
      accounts.push(account);
      return account;
    };
    const url = nodes[0]?.url ?? '';
    const groups: Account[] = [];
    for (const group of GROUPS) groups.push(open(await makeGroup(url, group), `groups/${group.name}`, group.credits));
    // One after the other: a busy machine may not write all keys within the time for one.
    for (let index = 0; index < CUSTOMERS; index += 1) {
      const credits = ((CREDITS_MICRO[index % CREDITS_MICRO.length] ?? 0) / 1e6).toFixed(6);
      const at = index % (2 * GROUPS.length);
      const key = await issueKey(url, credits, GROUPS[at]?.name);
      const own = open(key.id, `keys/${key.id}`, credits);
      const group = groups[at];
      const paid = group === undefined ? [own] : [own, group];
      const name = `c${index}`;
      customers.push(createCustomer({ name, key, accounts: paid, nodes, diary, plans, random: random.fork() }));
    }
    const faults = createFaults({ nodes, server, random: random.fork() });
    const startMs = Date.now();
    const untilMs = startMs + minutes * 60_000;
    const timer = setInterval(() => onProgress(describeProgress(startMs, diary, faults)), 5000);
    try {
      const traffic = customers.map((customer) =>
        customer.run(untilMs).catch((error: unknown) => failures.push(describeError(error))),
      );
      await Promise.all([faults.run(untilMs), ...traffic]);
      const overMs = Date.now();
      await Promise.all(customers.map((customer) => customer.settle()));
      while ((await countUnfinished(database.url)) > 0 && Date.now() < overMs + SETTLED_WITHIN_MS) await delay(100);
      const settledMs = Date.now() - overMs;
      // The logs to their end.
      await Promise.all(nodes.map((node) => node.drain()));
      const evidence = { databaseUrl: database.url, diary, accounts, failures, stderr, log };
      const verdict = await judge({ ...evidence, repeated: calls.repeated });
      const seconds = (Date.now() - startMs) / 1000;
      return { seconds, nodes, faults, diary, backendCalls: calls.calls, settledMs, verdict };
    } finally {
      clearInterval(timer);
    }
  } finally {
    await killAll();
    await Promise.all(nodes.map((node) => node.close()));
    await backend.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

function describeProgress(startMs: number, { attempts }: Diary, { counts }: Faults): string {
  const faults = [...counts.values()].reduce((sum, count) => sum + count, 0);
  return `${Math.round((Date.now() - startMs) / 1000)} s: ${attempts.length} requests sent, ${faults} faults`;
}

function describeError(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
