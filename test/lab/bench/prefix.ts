/**
 * `npm run lab prefix`: which part of the CPU of an agent's turn goes into comparing its prompt with the one before. It is timed
 * where it is done. What that cannot see, such as more garbage, shows beside turns of the same process that are not compared. With
 * `--every-ms 4` deltas come one by one, as from a model that writes; without it all at once, which is the least a turn can cost.
 */
import { parseArgs } from 'node:util';
import { openConnection, type Connection } from './connection.ts';
import { createStreamReader, toRequest } from './dialects.ts';
import { agentHistory, showBytes } from './loads/asks.ts';
import { startChild, stayOn } from './processes.ts';
import { formatTable } from './report.ts';
import { BURST_DELTAS } from './scripts.ts';
import { openStage } from './stage.ts';
import { median } from './statistics.ts';
import type { Listening, Usage } from './targets/measured.ts';

const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '12' }, 'every-ms': { type: 'string' } },
});
const everyMs = values['every-ms'];
const SCRIPT = everyMs === undefined ? 'burst-different' : `paced-${everyMs}-${BURST_DELTAS}`;
const SIZES = [20_000, 100_000, 400_000];
const AGENTS = everyMs === undefined ? 4 : 8;
const TURNS = 4;
const WARM_UP = 2;
/** What an exchange adds to the history. */
const EXCHANGE_BYTES = 4400;
/** Of a session of twenty turns, with one that breaks, such as by a search for tools or a compaction. */
const SHARES = { first: 0.05, extended: 0.9, broken: 0.05 };
type Kind = keyof typeof SHARES;
const WAYS = ['compare', 'skip'] as const;

interface Turn {
  readonly request: Buffer;
  /** Where the key of the conversation is. */
  readonly keyAt: number;
}

stayOn('load');
const stage = await openStage();
const child = startChild('targets/prefix.ts', [stage.upstream]);
let sessions = 0;
try {
  const { url } = await child.hear<Listening>('listening');
  const connections = Array.from({ length: AGENTS }, () => openConnection(url));
  const rows: string[][] = [];
  for (const bytes of SIZES) {
    let ofSession = 0;
    for (const kind of Object.keys(SHARES) as Kind[]) {
      const { turnMicros, comparedMicros, ratio } = await measure(connections, toTurns(bytes, kind), kind);
      const percent = (100 * comparedMicros) / turnMicros;
      ofSession += SHARES[kind] * percent;
      rows.push([
        `${kind}, ${showBytes(bytes)}`,
        (turnMicros / 1000).toFixed(2),
        comparedMicros.toFixed(0),
        percent.toFixed(1),
        ratio.toFixed(2),
      ]);
    }
    rows.push([`a session of 20 turns, ${showBytes(bytes)}`, '', '', ofSession.toFixed(1), '']);
  }
  console.log(formatTable(['turn', 'CPU ms', 'comparing, µs', '%', '× not compared'], rows));
  console.log(`\nA conversation takes ${(await child.ask<number>('conversationBytes')).toFixed(0)} bytes.`);
  for (const connection of connections) connection.destroy();
} finally {
  child.kill();
  await stage.close();
}
process.exit();

/** The first one is sent before the others are counted, each of which has an exchange more, unless all begin a conversation. */
function toTurns(bytes: number, kind: Kind): Turn[] {
  const { responses } = agentHistory(bytes + TURNS * EXCHANGE_BYTES);
  const { input, ...fields } = responses as { readonly input: readonly object[] };
  return Array.from({ length: TURNS + 1 }, (_, turn) => {
    const missing = kind === 'first' ? TURNS : TURNS - turn;
    const history = input.slice(0, input.length - 3 * missing);
    const said = {
      type: 'message',
      role: 'assistant',
      content: [{ type: 'output_text', text: `Edited ${turn} times` }],
    };
    const body = {
      ...fields,
      prompt_cache_key: keyOf(0),
      input: kind === 'broken' ? history.with(1, said) : history,
    };
    const ask = { script: SCRIPT, stream: true, body: { responses: body, chat: {} } };
    const request = toRequest({ dialect: 'responses', apiKey: 'bench' }, ask);
    return { request, keyAt: request.indexOf(keyOf(0)) };
  });
}

function keyOf(session: number): string {
  return `session ${String(session).padStart(9, '0')}`;
}

async function measure(connections: readonly Connection[], turns: readonly Turn[], kind: Kind) {
  const turnMicros: number[] = [];
  const comparedMicros: number[] = [];
  const ratios: number[] = [];
  for (let round = -WARM_UP; round < Number(values.rounds); round += 1) {
    const taken = { compare: 0, skip: 0 };
    for (const way of round % 2 === 0 ? WAYS : WAYS.toReversed()) {
      await child.ask(way);
      taken[way] = await takeTurns(connections, turns, kind);
      const compared = await child.ask<number[]>('comparedMicros');
      if (round >= 0) comparedMicros.push(...compared);
    }
    if (round < 0) continue;
    turnMicros.push(taken.compare);
    ratios.push(taken.compare / taken.skip);
  }
  return { turnMicros: median(turnMicros), comparedMicros: median(comparedMicros), ratio: median(ratios) };
}

/** Returns the CPU time of a turn. */
async function takeTurns(
  connections: readonly Connection[],
  [primer, ...turns]: readonly Turn[],
  kind: Kind,
): Promise<number> {
  const agents = connections.map((connection) => ({ connection, session: (sessions += 1) }));
  await Promise.all(agents.map(({ connection, session }) => takeTurn(connection, primer, session)));
  await child.ask('comparedMicros');
  const before = await child.ask<Usage>('usage');
  await Promise.all(
    agents.map(async ({ connection, session }) => {
      for (const turn of turns) await takeTurn(connection, turn, kind === 'first' ? (sessions += 1) : session);
    }),
  );
  const after = await child.ask<Usage>('usage');
  return (after.cpuMicros - before.cpuMicros) / (agents.length * turns.length);
}

async function takeTurn(connection: Connection, turn: Turn | undefined, session: number): Promise<void> {
  if (turn === undefined) return;
  // Another agent sends the same turn with its own key.
  const request = Buffer.from(turn.request);
  request.write(keyOf(session), turn.keyAt);
  const reader = createStreamReader('responses');
  const { status } = await connection.exchange(request, (bytes) => void reader.read(bytes));
  if (status !== 200) throw new Error(`a turn was answered with ${status}`);
  reader.expectWhole(BURST_DELTAS);
}
