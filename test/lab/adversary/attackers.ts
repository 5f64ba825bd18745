/**
 * Attackers in a process of their own, so that they hold up neither the gateway nor the honest caller. The parent sends what
 * they do as soon as it has heard from them, and kills them. They end with it, too.
 */
import type { IncomingMessage } from 'node:http';
import { randomBytes } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { WebSocket } from 'ws';
import { answerOf, begin, HANDSHAKE, type Beginning } from './begin.ts';

export interface Orders {
  readonly url: string;
  /** Each of them makes each move, again and again. */
  readonly keys: readonly string[];
  readonly moves: readonly Move[];
  /** So many at once and no more, or so many in each second. */
  readonly pace: { readonly atOnce: number } | { readonly perSecond: number };
}

/** How often each move got which status; 0 is a connection that ended without one. */
export type Seen = Readonly<Record<string, Readonly<Record<number, number>>>>;
export type Move = keyof typeof MOVES;

const MIB = 1024 * 1024;
const SPACES = gzipSync(`${' '.repeat(8 * MIB)}x`);
/** A request of 4 MiB, in some 50 kB. */
const DENSE = gzipSync(`{"model":"m","input":"${randomBytes(40 * 1024).toString('hex')}${'x'.repeat(4 * MIB)}"}`);
const UNFINISHED = Buffer.alloc(MIB, ' ');
const REQUEST = '{"model":"m","input":"x"}';
const STREAM = '{"model":"m","input":"x","stream":true,"max_output_tokens":100}';
const CHAT = '{"model":"m","max_tokens":1,"max_completion_tokens":5000,"messages":[]}';
const SHORT_CHAT = '{"model":"m","messages":[{"role":"user","content":"x"}]}';
const REQUEST_TIMED_OUT = 408;

interface Attack extends Pick<Beginning, 'url' | 'key'> {
  readonly note: (status: number) => void;
}

const posts = (rest: Omit<Beginning, 'url' | 'key'>) => (attack: Attack) => void post(attack, rest);

const completes = (body: string) => (attack: Attack) => {
  const url = attack.url.replace('/api/v1/responses', '/v1/chat/completions');
  posts({ headers: { 'content-length': body.length }, body })({ ...attack, url });
};

/** What it holds is held for ever: a request that has timed out begins again. */
async function post(attack: Attack, rest: Omit<Beginning, 'url' | 'key'>): Promise<void> {
  const status = await answerOf(begin({ ...attack, ...rest }));
  attack.note(status);
  if (status === REQUEST_TIMED_OUT) await post(attack, rest);
}

/** Sends so many small frames a second over one WebSocket, for ever. */
const floods =
  (perSecond: number, frame: (ws: WebSocket) => void) =>
  ({ url, key, note }: Attack): void => {
    const ws = new WebSocket(url.replace('http', 'ws'), { headers: { authorization: `Bearer ${key}` } });
    ws.on('error', () => undefined);
    ws.once('open', () => {
      const flood = setInterval(() => {
        for (let n = 0; n < perSecond / 50; n++) frame(ws);
      }, 20);
      ws.once('close', () => clearInterval(flood));
    });
    ws.once('pong', () => note(200));
    ws.once('message', (told: Buffer) => note((JSON.parse(String(told)) as { status: number }).status));
    ws.once('close', () => note(0));
  };

/** Begins a message in fragments that never ends. */
const begins =
  (bytes: number) =>
  ({ url, key, note }: Attack): void => {
    const ws = new WebSocket(url.replace('http', 'ws'), { headers: { authorization: `Bearer ${key}` } });
    ws.on('error', () => undefined);
    ws.once('open', () => {
      for (let sent = 0; sent < bytes; sent += MIB) ws.send(UNFINISHED, { binary: false, fin: false });
      ws.ping();
    });
    ws.once('unexpected-response', (_asked, reply) => note(reply.statusCode ?? 0));
    ws.once('pong', () => note(200));
    ws.once('message', (told: Buffer) => note((JSON.parse(String(told)) as { status: number }).status));
  };

const warmsUp =
  (bytes: number) =>
  ({ url, key, note }: Attack): void => {
    const ws = new WebSocket(url.replace('http', 'ws'), { headers: { authorization: `Bearer ${key}` } });
    const input = 'x'.repeat(bytes);
    ws.on('error', () => undefined);
    ws.on('open', () => ws.send(JSON.stringify({ type: 'response.create', model: 'm', generate: false, input })));
    ws.on('unexpected-response', (_asked, reply) => note(reply.statusCode ?? 0));
    ws.on('message', (frame: Buffer) => {
      const { type, status = 200 } = JSON.parse(String(frame)) as { type: string; status?: number };
      if (type === 'response.completed' || type === 'error') note(status);
    });
  };

const MOVES = {
  'half-sent bodies': posts({ headers: { 'content-length': 1000 }, body: '{' }),
  'unfinished bodies of 32 MiB': posts({ headers: { 'content-length': 32 * MIB }, body: UNFINISHED }),
  handshakes: posts({ headers: HANDSHAKE }),
  'spaces, compressed': posts({
    headers: { 'content-encoding': 'gzip', 'content-length': SPACES.length },
    body: SPACES,
  }),
  'a request, compressed 85 to 1': posts({
    headers: { 'content-encoding': 'gzip', 'content-length': DENSE.length },
    body: DENSE,
  }),
  'requests with a new idempotency key'(attack: Attack) {
    const headers = { 'idempotency-key': randomBytes(16).toString('hex'), 'content-length': REQUEST.length };
    posts({ headers, body: REQUEST })(attack);
  },
  'bodies of no shape with an idempotency key'(attack: Attack) {
    posts({ headers: { 'idempotency-key': 'one', 'content-length': 2 }, body: '{}' })(attack);
  },
  'chat completions': completes(SHORT_CHAT),
  'chat completions with two limits': completes(CHAT),
  'streams that are never read'({ url, key, note }: Attack) {
    const asked = begin({ url, key, headers: { 'content-length': STREAM.length }, body: STREAM });
    asked.once('response', (reply: IncomingMessage) => note(reply.pause().statusCode ?? 0));
  },
  'warm-ups': warmsUp(2 * MIB),
  'full bodies of 32 MiB, but for a byte': posts({
    headers: { 'content-length': 32 * MIB },
    body: Buffer.alloc(32 * MIB - 1, ' '),
  }),
  'full warm-ups': warmsUp(30 * MIB),
  'unfinished messages of 30 MiB': begins(30 * MIB),
  'floods of 10,000 pings a second': floods(10_000, (ws) => ws.ping()),
  'floods of 10,000 frames a second': floods(10_000, (ws) => ws.send('{}')),
} satisfies Readonly<Record<string, (attack: Attack) => void>>;

process.once('message', ({ url, keys, moves: names, pace }: Orders) => {
  const seen: Record<string, Record<number, number>> = Object.fromEntries(names.map((name) => [name, {}]));
  let moves = 0;
  if ('atOnce' in pace) while (moves < pace.atOnce) move();
  else setInterval(move, 1000 / pace.perSecond);
  setInterval(() => process.send?.(seen), 100);

  function move(): void {
    const name = names[moves % names.length];
    const key = keys[Math.floor(moves / names.length) % keys.length] ?? '';
    moves++;
    if (name === undefined) return;
    const statuses = (seen[name] ??= {});
    const note = (status: number): void => {
      statuses[status] = (statuses[status] ?? 0) + 1;
    };
    MOVES[name]({ url: `${url}/api/v1/responses`, key, note });
  }
});
process.once('disconnect', () => process.exit()).once('error', () => process.exit());
process.send?.({});
