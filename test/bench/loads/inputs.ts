import type { Ask } from '../dialects.ts';
import { measureAnswers, type Load, type Window } from '../load.ts';

const CONCURRENCY = 4;
const SENTENCE = 'The gateway turns what a client asks into what a backend knows, and back again. ';

/** Inputs as they grow in long conversations, with many tools, or with a picture. */
export function inputLoads(window: Window): Load[] {
  return [
    ...[1, 10, 100, 1000].map((turns) => turnsLoad(turns, window)),
    inputLoad('input with 20 tools', tools(20), window),
    imageLoad(window),
  ];
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
    ],
    async measure(target) {
      const check = (answer: Buffer) => {
        if (!answer.includes('A short answer.')) throw new Error(`the answer lacks its text: ${answer.toString()}`);
      };
      const ask = { script: 'json', body };
      const measured = await measureAnswers({ target, ask, concurrency: CONCURRENCY, window, check });
      return { 'requests/s': measured.perSecond, 'CPU µs per request': measured.cpuMicros };
    },
  };
}

/** A turn is what the user says and what the model answers. */
function conversation(turns: number) {
  const messages = Array.from({ length: turns }, (_, turn) => [
    { role: 'user', content: `${turn}. ${SENTENCE.repeat(2)}` },
    { role: 'assistant', content: `${turn}. ${SENTENCE.repeat(4)}` },
  ]).flat();
  const all = [...messages, { role: 'user', content: 'And now?' }];
  return { responses: { input: all }, chat: { messages: all } };
}

function tools(count: number) {
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

function image(bytes: number) {
  const url = `data:image/png;base64,${Buffer.alloc(bytes, 'a picture').toString('base64')}`;
  const text = 'What is this?';
  return {
    responses: {
      input: [
        {
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
