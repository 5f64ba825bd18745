/**
 * Several gateway processes on one PostgreSQL, as they stand behind a load balancer, with a chat backend behind them.
 *
 *     const cluster = await openCluster(server, [CURRENT, CURRENT, CURRENT]);
 *     const key = await cluster.issueKey('1.00');
 *     const reply = await cluster.at(0, key.secret).create({ model: 'm', input: 'Hello' });
 */
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import type { GroupId, KeyId } from '../../../src/contract/ids.ts';
import { parseKeyId } from '../../../src/core/ids.ts';
import type { AdminGroup, CreateGroup, IssuedKey } from '../../../src/contract/operator-types.ts';
import { callerOf, type Caller, type expectRecord } from '../../records/caller.ts';
import { startScriptedBackend, type ScriptedBackend } from '../../support/backend.ts';
import { startGatewayProcess, type GatewayProcess, type ProcessOptions } from '../../support/gateway-process.ts';
import { expectServerBooksToAddUp, type UnitOfWork } from '../../support/books.ts';
import { createTestDatabase, type TestDatabase } from '../../support/postgres.ts';

/** The program of this source tree. */
export const CURRENT: ProcessOptions = {};

/** In millionths, of a request with the USAGE of `records/chunks.ts`: 11 tokens of input at 2, and 7 of output at 10. */
export const COST_MICRO = 11 * 2 + 7 * 10;

export interface Key {
  readonly id: KeyId;
  readonly secret: string;
}

/** Several processes on one database, with keys of their own. */
export interface Gateways {
  readonly backend: ScriptedBackend;
  /** Somebody with this key who asks the gateway of this number, where each has an address of its own; numbers go round. */
  at(place: number, secret: string): Caller;
  /** Makes a key that has so many credits. */
  issueKey(credits: string): Promise<Key>;
  /** Fails unless the books of this key add up. */
  books(keyId: KeyId): Promise<UnitOfWork>;
  /** What is reserved, in millionths, for the one request of this key that there has been. */
  findHold(keyId: KeyId): Promise<number>;
  close(): Promise<void>;
}

export interface Cluster extends Gateways {
  readonly database: TestDatabase;
  readonly gateways: readonly GatewayProcess[];
  /** Stops the gateway of this number as a deployment does, and starts this program in its place. */
  replace(place: number, program: ProcessOptions): Promise<void>;
  /** As if the process which runs this request had been silent for long. */
  silence(requestId: string): Promise<void>;
}

/** Starts one gateway of each of these programs, one after the other. */
export async function openCluster(
  serverUrl: string,
  programs: readonly ProcessOptions[],
  checkRecord?: typeof expectRecord,
): Promise<Cluster> {
  const folder = mkdtempSync(join(tmpdir(), 'cluster-'));
  const backend = await startScriptedBackend();
  const database = await createTestDatabase(serverUrl);
  const settings = clusterSettings({ folder, backendUrl: backend.baseUrl, databaseUrl: database.url });
  const gateways: GatewayProcess[] = [];
  for (const program of programs) gateways.push(await start(settings, program));
  const urlOf = (place: number) => gateways[place % gateways.length]?.url ?? 'none';

  return {
    backend,
    database,
    gateways,
    at: (place, secret) => callerOf(urlOf(place), secret, checkRecord),
    issueKey: (credits) => issueKey(urlOf(0), credits),
    books: (keyId) => expectServerBooksToAddUp(database.url, keyId),
    async findHold(keyId) {
      const [row] = await database.run(
        `SELECT requests.held_micro::int AS held FROM requests JOIN keys ON keys.seq = requests.key WHERE key_id = '${keyId}'`,
      );
      return (row as { held: number }).held;
    },
    async replace(place, program) {
      gateways[place]?.signal('SIGTERM');
      await gateways[place]?.ended();
      gateways[place] = await start(settings, program);
    },
    async silence(requestId) {
      await database.run(`UPDATE owners SET seen_at = '-infinity'
        WHERE owner = (SELECT owner FROM requests WHERE request_id = '${requestId}')`);
    },
    async close() {
      for (const gateway of gateways) gateway.kill();
      await Promise.all(gateways.map((gateway) => gateway.ended()));
      await backend.close();
      await database.drop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

const TRIES = 5;

/** Again, as its supervisor does, when a machine that is busy with other tests has let its time-outs pass. */
async function start(settings: Readonly<Record<string, string>>, program: ProcessOptions): Promise<GatewayProcess> {
  let stderr = '';
  for (let turn = 0; turn < TRIES; turn += 1) {
    const gateway = await startGatewayProcess(settings, program);
    if (gateway.url !== undefined) return gateway;
    ({ stderr } = await gateway.ended());
  }
  throw new Error(`a gateway did not start: ${stderr}`);
}

export const ADMIN_TOKEN = 'the-admin-token-of-the-cluster';

/** What all gateways of a cluster are started with. */
export function clusterSettings({
  folder,
  backendUrl,
  databaseUrl,
}: {
  readonly folder: string;
  readonly backendUrl: string;
  readonly databaseUrl: string;
}): Readonly<Record<string, string>> {
  const pricesFile = join(folder, 'prices.json');
  writeFileSync(pricesFile, '{"currency": "USD", "models": {"m": {"input": "2", "output": "10"}}}');
  return {
    AUTH_MODE: 'managed',
    ADMIN_TOKEN,
    PRICES_FILE: pricesFile,
    UPSTREAM_BASE_URL: backendUrl,
    DATABASE_URL: databaseUrl,
    // Other tests use the server too.
    GATEWAY_SECRET: 'the same secret for all gateways of a cluster',
    // Of the load balancer: a record is the same, whoever shows it.
    PUBLIC_BASE_URL: 'http://gateway.example.com',
  };
}

/** Makes a key at the gateway that listens here, with so many credits. */
export async function issueKey(url: string, credits: string, group?: string): Promise<Key> {
  const draft = { name: `customer ${randomUUID()}`, credits, ...(group !== undefined && { group }) };
  const reply = await administrate(`${url}/admin/v1/keys`, draft);
  expect(reply.status).to.equal(201);
  const { id, secret } = (await reply.json()) as IssuedKey;
  const keyId = parseKeyId(id);
  if (keyId === undefined) throw new Error('the key has no id');
  return { id: keyId, secret };
}

export type NewGroup = CreateGroup & { readonly credits: string };

/** Makes a group at the gateway that listens here. */
export async function makeGroup(url: string, group: NewGroup): Promise<GroupId> {
  const reply = await administrate(`${url}/admin/v1/groups`, group);
  expect(reply.status).to.equal(201);
  return ((await reply.json()) as AdminGroup).id;
}

/** Sends this to the admin API. */
export function administrate(url: string, body: object): Promise<Response> {
  return fetch(url, {
    method: 'POST',
    headers: { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
}
