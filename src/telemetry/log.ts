import type { IncomingMessage, ServerResponse } from 'node:http';
import { pino, type DestinationStream, type Logger } from 'pino';
import { pinoHttp } from 'pino-http';
import type { LogFormat, LogLevel } from '../contract/settings-types.ts';
import { type ErrorCode, codeOf } from '../core/errors.ts';
import { isFault, type RequestEnd, type RequestFacts, type RequestObserver } from './facts.ts';

const MAX_PATH_CHARACTERS = 256;
const MAX_ID_CHARACTERS = 128;
/** That of a key which somebody has put where its id belongs, with the beginning that may be shown. */
const SECRET = /(rgk_\w{6})\w+/g;
const MAX_CAUSES = 3;
/** A reader that has stopped must not block the gateway or fill its memory. */
const MAX_WAITING_BYTES = 4 * 1024 * 1024;

const SERIALIZERS = { err: (error: unknown) => describeError(error) };

/** Returns a logger that writes JSON lines to standard output or to `destination`. */
export function createLogger(level: LogLevel, destination: DestinationStream = openStdout()): Logger {
  return pino({ level, serializers: SERIALIZERS }, destination);
}

/** Returns standard output in this format. `auto` is pretty on a terminal, and JSON otherwise. */
export async function openLogOutput(format: LogFormat): Promise<DestinationStream> {
  const output = openStdout();
  if (format === 'json' || (format === 'auto' && !process.stdout.isTTY)) return output;
  const { prettyFactory } = await import('pino-pretty');
  const toPretty = prettyFactory({
    colorize: process.stdout.isTTY,
    translateTime: 'SYS:HH:MM:ss.l',
    ignore: 'pid,hostname,req,endpoint,status',
    singleLine: true,
    messageFormat: '{if req}{req.method} {req.path} {end}{if status}{status} {end}{msg}',
  });
  return { write: (line) => output.write(toPretty(line)) };
}

/** A disk that is full, or a terminal that is gone, ends nothing: what could not be written is tried again with the next line. */
function openStdout(): DestinationStream {
  const output = pino.destination({ dest: 1, sync: false, maxLength: MAX_WAITING_BYTES });
  const flush = output.flushSync.bind(output);
  let isFailing = false;
  output.on('error', () => (isFailing = true)).on('write', () => (isFailing = false));
  // At the end of the process it would try for ever.
  output.flushSync = () => (isFailing ? undefined : flush());
  return output;
}

/** Gives each request its own logger, as `req.log` and `res.log`. */
export function bindLog(logger: Logger): (req: IncomingMessage, res: ServerResponse) => void {
  return pinoHttp({
    logger,
    autoLogging: false,
    customLogLevel: () => 'silent',
    genReqId: (_req, res) => String(res.getHeader('x-request-id')),
    wrapSerializers: false,
    serializers: { ...SERIALIZERS, req: describeRequest },
  });
}

/**
 * Writes one line per request, without header, query and body: they hold keys and prompts. What is refused for the state of the
 * gateway has one line a second, which says in `repeated` how many others ended like the line before.
 */
export function createRequestLines(nowMs = () => performance.now()): RequestObserver {
  const lately = new Map<ErrorCode, { readonly atMs: number; repeated: number }>();

  return {
    end(facts, end) {
      const { errorCode } = facts;
      let repeated: number | undefined;
      if (errorCode !== undefined && STATES_OF_THE_GATEWAY.has(errorCode)) {
        const last = lately.get(errorCode);
        if (last !== undefined && nowMs() - last.atMs < SAID_EVERY_MS) {
          last.repeated += 1;
          return;
        }
        repeated = last?.repeated;
        lately.set(errorCode, { atMs: nowMs(), repeated: 0 });
      }
      facts.log[levelOf(facts, end)]({ ...describeEnd(facts, end), repeated }, end.outcome);
    },
  };
}

/** They say the same of each request of that moment, and a full disk must not be filled with them. */
const STATES_OF_THE_GATEWAY: ReadonlySet<ErrorCode> = new Set(['store_unavailable', 'server_overloaded']);
const SAID_EVERY_MS = 1000;

/** Callers choose the names of models. */
const MAX_MODELS = 1000;
const MAX_FINISH_CHARACTERS = 64;

/** Writes one line per model, the first time that its answer ends for a reason that is not known. */
export function createFinishLines(): RequestObserver {
  const models = new Set<string>();
  return {
    end({ log, model, upstream: backend, unknownFinish }) {
      if (unknownFinish === undefined || model === undefined || models.has(model)) return;
      models.add(model);
      const [oldest] = models;
      if (models.size > MAX_MODELS && oldest !== undefined) models.delete(oldest);
      const finishReason = unknownFinish.replaceAll(/[^\w .:/-]/g, '').slice(0, MAX_FINISH_CHARACTERS);
      log.warn({ model, backend, finishReason }, 'the backend ended an answer for a reason that is not known');
    },
  };
}

/** Health probes arrive every few seconds, and each orderly stop answers some with 503. */
function levelOf(facts: RequestFacts, end: RequestEnd): 'debug' | 'info' | 'error' {
  if (facts.endpoint === 'health') return end.outcome === 'answered' ? 'debug' : 'info';
  return isFault(facts, end) ? 'error' : 'info';
}

function describeEnd(facts: RequestFacts, end: RequestEnd): object {
  const { firstOutputAtMs, usage, prompt } = facts;
  const broken = prompt?.turn.turn === 'broken' ? prompt.turn : undefined;
  return {
    requestId: end.requestId,
    endpoint: facts.endpoint,
    key: facts.keyPrefix,
    model: facts.model,
    stream: facts.stream,
    backend: facts.upstream,
    status: end.status,
    errorCode: facts.errorCode,
    leftOut: facts.leftOut,
    inputTokens: usage?.input_tokens,
    cachedTokens: usage?.input_tokens_details.cached_tokens,
    turn: prompt?.turn.turn,
    brokenAt: broken?.at,
    brokenBy: broken?.by,
    outputTokens: usage?.output_tokens,
    ms: Math.round(end.durationMs),
    firstOutputMs: firstOutputAtMs === undefined ? undefined : Math.round(firstOutputAtMs - facts.startedAtMs),
    bytes: end.bytes,
  };
}

/** Later the request may have another path and other headers. */
function describeRequest(req: IncomingMessage): object {
  const [path = ''] = (req.url ?? '').split('?', 1);
  return {
    method: req.method,
    path: path.replaceAll(SECRET, '$1…').slice(0, MAX_PATH_CHARACTERS),
    clientId: clientRequestIdOf(req),
  };
}

function clientRequestIdOf(req: IncomingMessage): string | undefined {
  const id = req.headers['x-client-request-id'] ?? req.headers['x-request-id'];
  return typeof id === 'string' ? id.replaceAll(/[^\x21-\x7e]/g, '').slice(0, MAX_ID_CHARACTERS) : undefined;
}

/** The message is left out because it can quote a request. */
function describeError(error: unknown, depth = 0): unknown {
  if (!(error instanceof Error)) return { type: typeof error };
  const { name, message, cause } = error;
  const stack = error.stack ?? '';
  // A stack with an earlier message of the error could quote a request too.
  const start = stack.indexOf(message);
  const lines = start < 0 ? [] : stack.slice(start + message.length).split('\n');
  return {
    type: name,
    code: codeOf(error) || undefined,
    stack: lines.slice(1, 11).map((line) => line.trim()),
    cause: cause === undefined || depth === MAX_CAUSES ? undefined : describeError(cause, depth + 1),
  };
}
