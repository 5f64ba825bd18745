import type { IncomingMessage, ServerResponse } from 'node:http';
import type { RequestHandler } from 'express';
import { pino, type DestinationStream, type Logger } from 'pino';
import { pinoHttp } from 'pino-http';
import type { LogLevel } from '../types/contract.ts';

const MAX_PATH_CHARACTERS = 256;
const MAX_ID_CHARACTERS = 128;
const MAX_CAUSES = 3;
/** Of lines which nobody takes. A reader that has stopped must neither stop the gateway nor fill its memory. */
const MAX_WAITING_BYTES = 4 * 1024 * 1024;

const SERIALIZERS = { err: (error: unknown) => describeError(error) };

/** JSON lines on standard output, or where `destination` says. */
export function createLogger(level: LogLevel, destination?: DestinationStream): Logger {
  const options = { level, serializers: SERIALIZERS };
  return pino(options, destination ?? pino.destination({ dest: 1, sync: false, maxLength: MAX_WAITING_BYTES }));
}

interface Facts {
  readonly bytesBefore: number;
  model?: string;
}

const facts = new WeakMap<ServerResponse, Facts>();

/** Adds the model that was asked for to the line of this request. */
export function noteModel(res: ServerResponse, model: string): void {
  const known = facts.get(res);
  if (known !== undefined) known.model = model;
}

/** One line per request. It names no header, no query and no body, since keys and prompts are in them. */
export function requestLogging(logger: Logger): RequestHandler {
  const log = pinoHttp({
    logger,
    genReqId: (_req, res) => String(res.getHeader('x-request-id')),
    wrapSerializers: false,
    serializers: { ...SERIALIZERS, req: describeRequest },
    customLogLevel: (_req, res) => (res.statusCode >= 500 ? 'error' : 'info'),
    customSuccessMessage: (_req, res) => outcomeOf(res),
    customSuccessObject: describeReply,
    customErrorMessage: (_req, res) => outcomeOf(res),
    customErrorObject: (req, res, _error, values: object) => describeReply(req, res, values),
  });
  return (req, res, next) => {
    facts.set(res, { bytesBefore: req.socket.bytesWritten });
    log(req, res, next);
  };
}

/** Seen when the request comes in: on its way through the program a request is given another path and other headers. */
function describeRequest(req: IncomingMessage): object {
  const [path = ''] = (req.url ?? '').split('?', 1);
  return { method: req.method, path: path.slice(0, MAX_PATH_CHARACTERS), clientId: clientRequestIdOf(req) };
}

/** The id which the client gave its request, so that its own logs and ours can be laid side by side. */
function clientRequestIdOf(req: IncomingMessage): string | undefined {
  const id = req.headers['x-client-request-id'] ?? req.headers['x-request-id'];
  return typeof id === 'string' ? id.replaceAll(/[^\x21-\x7e]/g, '').slice(0, MAX_ID_CHARACTERS) : undefined;
}

function describeReply(req: IncomingMessage, res: ServerResponse, values: { responseTime?: unknown }): object {
  const { bytesBefore = 0, model } = facts.get(res) ?? {};
  return {
    requestId: res.getHeader('x-request-id'),
    status: res.statusCode,
    model,
    bytes: req.socket.bytesWritten - bytesBefore,
    ms: values.responseTime,
  };
}

function outcomeOf(res: ServerResponse): string {
  return res.writableFinished ? 'answered' : 'client gone';
}

/** What we did wrong, for the operator. The message of an error can quote a request, so only its kind and place are told. */
function describeError(error: unknown, depth = 0): unknown {
  if (!(error instanceof Error)) return { type: typeof error };
  const { name, message, cause } = error;
  const stack = error.stack ?? '';
  // A message that was changed later still stands in the stack as it was, so such a stack is not shown.
  const start = stack.indexOf(message);
  const lines = start < 0 ? [] : stack.slice(start + message.length).split('\n');
  return {
    type: name,
    code: 'code' in error && typeof error.code === 'string' ? error.code : undefined,
    stack: lines.slice(1, 11).map((line) => line.trim()),
    cause: cause === undefined || depth === MAX_CAUSES ? undefined : describeError(cause, depth + 1),
  };
}
