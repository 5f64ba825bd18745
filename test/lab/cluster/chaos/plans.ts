import { answer, finish, text, usageChunk } from '../../../records/chunks.ts';
import type { Script } from '../../../support/backend.ts';
import type { Random } from './random.ts';

const KINDS = ['JSON', 'stream', 'chat JSON', 'chat stream'] as const;
export type Kind = (typeof KINDS)[number];

/** What the client does beside waiting. */
const TWISTS = ['none', 'none', 'none', 'asked at all at once', 'cancelled', 'left'] as const;

/** How the backend ends it. */
const ENDINGS = ['answer', 'slow answer', 'slow answer', 'no usage', 'cut', 'refusal', 'failure'] as const;

/** One request, however often it is sent. */
export interface Plan {
  /** It has this idempotency key, and the backend finds it in the request. */
  readonly name: string;
  readonly kind: Kind;
  readonly twist: (typeof TWISTS)[number];
  readonly ending: (typeof ENDINGS)[number] | 'endless';
  /** How long the backend takes, and when the client cancels or leaves. */
  readonly backendMs: number;
  readonly twistMs: number;
  /** Nobody waits longer than this, not even for a gateway that is paused. */
  readonly patienceMs: number;
}

export function makePlan(name: string, random: Random): Plan {
  const twist = random.pick(TWISTS);
  const isStopped = twist === 'cancelled' || twist === 'left';
  return {
    name,
    kind: random.pick(KINDS),
    twist,
    ending: isStopped && random.happens(0.5) ? 'endless' : random.pick(ENDINGS),
    backendMs: random.between(0, 2500),
    twistMs: random.between(0, 1500),
    patienceMs: random.pick([6000, 6000, 6000, 30_000]),
  };
}

/** The same bytes each time. */
export function toBody({ name, kind }: Plan): object {
  const stream = kind === 'stream' || kind === 'chat stream';
  return isChat(kind)
    ? { model: 'm', messages: [{ role: 'user', content: name }], max_tokens: 100, stream }
    : { model: 'm', input: name, max_output_tokens: 100, stream };
}

export function isChat(kind: Kind): boolean {
  return kind === 'chat JSON' || kind === 'chat stream';
}

/** Which plan a request at the backend belongs to. */
export function nameIn(body: unknown): string {
  return /"(c\d+ r\d+)"/.exec(JSON.stringify(body))?.[1] ?? '';
}

/** The backend's part. */
export function scriptOf({ ending, backendMs, kind }: Plan): Script {
  switch (ending) {
    case 'answer':
      return answer();
    case 'no usage':
      return answer('Hello', 'stop', null);
    case 'slow answer':
      return kind === 'stream' || kind === 'chat stream' ? slowly(backendMs) : late(backendMs, answer());
    case 'cut':
      return late(backendMs / 4, async ({ start, sse, cut }) => {
        start();
        await sse(text('Hello'));
        cut('reset');
      });
    case 'refusal':
      return late(backendMs / 10, ({ start, end }) => {
        start(400, { 'content-type': 'application/json' });
        end('{"error": {"message": "no"}}');
      });
    case 'failure':
      return late(backendMs / 4, ({ start, end }) => {
        start(500);
        end('{}');
      });
    default:
      return async ({ start, sse, hang }) => {
        if (kind === 'stream' || kind === 'chat stream') {
          start();
          await sse(text('Hello'));
        }
        await hang();
      };
  }
}

const PIECES = 10;

function slowly(ms: number): Script {
  return async ({ start, sse, wait, end }) => {
    start();
    for (let piece = 0; piece < PIECES; piece += 1) {
      await sse(text('Hello'));
      await wait(ms / PIECES);
    }
    await sse(finish('stop'), usageChunk, '[DONE]');
    end();
  };
}

function late(ms: number, script: Script): Script {
  return async (stage) => {
    await stage.wait(ms);
    await script(stage);
  };
}
