/** A chat backend without a socket: what undici would send goes to scripts, whose steps the simulation takes. */

import { Pool, type Dispatcher } from 'undici';
import { ENDINGS, type Ending, type Script } from './steps.ts';

/** How the backend finds the request that it is asked for. */
export const LIFE_HEADER = 'x-life';

export interface Call {
  readonly life: number;
  /** The backend that is asked. */
  readonly backend: string;
  /** Undefined where it only refuses a field. */
  readonly ending: Ending | undefined;
  readonly startedAtMs: number;
  endedAtMs: number | undefined;
  /** Something of an answer has come. */
  hasBegun: boolean;
  /** It has said what was used. */
  hasReported: boolean;
  /** The gateway has given it up before it refused. */
  wasCut: boolean;
  /** When it said with its status that it refuses. */
  refusedAtMs: number | undefined;
  /** The words of its refusal have come. */
  hasExplained: boolean;
  /** It has said that it fails, or has broken. */
  hasFailed: boolean;
  /** It has said all that it had to say, to somebody who waited for it. */
  isWhole: boolean;
  /** Whether anything can have been generated for it. */
  mayHaveRun: boolean;
  isOver: boolean;
  /** Breaks its connection, as the end of its process does. */
  cut(): void;
}

export interface BackendOptions {
  readonly scriptOf: (life: number) => Script;
  /** Whether there are several, so that a 503 says that nothing has run. */
  readonly areSeveral: boolean;
  readonly nowMs: () => number;
  /** Whether the process that asks for this request is still there. */
  readonly isAlive: (life: number) => boolean;
  /** The backend is being asked. */
  readonly onAsked: (life: number) => void;
  /** Adds what may happen next to this request. Returns what takes it back. */
  readonly pend: (life: number, what: string, go: () => void) => () => void;
}

interface Move {
  readonly what: string;
  readonly go: (handler: Dispatcher.DispatchHandler, controller: Dispatcher.DispatchController) => void;
}

/** Takes the place of every connection of this process to a backend. Returns the calls and what ends it. */
export function playBackend(options: BackendOptions): { readonly calls: readonly Call[]; readonly end: () => void } {
  const calls: Call[] = [];
  Pool.prototype.dispatch = (request, handler) => {
    const life = Number((request.headers as Readonly<Record<string, string>>)[LIFE_HEADER]);
    const tries = calls.filter((call) => call.life === life && call.ending !== undefined).length;
    const asked = { life, tries, backend: request.path.split('/')[1] ?? '', body: request.body as string | Buffer };
    if (options.isAlive(life)) {
      options.onAsked(life);
      calls.push(play(asked, handler, options));
    }
    return true;
  };
  return { calls, end: () => void Reflect.deleteProperty(Pool.prototype, 'dispatch') };
}

interface AskedCall extends Pick<Call, 'life' | 'backend'> {
  readonly tries: number;
  readonly body: string | Buffer;
}

function play(
  { life, backend, tries, body }: AskedCall,
  handler: Dispatcher.DispatchHandler,
  options: BackendOptions,
): Call {
  const asked = JSON.parse(body.toString()) as { readonly stream?: boolean; readonly stream_options?: object };
  const script = options.scriptOf(life);
  const isRefused = script.refusesField && asked.stream_options !== undefined;
  const ending = tries === 0 ? script.ending : script.next;
  const moves = isRefused
    ? refuse(400, 'Unknown parameter: stream_options')
    : movesOf({ ...script, ending }, asked.stream === true);
  const runs = !isRefused && !NOTHING_RUNS.has(ending) && !(options.areSeveral && ending === 'answers 503');
  let takeBack = (): void => undefined;
  let isPaused = false;

  const call: Call = {
    life,
    backend,
    ending: isRefused ? undefined : ending,
    startedAtMs: options.nowMs(),
    endedAtMs: undefined,
    hasBegun: false,
    hasReported: false,
    wasCut: false,
    refusedAtMs: undefined,
    hasExplained: false,
    hasFailed: false,
    isWhole: false,
    mayHaveRun: false,
    isOver: false,
    cut() {
      takeBack();
      noteCut();
      end();
    },
  };
  // Who gives up a connection that is still being made cannot tell it so.
  (handler as unknown as { readonly opened: Promise<unknown> }).opened.catch(noteCut);
  const controller = {
    aborted: false,
    paused: false,
    reason: null,
    rawHeaders: null,
    rawTrailers: null,
    abort(reason: Error) {
      if (call.isOver) return;
      call.cut();
      handler.onResponseError?.(controller, reason);
    },
    pause() {
      isPaused = true;
      takeBack();
    },
    resume() {
      if (!isPaused) return;
      isPaused = false;
      next();
    },
  } as unknown as Dispatcher.DispatchController;

  function noteCut(): void {
    if (!call.isOver && call.refusedAtMs === undefined) call.wasCut = true;
  }

  function end(): void {
    call.isOver = true;
    call.endedAtMs ??= options.nowMs();
  }

  function next(): void {
    takeBack();
    const [move] = moves;
    if (move === undefined || call.isOver || isPaused) return;
    const name = options.areSeveral ? `backend ${backend}` : 'backend';
    takeBack = options.pend(life, `the ${name} ${move.what} r${life}`, () => {
      moves.shift();
      if (runs) call.mayHaveRun = true;
      if (ANSWERS.has(move.what)) call.hasBegun = true;
      if (script.usage && REPORTS.has(move.what)) call.hasReported = true;
      if (/^answers [45]/.test(move.what)) call.refusedAtMs = options.nowMs();
      if (move.what === EXPLAINS) call.hasExplained = true;
      if (call.refusedAtMs !== undefined || FAILS.has(move.what)) call.hasFailed = true;
      if (moves.length === 0 && (isRefused || ending !== 'goes silent')) {
        call.isWhole = !call.wasCut;
        end();
      }
      move.go(handler, controller);
      next();
    });
  }

  moves.unshift({ what: 'takes', go: () => undefined });
  if (ending === 'is not there' && !isRefused) moves.shift();
  else handler.onRequestStart?.(controller, {});
  next();
  return call;
}

