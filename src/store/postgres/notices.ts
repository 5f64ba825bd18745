/**
 * Notices of cancels that were requested in other processes. A lost notice, for example behind a
 * pooler in transaction mode, only delays the cancel until the next poll.
 */
import type { LookupFunction, Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import type { StoreLog } from '../../core/books/store.ts';
import { toReason } from './failures.ts';
import type { NamedStatement } from '../sql/dialect.ts';
import { toClientConfig, type Connections, type Statement } from './pool.ts';
import { openSocket } from './socket.ts';

const CHANNEL = 'responses_gateway_cancels';

/** Notifies the owners of these records, except this process, when the transaction commits. */
export const NOTIFY: NamedStatement = {
  name: 'notify_owners',
  text: `SELECT pg_notify('${CHANNEL}', owner) FROM requests
    WHERE request_id = ANY(:requestIds::text[]) AND owner <> :owner GROUP BY owner`,
};

const NOTIFY_SELF: Statement = { name: 'notify_self', text: `SELECT pg_notify('${CHANNEL}', $1)` };

/** A broken connection looks like a silent one, so the gateway tests it with notices to itself. */
const TRY_MS = 15_000;
const HEARD_WITHIN_MS = 3000;
const RECONNECT_AFTER_MS = 1000;
const END_WITHIN_MS = 1000;

export interface NoticeOptions {
  readonly url: string;
  readonly connections: Connections;
  readonly nameOf: () => string;
  readonly onNotice: () => void;
  readonly log: StoreLog;
  readonly lookup?: LookupFunction | undefined;
  readonly tryMs?: number;
  readonly heardWithinMs?: number;
}

/**
 * Listens until the returned function is called. Logs when notices stop arriving or arrive again.
 */
export function listenForNotices(options: NoticeOptions): () => Promise<void> {
  const { connections, nameOf, onNotice, log, tryMs = TRY_MS, heardWithinMs = HEARD_WITHIN_MS } = options;
  let current: NoticeConnection | undefined;
  let timer: NodeJS.Timeout | undefined;
  let isFailing = false;
  let isOver = false;
  let heard: (() => void) | undefined;

  async function connect(): Promise<void> {
    const opened = openConnection(options);
    const { client } = opened;
    current = opened;
    client.on('end', () => {
      if (current === opened) reconnectLater();
    });
    client.on('notification', ({ payload }) => {
      if (payload === toTrial(nameOf())) heard?.();
      else if (payload === nameOf()) onNotice();
    });
    try {
      await client.connect();
      await client.query(`LISTEN ${CHANNEL}`);
      // A notice may have been missed while no connection listened.
      onNotice();
      await tryOut();
    } catch (error) {
      giveUp(toReason(error));
    }
  }

  async function tryOut(): Promise<void> {
    const arrived = new Promise<boolean>((resolve) => {
      heard = () => resolve(true);
      setTimeout(resolve, heardWithinMs, false).unref();
    });
    await connections.lookUp((connection) => connection.rows(NOTIFY_SELF, [toTrial(nameOf())]));
    if (!(await arrived)) return giveUp('a notice did not arrive');
    if (isFailing) log.info({}, 'cancels which other processes were asked for are heard at once again');
    isFailing = false;
    wait(tryMs, () => tryOut().catch((error: unknown) => giveUp(toReason(error))));
  }

  function giveUp(reason: string): void {
    if (isOver) return;
    if (!isFailing)
      log.warn({ reason }, 'cancels which other processes were asked for are only heard by looking for them');
    isFailing = true;
    reconnectLater();
  }

  function reconnectLater(): void {
    const former = current;
    current = undefined;
    former?.socket.destroy();
    wait(isFailing ? tryMs : RECONNECT_AFTER_MS, connect);
  }

  function wait(ms: number, next: () => Promise<void>): void {
    if (isOver) return;
    clearTimeout(timer);
    timer = setTimeout(() => void next(), ms);
    timer.unref();
  }

  void connect();
  return async () => {
    isOver = true;
    clearTimeout(timer);
    const last = current;
    current = undefined;
    if (last === undefined) return;
    const ended = last.client.end().catch(() => undefined);
    await Promise.race([ended, delay(END_WITHIN_MS, undefined, { ref: false })]);
    last.socket.destroy();
  };
}

interface NoticeConnection {
  readonly client: Client;
  readonly socket: Socket;
}

function openConnection({ url, lookup }: NoticeOptions): NoticeConnection {
  const socket = openSocket(lookup);
  const client = new Client({ ...toClientConfig(url), stream: () => socket });
  client.on('error', () => undefined);
  return { client, socket };
}

function toTrial(name: string): string {
  return `trial ${name}`;
}
