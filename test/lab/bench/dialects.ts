/** What is asked in either format, and what a whole stream of it looks like. */
export type Dialect = 'responses' | 'chat';

/** The script that the backend shall play (backend.ts) goes as the model, which every target passes on as it is. */
export interface Ask {
  readonly script: string;
  readonly stream?: boolean;
  /** What else the body has, in the format of the target. */
  readonly body?: Readonly<Record<Dialect, object>>;
}

const PATHS = { responses: '/api/v1/responses', chat: '/v1/chat/completions' } as const;
const SHORT_INPUT = {
  responses: { input: 'A short question.' },
  chat: { messages: [{ role: 'user', content: 'A short question.' }] },
};
/** Of text, reasoning and arguments. The first chunk of a chat has no more than the beginning of one. */
const DELTAS = { responses: /^event: .*\.delta$/gm, chat: /"delta":\{"(?!role)/g } as const;
const ENDS = { responses: /^event: response\.completed$/m, chat: /"finish_reason":"(?:stop|tool_calls)"/ } as const;
const STAMPS = {
  responses: /"delta":" @([\d.]+)"/g,
  chat: /"content":" @([\d.]+)"/g,
} as const;

/** Whom to ask, and as whom. */
export interface Asked {
  readonly dialect: Dialect;
  readonly apiKey: string;
}

/** The bytes of a request, with its head. */
export function toRequest({ dialect, apiKey }: Asked, { script, stream = false, body = SHORT_INPUT }: Ask): Buffer {
  const text = JSON.stringify({
    model: script,
    ...(stream && { stream, ...(dialect === 'chat' && { stream_options: { include_usage: true } }) }),
    ...body[dialect],
  });
  return toPost(PATHS[dialect], apiKey, text);
}

/** The bytes of any POST to a target. */
function toPost(path: string, apiKey: string, body = ''): Buffer {
  return Buffer.from(
    `POST ${path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${apiKey}\r\ncontent-type: application/json\r\n` +
      `content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
}

/** Looks at a stream as it comes. Keeps what is not a whole event yet, and nothing else. */
export interface StreamReader {
  /** Returns the times which the backend wrote into the deltas that are whole with this piece. */
  read(piece: Buffer): number[];
  /** Throws when the stream was not whole: another number of deltas, no terminal event, or no end. */
  expectWhole(deltas: number): void;
}

export function createStreamReader(dialect: Dialect): StreamReader {
  let rest = '';
  let deltas = 0;
  let isTerminated = false;
  let isOver = false;
  return {
    read(piece) {
      const text = rest + piece.toString('latin1');
      const end = text.lastIndexOf('\n\n') + 2;
      if (end < 2) {
        rest = text;
        return [];
      }
      const events = text.slice(0, end);
      rest = text.slice(end);
      deltas += events.match(DELTAS[dialect])?.length ?? 0;
      isTerminated ||= ENDS[dialect].test(events);
      isOver = events.endsWith('data: [DONE]\n\n');
      return Array.from(events.matchAll(STAMPS[dialect]), ([, stamp]) => Number(stamp));
    },
    expectWhole(expected) {
      if (deltas !== expected) throw new Error(`a stream had ${deltas} deltas instead of ${expected}`);
      if (!isTerminated) throw new Error('a stream had no terminal event');
      if (!isOver || rest !== '') throw new Error('a stream did not end with [DONE]');
    },
  };
}