const EXPLAINS = 'explains the refusal of';

/** JSON is not told before it is whole. */
const ANSWERS = new Set(['sends a word of', 'sends the finish reason of', 'sends all of']);

const FAILS = new Set(['says an error to', 'breaks', 'closes on', 'is not there for']);

const REPORTS = new Set(['sends the last words of', 'sends the rest of', 'sends all of']);

const NOTHING_RUNS = new Set<Script['ending']>(['answers 400', 'answers 401', 'answers 429', 'is not there']);

function movesOf(script: Script, isStream: boolean): Move[] {
  const { ending, pieces, usage, isInOnePiece } = script;
  const end = ENDINGS[ending];
  if (typeof end === 'number') return refuse(end, 'no');
  if (ending === 'is not there') return [broken('is not there for', 'ECONNREFUSED')];
  if (ending === 'closes without an answer') return [broken('closes on', 'UND_ERR_SOCKET')];
  if (ending === 'says an error instead')
    return isStream
      ? [begin('text/event-stream'), send('says an error to', 'data: {"error": {"message": "no memory"}}\n\n'), over()]
      : [begin('application/json'), send('says an error to', '{"error": {"message": "no memory"}}'), over()];
  const words = Array.from({ length: pieces }, (_, index) => `word ${index} `);
  if (!isStream) {
    const message = { role: 'assistant', content: words.join('') };
    const completion = { choices: [{ index: 0, message, finish_reason: end }], ...(usage && { usage: USAGE }) };
    const json = JSON.stringify(completion);
    const half = send('sends half of', json.slice(0, 40));
    if (ending === 'goes silent') return [begin('application/json'), half];
    if (ending === 'breaks off') return [begin('application/json'), half, broken('breaks', 'UND_ERR_SOCKET')];
    return [begin('application/json'), half, send('sends the rest of', json.slice(40)), over()];
  }
  const spoken = words.map((content) => chunkOf({ content }, null));
  const moves = [begin('text/event-stream'), ...spoken.map((text) => send('sends a word of', text))];
  if (ending === 'goes silent') return moves;
  if (ending === 'breaks off') return [...moves, broken('breaks', 'UND_ERR_SOCKET')];
  const finish = chunkOf({}, end ?? null);
  const last = `${usage ? `data: ${JSON.stringify({ choices: [], usage: USAGE })}\n\n` : ''}data: [DONE]\n\n`;
  if (isInOnePiece)
    return [begin('text/event-stream'), send('sends all of', [...spoken, finish, last].join('')), over()];
  return [...moves, send('sends the finish reason of', finish), send('sends the last words of', last), over()];
}

export const USAGE = { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 };

function refuse(status: number, message: string): Move[] {
  return [begin('application/json', status), send(EXPLAINS, JSON.stringify({ error: { message } })), over()];
}

function begin(contentType: string, status = 200): Move {
  return {
    what: `answers ${status} to`,
    go: (handler, controller) =>
      handler.onResponseStart?.(controller, status, { 'content-type': contentType }, String(status)),
  };
}

function send(what: string, text: string): Move {
  return { what, go: (handler, controller) => handler.onResponseData?.(controller, Buffer.from(text)) };
}

function chunkOf(delta: object, finish_reason: string | null): string {
  return `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason }] })}\n\n`;
}

function over(): Move {
  return { what: 'ends', go: (handler, controller) => handler.onResponseEnd?.(controller, {}) };
}

function broken(what: string, code: string): Move {
  return {
    what,
    go: (handler, controller) => handler.onResponseError?.(controller, Object.assign(new Error(code), { code })),
  };
}
