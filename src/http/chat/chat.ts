/** Chat completions whose use is counted: the bytes are the client's and the backend's own, the records are ours. */

import type { Request, RequestHandler, Response } from 'express';
import { isLimited } from '../../accounts/admission.ts';
import type { ChatRelay, RelayAnswer, RelayRequest } from '../../backend/chat.ts';
import { createChatMeter } from '../../core/reply/chat-meter.ts';
import type { Dialect } from '../../core/dialects.ts';
import { toApiError } from '../../core/errors.ts';
import { inputSizeOf } from '../../core/tokens/estimate.ts';
import { checkServiceTier } from '../../core/request/refused-fields.ts';
import type { AcceptedRequest, ServeAccepted, Submission } from '../../requests/accept.ts';
import { callerOf } from '../access/authenticate.ts';
import { httpClient } from '../responses/client.ts';
import { readJsonBody } from '../body/body.ts';
import { asksForUsage, changeBody, findFields, limitOf } from './chat-body.ts';
import { parseIdempotencyKey } from '../../requests/idempotency-key.ts';
import type { ModelAliases } from '../passthrough/models.ts';
import { towardsClient, wishesOf } from '../passthrough/relay-headers.ts';
import { openRelayedReply, openRelayedStream, type RelayedReply } from './relayed-reply.ts';
import { factsOf, noteBackendCall, noteRead } from '../../requests/facts.ts';
import type { RunningRequest } from '../../requests/running.ts';
import { validateCreateChatCompletion } from '../../requests/validate.ts';

export interface ChatCompletionOptions {
  readonly relay: ChatRelay;
  readonly serveAccepted: ServeAccepted;
  readonly modelAliases: ModelAliases;
  readonly dialect: Pick<Dialect, 'tokenLimitField'>;
  readonly publicBaseUrl: string | null;
  readonly maxBodyBytes: number;
  readonly clientStallMs: number;
}

interface Job {
  readonly submission: Submission;
  readonly request: RelayRequest;
  readonly headers: Readonly<Record<string, string>>;
}

/** `POST /v1/chat/completions`: accept, or answer the duplicate; pass on the request, then the answer; settle. */
export function createChatCompletion(options: ChatCompletionOptions): RequestHandler {
  return async (req, res) => {
    const job = await readJob(req, res, options);
    const client = httpClient(req, res, options.publicBaseUrl);
    await options.serveAccepted(client, job.submission, (accepted) => perform(job, accepted, res, options));
  };
}

async function readJob(req: Request, res: Response, options: ChatCompletionOptions): Promise<Job> {
  const caller = callerOf(res);
  const idempotencyKey = parseIdempotencyKey(req.headers['idempotency-key']);
  const { bytes, value } = await readJsonBody(req, { maxBytes: options.maxBodyBytes });
  const wanted = validateCreateChatCompletion(value);
  const hasLimits = isLimited(caller.key);
  const fields = findFields(bytes, { isLimited: hasLimits });
  if (hasLimits) checkServiceTier(wanted.service_tier);
  const model = options.modelAliases.get(wanted.model);
  const stream = wanted.stream === true;
  const tokens = limitOf(wanted);
  const limit = hasLimits ? { name: options.dialect.tokenLimitField, tokens } : undefined;
  return {
    submission: {
      caller,
      endpoint: 'chat.completions',
      model: wanted.model,
      backendModel: model ?? wanted.model,
      stream,
      body: bytes,
      idempotencyKey,
      inputSize: inputSizeOf(wanted, bytes.length),
      maxOutputTokens: tokens !== null && tokens > 0 ? tokens : null,
      choices: wanted.n ?? 1,
    },
    request: {
      stream,
      canAskForUsage: stream && !asksForUsage(wanted),
      body: (withUsage) => changeBody(bytes, fields, { model, asksForUsage: withUsage, limit }),
    },
    headers: { ...wishesOf(req.headers), ...caller.backendHeaders },
  };
}

async function perform(
  job: Job,
  { run, settle }: AcceptedRequest,
  res: Response,
  options: ChatCompletionOptions,
): Promise<void> {
  const { signal } = run;
  const facts = factsOf(res);
  const meter = createChatMeter(job.submission.choices);
  let reply: RelayedReply | undefined;
  try {
    const headers = { ...job.headers, ...noteBackendCall(facts) };
    const answer = await options.relay.relay(job.request, { signal, headers });
    await whenDecided(run);
    if (answer.kind === 'refused') {
      observe(() => meter.fail(answer.error));
      sendRefusal(res, answer);
      return;
    }
    facts.backend = 'answered';
    reply = openReply(answer);
    for await (const { bytes, chunks, done, failure } of answer.reads) {
      await whenDecided(run);
      observe(() => {
        for (const chunk of chunks) meter.feed(chunk);
        noteRead(facts, chunks.length, meter.hasOutput);
        if (failure !== undefined) meter.fail(failure);
        else if (done) meter.end(true);
      });
      // Waits for a client that reads slowly, which in turn slows the backend down.
      await reply.write(bytes);
    }
    observe(() => meter.end(false));
    reply.end();
  } catch (thrown) {
    await run.cancelDecided;
    const error = toApiError(signal.aborted ? signal.reason : thrown);
    if (error.code === 'internal_error') res.log.error({ err: thrown }, 'the gateway failed');
    const wasOver = meter.ended;
    observe(() => meter.fail(error));
    if (reply === undefined) throw error;
    if (wasOver) reply.end();
    else reply.fail(error);
  }

  /** The record is final before the client can know of the end. */
  function observe(step: () => void): void {
    const wasOver = meter.ended;
    step();
    if (!wasOver && meter.ended) settle(meter);
  }

  function openReply({ status, headers, isEventStream }: Answered): RelayedReply {
    const open = isEventStream ? openRelayedStream : openRelayedReply;
    return open(res, { status, headers: towardsClient(headers, 'gateway'), signal, stallMs: options.clientStallMs });
  }
}

type Answered = Extract<RelayAnswer, { kind: 'answered' }>;
type Refused = Extract<RelayAnswer, { kind: 'refused' }>;

/** A request does not end by itself while somebody has asked for its cancel. Throws the reason when it is cancelled. */
async function whenDecided({ cancelDecided, signal }: RunningRequest): Promise<void> {
  if (cancelDecided === undefined) return;
  await cancelDecided;
  signal.throwIfAborted();
}

function sendRefusal(res: Response, { status, headers, body, error }: Refused): void {
  const retry = error.headers['x-should-retry'];
  if (retry !== undefined) res.setHeader('x-should-retry', retry);
  res.writeHead(status, { ...towardsClient(headers, 'gateway'), 'content-length': body.length }).end(body);
}
