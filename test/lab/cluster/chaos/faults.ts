import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import type { PostgresServer } from '../../../support/postgres-server.ts';
import type { Node } from './nodes.ts';
import type { Random } from './random.ts';

/** When no database was there: from the moment of its stop until it took connections again. In Unix time. */
export interface Outage {
  readonly how: 'fast' | 'immediate';
  readonly fromMs: number;
  untilMs: number;
}

export interface Faults {
  /** How often each was done. */
  readonly counts: ReadonlyMap<string, number>;
  readonly outages: readonly Outage[];
  /** Does one after the other until this time, then brings everything back. Rejects when something does not come back. */
  run(untilMs: number): Promise<void>;
}

interface FaultsOptions {
  readonly nodes: readonly Node[];
  readonly server: PostgresServer;
  readonly random: Random;
}

/** Longer than a process may be silent before others close what it has left unfinished. */
const LONG_PAUSE_MS = [20_000, 30_000] as const;

/** Hurts the nodes and their database in every way that they have to stand. */
export function createFaults({ nodes, server, random }: FaultsOptions): Faults {
  const counts = new Map<string, number>();
  const outages: Outage[] = [];
  /** What goes on beside the rest. */
  const longer = new Set<Promise<void>>();

  const note = (name: string): void => void counts.set(name, (counts.get(name) ?? 0) + 1);

  function beside(work: Promise<void>): void {
    longer.add(work);
    work.then(
      () => longer.delete(work),
      () => undefined,
    );
  }

  /** Ends some of the connections of all gateways, again and again. */
  async function endConnections(times: number): Promise<void> {
    const client = new Client({ connectionString: server.url });
    client.on('error', () => undefined);
    try {
      await client.connect();
      for (let turn = 0; turn < times; turn += 1) {
        await client.query(`SELECT pg_terminate_backend(pid) FROM
          (SELECT pid FROM pg_stat_activity WHERE application_name = 'responses-gateway' ORDER BY random() LIMIT 3) AS some`);
        await delay(random.between(100, 300));
      }
    } catch {
      // The server itself may be stopped at the same time.
    } finally {
      await client.end().catch(() => undefined);
    }
  }

  async function restart(node: Node, end: 'kill' | 'drain', awayMs: number): Promise<void> {
    await node[end]();
    await delay(awayMs);
    await node.start();
  }

  async function restartServer(how: 'fast' | 'immediate', awayMs: number): Promise<void> {
    const outage = { how, fromMs: Date.now(), untilMs: Infinity };
    outages.push(outage);
    await server.stop(how);
    await delay(awayMs);
    await server.start();
    outage.untilMs = Date.now();
  }

  const faults: readonly {
    readonly name: string;
    readonly weight: number;
    readonly longestMs?: number;
    readonly on: (node: Node) => Promise<void>;
  }[] = [
    { name: 'kill -9', weight: 5, on: (node) => restart(node, 'kill', random.between(0, 3000)) },
    { name: 'drain', weight: 1, on: (node) => restart(node, 'drain', random.between(0, 500)) },
    { name: 'pause', weight: 4, on: (node) => node.pause(random.between(200, 5000)) },
    {
      name: 'long pause',
      weight: 2,
      longestMs: LONG_PAUSE_MS[1],
      on: async (node) => beside(node.pause(random.between(...LONG_PAUSE_MS))),
    },
    {
      name: 'held COMMIT',
      weight: 3,
      on: (node) => node.holdCommit(random.between(500, 6000), random.pick(['arrive', 'lost'])),
    },
    { name: 'pg_terminate_backend', weight: 2, on: () => endConnections(random.between(5, 20)) },
    { name: 'fast stop of PostgreSQL', weight: 1, on: () => restartServer('fast', random.between(0, 2500)) },
    { name: 'immediate stop of PostgreSQL', weight: 2, on: () => restartServer('immediate', random.between(0, 2500)) },
  ];
  /** Each of them once at first, so that a short run has all of them. */
  let deck = shuffle(faults, random);

  function draw() {
    if (deck.length === 0) {
      const weighted = faults.flatMap((fault) => Array.from({ length: fault.weight }, () => fault));
      deck = shuffle(weighted, random);
    }
    return deck.pop();
  }

  return {
    counts,
    outages,
    async run(untilMs) {
      while (Date.now() < untilMs) {
        await Promise.race([delay(random.between(500, 3500)), ...longer]);
        const present = nodes.filter(({ state }) => state === 'running');
        if (present.length === 0 || outages.at(-1)?.untilMs === Infinity) continue;
        const [fault, node] = [draw(), random.pick(present)];
        // What would last beyond the end tells nothing, and a short run stays short.
        if (fault === undefined || Date.now() + (fault.longestMs ?? 0) > untilMs) continue;
        note(fault.name);
        // Now and then two at once.
        if (random.happens(0.2)) beside(fault.on(node));
        else await fault.on(node);
      }
      await Promise.all(longer);
    },
  };
}

function shuffle<Item>(items: readonly Item[], random: Random): Item[] {
  return items
    .map((item) => ({ item, place: random.next() }))
    .sort((one, other) => one.place - other.place)
    .map(({ item }) => item);
}
