import type { Ask } from '../dialects.ts';
import { measureAnswers, type Load, type Window } from '../load.ts';

const CONCURRENCY = 4;
const SENTENCE = 'The gateway turns what a client asks into what a backend knows, and back again. ';

export const PER_BYTE = 'CPU ns per byte';
export const PARSE = 'parse + stringify: CPU ns per byte';
/** In bytes. */
export const SIZES = [4_000, 40_000, 400_000, 4_000_000];

/** Inputs as they grow in long conversations, with many tools, or with a picture. */
export function inputLoads(window: Window): Load[] {
  return [
    ...[1, 10, 100, 1000].map((turns) => turnsLoad(turns, window)),
    inputLoad('input with 20 tools', tools(20), window),
    imageLoad(window),
  ];
}

/** Conversations of so many bytes, beside the least that one can do with them: parse them and write them again. */
export function sizeLoads(window: Window): Load[] {
  return SIZES.map((bytes) => inputLoad(sizeName(bytes), history(bytes), window));
}

export function sizeName(bytes: number): string {
  return `input of ${showBytes(bytes)}`;
}

export function showBytes(bytes: number): string {
  return bytes < 1e6 ? `${bytes / 1e3} kB` : `${bytes / 1e6} MB`;
}

export function turnsLoad(turns: number, window: Window): Load {
  return inputLoad(turnsName(turns), conversation(turns), window);
}

export function imageLoad(window: Window): Load {
  return inputLoad('input with an image of 5 MB', image(5_000_000), window);
}

/** How the load with so many turns is called. */
export function turnsName(turns: number): string {
  return `input of ${turns} ${turns === 1 ? 'turn' : 'turns'}`;
}

function inputLoad(name: string, body: NonNullable<Ask['body']>, window: Window): Load {
  return {
    name,
    columns: [
      { figure: 'requests/s', beside: '× http-proxy' },
      { figure: 'CPU µs per request', beside: '× http-proxy' },
      { figure: PER_BYTE },
      { figure: '× parse + stringify' },
    ],
    async measure(target) {
      const check = (answer: Buffer) => {
        if (!answer.includes('A short answer.')) throw new Error(`the answer lacks its text: ${answer.toString()}`);
      };
      const ask = { script: 'json', body };
      const measured = await measureAnswers({ target, ask, concurrency: CONCURRENCY, window, check });
      const text = JSON.stringify(body[target.dialect]);
      const leastMicros = parseAndStringify(text);
      return {
        'requests/s': measured.perSecond,
        'CPU µs per request': measured.cpuMicros,
        [PER_BYTE]: (1000 * measured.cpuMicros) / text.length,
        [PARSE]: (1000 * leastMicros) / text.length,
        '× parse + stringify': measured.cpuMicros / leastMicros,
      };
    },
  };
}

const LEAST_MICROS = 20_000;

/** In microseconds of CPU. */
function parseAndStringify(text: string): number {
  const startMicros = process.threadCpuUsage().user;
  let usedMicros = 0;
  let times = 0;
  while (usedMicros < LEAST_MICROS) {
    JSON.stringify(JSON.parse(text));
    times += 1;
    usedMicros = process.threadCpuUsage().user - startMicros;
  }
  return usedMicros / times;
}

const TURN_BYTES = JSON.stringify(conversation(1).responses).length;

/** A conversation of about so many bytes, however long each turn has to be: no request may have too many items. */
export function history(bytes: number) {
  const turns = Math.min(MAX_TURNS, Math.ceil(bytes / TURN_BYTES));
  return conversation(turns, bytes / turns / TURN_BYTES);
}

const MAX_TURNS = 2000;

/** A turn is what the user says and what the model answers. */
function conversation(turns: number, longer = 1) {
  const messages = Array.from({ length: turns }, (_, turn) => [
    { role: 'user', content: `${turn}. ${SENTENCE.repeat(2 * longer)}` },
    { role: 'assistant', content: `${turn}. ${SENTENCE.repeat(4 * longer)}` },
  ]).flat();
  const all = [...messages, { role: 'user', content: 'And now?' }];
  return { responses: { input: all.map((message) => ({ type: 'message', ...message })) }, chat: { messages: all } };
}

export function tools(count: number) {
  const functions = Array.from({ length: count }, (_, index) => ({
    name: `tool_${index}`,
    description: SENTENCE.repeat(3),
    parameters: {
      type: 'object',
      properties: Object.fromEntries(
        ['path', 'pattern', 'mode', 'reason'].map((name) => [name, { type: 'string', description: SENTENCE }]),
      ),
      required: ['path'],
      additionalProperties: false,
    },
  }));
  return {
    responses: { input: 'Use a tool.', tools: functions.map((tool) => ({ type: 'function', ...tool })) },
    chat: {
      messages: [{ role: 'user', content: 'Use a tool.' }],
      tools: functions.map((tool) => ({ type: 'function', function: tool })),
    },
  };
}

export function image(bytes: number) {
  const url = `data:image/png;base64,${Buffer.alloc(bytes, 'a picture').toString('base64')}`;
  const text = 'What is this?';
  return {
    responses: {
      input: [
        {
          type: 'message',
          role: 'user',
          content: [
            { type: 'input_text', text },
            { type: 'input_image', image_url: url },
          ],
        },
      ],
    },
    chat: {
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text },
            { type: 'image_url', image_url: { url } },
          ],
        },
      ],
    },
  };
}
