/**
 * Attackers in a process of their own, so that they hold up neither the gateway nor the honest caller. The parent sends who
 * they are, and ends them by `disconnect`.
 */
import type { IncomingMessage } from 'node:http';
import { gzipSync } from 'node:zlib';
import { WebSocket } from 'ws';
import { answerOf, begin, HANDSHAKE, type Beginning } from './begin.ts';

export interface Orders {
  readonly url: string;
  /** They have no key of the gateway. */
  readonly madeUp: readonly string[];
  /** They have a poor one. */
  readonly hostile: readonly string[];
  readonly movesPerSecond: number;
}

/** How often each move got which status; 0 is a connection that ended without one. */
export type Seen = Readonly<Record<string, Readonly<Record<number, number>>>>;

const MIB = 1024 * 1024;
const SPACES = gzipSync(`${' '.repeat(8 * MIB)}x`);
const UNFINISHED = Buffer.alloc(MIB, ' ');
const STREAM = '{"model":"m","input":"x","stream":true,"max_output_tokens":100}';
const CHAT = '{"model":"m","max_tokens":1,"max_completion_tokens":5000,"messages":[]}';
const WARM_UP = JSON.stringify({ type: 'response.create', model: 'm', generate: false, input: 'x'.repeat(2 * MIB) });

interface Attack extends Pick<Beginning, 'url' | 'key'> {
  readonly note: (status: number) => void;
}

const posts = (rest: Omit<Beginning, 'url' | 'key'>) => (attack: Attack) =>
  void answerOf(begin({ ...attack, ...rest })).then(attack.note);

const MOVES: Readonly<Record<string, (attack: Attack) => void>> = {
  'half-sent bodies': posts({ headers: { 'content-length': 1000 }, body: '{' }),
  'unfinished bodies of 32 MiB': posts({ headers: { 'content-length': 32 * MIB }, body: UNFINISHED }),
  handshakes: posts({ headers: HANDSHAKE }),
  'spaces, compressed': posts({
    headers: { 'content-encoding': 'gzip', 'content-length': SPACES.length },
    body: SPACES,
  }),
  'chat completions with two limits'(attack) {
    const url = attack.url.replace('/api/v1/responses', '/v1/chat/completions');
    posts({ headers: { 'content-length': CHAT.length }, body: CHAT })({ ...attack, url });
  },
  'streams that are never read'({ url, key, note }) {
    const asked = begin({ url, key, headers: { 'content-length': STREAM.length }, body: STREAM });
    asked.once('response', (reply: IncomingMessage) => note(reply.pause().statusCode ?? 0));
  },
  'warm-ups'({ url, key, note }) {
    const ws = new WebSocket(url.replace('http', 'ws'), { headers: { authorization: `Bearer ${key}` } });
    ws.on('error', () => undefined);
    ws.on('open', () => ws.send(WARM_UP));
    ws.on('unexpected-response', (_asked, reply) => note(reply.statusCode ?? 0));
    ws.on('message', (frame: Buffer) => {
      const { type, status = 200 } = JSON.parse(String(frame)) as { type: string; status?: number };
      if (type === 'response.completed' || type === 'error') note(status);
    });
  },
};

process.once('message', ({ url, madeUp, hostile, movesPerSecond }: Orders) => {
  const attackers = [...madeUp, ...hostile];
  const names = Object.keys(MOVES);
  const seen: Record<string, Record<number, number>> = Object.fromEntries(names.map((name) => [name, {}]));
  let moves = 0;
  setInterval(move, 1000 / movesPerSecond);
  setInterval(() => process.send?.(seen), 1000);

  function move(): void {
    // Every second move is one of those who have a key.
    const among = moves % 2 === 0 ? hostile : attackers;
    const name = names[Math.floor(moves / 2) % names.length] ?? '';
    const key = among[Math.floor(moves / 2 / names.length) % among.length] ?? '';
    moves++;
    const statuses = seen[name] ?? {};
    const note = (status: number): void => {
      statuses[status] = (statuses[status] ?? 0) + 1;
    };
    MOVES[name]?.({ url: `${url}/api/v1/responses`, key, note });
  }
});
process.once('disconnect', () => process.exit()).once('error', () => process.exit());
