import type { IncomingMessage, ServerResponse } from 'node:http';
import type { RequestHandler } from 'express';
import { pino, type DestinationStream, type Logger } from 'pino';
import { pinoHttp } from 'pino-http';
import type { LogLevel } from '../types/contract.ts';

/** JSON lines on standard output, or where `destination` says. */
export function createLogger(level: LogLevel, destination?: DestinationStream): Logger {
  const options = { level, serializers: { err: describeError } };
  return destination === undefined ? pino(options) : pino(options, destination);
}

/** One line per request. It names no header, no query and no body, since keys and prompts are in them. */
export function requestLogging(logger: Logger): RequestHandler {
  return pinoHttp({
    logger,
    quietReqLogger: true,
    quietResLogger: true,
    wrapSerializers: false,
    serializers: {
      req: (req: IncomingMessage) => ({ method: req.method, path: pathOf(req), clientId: clientRequestIdOf(req) }),
      res: (res: ServerResponse) => ({ status: res.statusCode, requestId: res.getHeader('x-request-id') }),
      err: describeError,
    },
    customLogLevel: (_req, res) => (res.statusCode >= 500 ? 'error' : 'info'),
    customSuccessMessage: (_req, res) => (res.writableFinished ? 'answered' : 'client gone'),
    customErrorMessage: () => 'failed',
  });
}

/** What we did wrong, for the operator. The message of an error can quote a request, so only its kind and place are told. */
function describeError(error: unknown): unknown {
  if (!(error instanceof Error)) return { type: typeof error };
  const code = 'code' in error && typeof error.code === 'string' ? error.code : undefined;
  const frames = (error.stack ?? '').split('\n').filter((line) => line.startsWith('    at '));
  return { type: error.name, code, stack: frames.slice(0, 10).map((line) => line.trim()) };
}

function pathOf(req: IncomingMessage): string {
  return (
    (('originalUrl' in req && typeof req.originalUrl === 'string' ? req.originalUrl : req.url) ?? '').split(
      '?',
      1,
    )[0] ?? ''
  );
}

/** The id which the client gave its request, so that its own logs and ours can be laid side by side. */
function clientRequestIdOf(req: IncomingMessage): string | undefined {
  const id = req.headers['x-client-request-id'] ?? req.headers['x-request-id'];
  return typeof id === 'string' ? id.replaceAll(/[^\x21-\x7e]/g, '').slice(0, 128) : undefined;
}
