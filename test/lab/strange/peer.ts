import { isDeepStrictEqual } from 'node:util';
import { readJson } from '../../../src/core/json.ts';
import { startScriptedBackend } from '../../support/backend.ts';
import type { Understood } from '../../support/generate-strange.ts';
import { isObject, isStream, type Json } from './answer.ts';
import { loadAnswers, oddBody, type Recorded } from './cases.ts';
import { GROUPS } from './oddities.ts';
import { WIRES } from './wires.ts';

export interface Peer {
  /** Of its Responses API, without the `/responses`. */
  readonly url: string;
  readonly key: string;
  readonly model: string;
  /** Where it finds its chat backend, which is this program. */
  readonly port: number;
}

interface Group {
  readonly name: string;
  readonly means: 'same' | 'broken';
  readonly oddBodies: readonly ((answer: Recorded) => string | undefined)[];
}

/** Asks another translator for each oddity at answers of our own, and compares what it tells with what it tells of the plain ones. */
export async function askPeer(peer: Peer): Promise<readonly Understood[]> {
  const answers = loadAnswers({ isPlain: true }).filter(({ chunks }) => isStream(chunks));
  const backend = await startScriptedBackend(peer.port);
  const tell = (answer: Recorded, body: string): Promise<unknown> => {
    backend.always({ text: body, headers: { 'content-type': 'text/event-stream' } });
    return ask(peer, answer);
  };
  try {
    const plain = new Map<Recorded, unknown>();
    for (const answer of answers) {
      const told = await tell(answer, oddBody(answer, []) ?? '');
      if (!isCompleted(told)) throw new Error(`The plain answer ${answer.name} is told as ${JSON.stringify(told)}`);
      plain.set(answer, told);
    }
    const result: Understood[] = [];
    for (const { name: group, means, oddBodies } of ALL) {
      let [tried, right] = [0, 0];
      for (const answer of answers) {
        for (const body of oddBodies.map((change) => change(answer))) {
          if (body === undefined) continue;
          const told = await tell(answer, body);
          tried += 1;
          const isSame = isDeepStrictEqual(told, plain.get(answer)) && (group !== 'usage' || tellsUsage(told));
          if (means === 'same' ? isSame : !isCompleted(told)) right += 1;
        }
      }
      result.push({ group, tried, right });
    }
    return result;
  } finally {
    await backend.close();
  }
}

/** What needs a setting is left out. Broken answers come last, since a translator may rest after them. */
const ALL: readonly Group[] = [
  { name: 'bytes', means: 'same', oddBodies: WIRES.map((wire) => (answer) => oddBody(answer, [], wire)) },
  ...Object.entries(GROUPS).map(([name, oddities]): Group => ({
    name,
    means: name === 'broken answers' ? 'broken' : 'same',
    oddBodies: oddities
      .filter(({ settings }) => settings === undefined)
      .map((oddity) => (answer) => oddBody(answer, [oddity])),
  })),
];

/** Returns what the client of a stream knows in the end; undefined where no response came. */
async function ask({ url, key, model }: Peer, { request }: Recorded): Promise<unknown> {
  const text = await fetch(`${url}/responses`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ ...request, model, stream: true }),
    signal: AbortSignal.timeout(10_000),
  })
    .then((reply) => reply.text())
    .catch(() => '');
  const events = text.split(/\r?\n\r?\n/).flatMap((block) => {
    const event = readJson(/^data: ?(.*)$/m.exec(block)?.[1] ?? '');
    return isObject(event) ? [event] : [];
  });
  const response = events.findLast(({ type }) => /^response\.(completed|incomplete|failed)$/.test(String(type)))?.[
    'response'
  ];
  if (!isObject(response)) return undefined;
  // Some tell the items in their own events alone.
  const items = events.filter(({ type }) => type === 'response.output_item.done').map(({ item }) => item);
  return toldIn(items.filter(isObject), response);
}

function isCompleted(told: unknown): boolean {
  return isObject(told) && told['status'] === 'completed';
}

function tellsUsage(told: unknown): boolean {
  return isObject(told) && Array.isArray(told['usage']) && told['usage'].every(Number.isInteger);
}

function toldIn(items: readonly Json[], { status, usage }: Json): Json {
  const { input_tokens: input, output_tokens: output } = isObject(usage) ? usage : {};
  const parts = items.flatMap(({ type, content }) => (type === 'message' && Array.isArray(content) ? content : []));
  return {
    status,
    usage: [input, output],
    text: parts.map((part) => (isObject(part) ? part['text'] : '')).join(''),
    calls: items
      .filter(({ type }) => type === 'function_call')
      .map(({ name, arguments: given }) => [name, readJson(String(given)) ?? given]),
  };
}
