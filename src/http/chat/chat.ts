import type { IncomingHttpHeaders } from 'node:http';
import type { RequestHandler, Response } from 'express';
import { isLimited, needsOutputLimit } from '../../accounts/admission.ts';
import type { RelayedAnswer, RelayedRefusal } from '../../backend/chat.ts';
import type { Dialect } from '../../core/dialects.ts';
import { checkModelSuffix, checkServiceTier } from '../../core/request/refused-fields.ts';
import { inputSizeOf } from '../../core/tokens/input-size.ts';
import type { Incoming } from '../../requests/incoming.ts';
import { relayChat, type ChatPlan, type RelayedReply, type RelayServices } from '../../requests/relay.ts';
import { validateCreateChatCompletion } from '../../requests/validate.ts';
import { readIncoming } from '../incoming.ts';
import type { ModelAliases } from '../passthrough/models.ts';
import { towardsClient, wishesOf } from '../passthrough/relay-headers.ts';
import { asksForUsage, changeBody, findFields, limitOf } from './chat-body.ts';
import { openRelayedReply, openRelayedStream } from './relayed-reply.ts';

export interface ChatCompletionOptions {
  readonly modelAliases: ModelAliases;
  readonly dialect: Pick<Dialect, 'tokenLimitField'>;
  readonly defaultMaxOutputTokens: number;
  readonly publicBaseUrl: string | null;
  readonly maxBodyBytes: number;
  readonly clientStallMs: number;
}

/** `POST /v1/chat/completions` in `managed` mode. */
export function createChatCompletion(services: RelayServices & ChatCompletionOptions): RequestHandler {
  return async (req, res) => {
    const incoming = await readIncoming(req, res, services);
    const plan = toPlan(req.headers, incoming, services);
    const openReply = (answer: RelayedAnswer, signal: AbortSignal): RelayedReply =>
      openRelay(res, answer, { signal, stallMs: services.clientStallMs });
    await relayChat({ ...incoming, openReply, sendRefusal: (refusal) => sendRefusal(res, refusal) }, plan, services);
  };
}

/** Throws the ApiError of a request that is not valid, or that its key may not make. */
export function toPlan(
  headers: IncomingHttpHeaders,
  { caller, body: { bytes, value } }: Incoming,
  options: Pick<ChatCompletionOptions, 'modelAliases' | 'dialect' | 'defaultMaxOutputTokens'>,
): ChatPlan {
  const wanted = validateCreateChatCompletion(value);
  const hasLimits = isLimited(caller.key);
  const fields = findFields(bytes, { isLimited: hasLimits });
  if (hasLimits) {
    checkModelSuffix(wanted.model);
    checkServiceTier(wanted.service_tier);
  }
  const model = options.modelAliases.get(wanted.model);
  const stream = wanted.stream === true;
  const named = limitOf(wanted);
  // What is reserved bounds what runs.
  const isEndless = named === null || named <= 0;
  const tokens = isEndless && needsOutputLimit(caller.key) ? options.defaultMaxOutputTokens : named;
  const limit = hasLimits ? { name: options.dialect.tokenLimitField, tokens } : undefined;
  return {
    endpoint: 'chat.completions',
    model: wanted.model,
    backendModel: model ?? wanted.model,
    stream,
    inputSize: inputSizeOf(wanted),
    maxOutputTokens: tokens !== null && tokens > 0 ? tokens : null,
    choices: wanted.n ?? 1,
    request: {
      model: model ?? wanted.model,
      stream,
      canAskForUsage: stream && !asksForUsage(wanted),
      body: (withUsage) => changeBody(bytes, fields, { model, limit, asksForUsage: withUsage }),
    },
    headers: { ...wishesOf(headers), ...caller.backendHeaders },
  };
}

function openRelay(
  res: Response,
  { status, headers, isEventStream }: RelayedAnswer,
  client: { readonly signal: AbortSignal; readonly stallMs: number },
): RelayedReply {
  const open = isEventStream ? openRelayedStream : openRelayedReply;
  return open(res, { status, headers: towardsClient(headers, 'gateway'), ...client });
}

function sendRefusal(res: Response, { status, headers, body, error }: RelayedRefusal): void {
  // What the gateway knows of the record counts more than what the backend says.
  const retry = res.getHeader('x-should-retry') ?? error.headers['x-should-retry'];
  const decided = retry === undefined ? {} : { 'x-should-retry': retry };
  res.writeHead(status, { ...towardsClient(headers, 'gateway'), ...decided, 'content-length': body.length }).end(body);
}
