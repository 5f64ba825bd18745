import type { RequestId } from '../contract/ids.ts';
import { ERRORS, toApiError, type ApiError } from '../core/errors.ts';
import { lazily } from '../core/lazily.ts';
import type { Translator } from '../core/reply/translator.ts';
import type { Authenticated, Credentials } from '../access/authenticate.ts';
import { countEnd, limitOr, type RequestToCount } from '../access/limit-rate.ts';
import type { Share } from '../access/shares.ts';
import type { AccessServices } from '../access/services.ts';
import type { RequestServices } from '../requests/open.ts';
import { noteCaller } from '../telemetry/facts.ts';
import type { CallerBody } from '../requests/incoming.ts';
import type { Past } from '../requests/preparation/frame.ts';
import { respond } from '../requests/respond.ts';
import type { Frame } from './connection.ts';
import type { FrameReply } from './frame-reply.ts';
import { refuseOthers, tooLarge } from './frames.ts';
import type { History } from './history.ts';

export interface ServeFrameOptions extends RequestServices, AccessServices {
  readonly maxBodyBytes: number;
  readonly headerHoldMs: number;
  readonly keepaliveEventMs: number;
}

export interface ConnectionContext {
  readonly credentials: Credentials;
  readonly history: History;
}

/**
 * Answers one frame as HTTP does. The key is checked for each frame, since it can be revoked
 * meanwhile. Throws the ApiError of a failure that has not been sent.
 */
export async function serveFrame(
  { bytes, isBinary, share }: Frame,
  reply: FrameReply,
  { credentials, history }: ConnectionContext,
  options: ServeFrameOptions,
): Promise<void> {
  const { facts } = reply;
  const authenticated = await options.authenticator(credentials);
  const { caller } = authenticated;
  const { key } = caller;
  noteCaller(facts, caller);
  const mayRepeat = key !== undefined && bytes.includes('idempotency_key');
  try {
    // A duplicate is answered at any time. `generate: false` needs no tokens.
    if (mayRepeat) options.rateLimits?.checkRepeats(key);
    else if (key !== undefined) options.rateLimits?.check(key, bytes.includes('generate') ? 0 : 1);
    refuseOthers(bytes, isBinary);
    await serveCreate({ ...reply, caller, body: { bytes } }, { history, share }, options);
    const status = reply.status() ?? ERRORS.client_disconnected.status;
    noteEnd(authenticated, { status, mayRepeat, facts }, options.rateLimits);
  } catch (thrown) {
    const error = mayRepeat ? limitOr(thrown, key, { rateLimits: options.rateLimits, facts }) : thrown;
    const { status, code: errorCode } = toApiError(error);
    const { backend, model } = facts;
    noteEnd(authenticated, { status, mayRepeat, facts: { backend, model, errorCode } }, options.rateLimits);
    throw error;
  }
}

/** Counts a message that could not be read, as HTTP counts a body. */
export async function countUnread(
  { status, code: errorCode }: ApiError,
  credentials: Credentials,
  { authenticator, rateLimits }: ServeFrameOptions,
): Promise<void> {
  const facts = { backend: 'not asked', model: undefined, errorCode } as const;
  noteEnd(await authenticator(credentials), { status, mayRepeat: false, facts }, rateLimits);
}

function noteEnd(
  { caller: { key }, noteReply }: Authenticated,
  ended: RequestToCount,
  rateLimits: ServeFrameOptions['rateLimits'],
): void {
  noteReply?.({ status: ended.status, backend: ended.facts.backend });
  if (key !== undefined && rateLimits !== undefined) countEnd(rateLimits, key, ended);
}

/** Cancels as over HTTP, but also a request of which there is no record yet. */
export async function cancelRequest(
  requestId: RequestId,
  credentials: Credentials,
  { authenticator, store, running }: Pick<ServeFrameOptions, 'authenticator' | 'store' | 'running'>,
): Promise<void> {
  const { caller } = await authenticator(credentials);
  const asking = store.requestCancel(caller.identity, requestId);
  await running.cancelIf(
    requestId,
    asking.then((asked) => asked?.kind !== 'final'),
  );
}

interface Conversation {
  readonly history: History;
  readonly share: Share;
}

type IncomingFrame = FrameReply & CallerBody;

async function serveCreate(
  incoming: IncomingFrame,
  { history, share }: Conversation,
  options: ServeFrameOptions,
): Promise<void> {
  const frame = await options.preparation.frame(incoming);
  const { isWarmUp, previousResponseId, idempotencyKey } = frame;
  const made: { translator?: Translator } = {};
  const past = lazily(() => (previousResponseId === undefined ? undefined : recall(previousResponseId)));
  try {
    await respond(
      {
        ...incoming,
        isWarmUp,
        idempotencyKey,
        ...(previousResponseId !== undefined && { continues: { responseId: previousResponseId } }),
        endpoint: 'responses',
        prepare: async (backend) => frame.prepare(past(), backend),
        keep: ({ responseId, turns, continues }) => history.set(responseId, turns, continues),
        openReply(translator, { echo }, signal) {
          made.translator = translator;
          return {
            headerHoldMs: options.headerHoldMs,
            open: () => incoming.openStream({ translator, echo, signal, eventMs: options.keepaliveEventMs }),
          };
        },
      },
      options,
    );
    // A duplicate has changed nothing.
    if ((made.translator?.failure ?? null) !== null) history.delete(previousResponseId);
  } catch (error) {
    // A failed continuation drops the history.
    history.delete(previousResponseId);
    throw error;
  }

  function recall(responseId: string): Past {
    const found = options.itemMemory.recallResponse(incoming.caller.identity, responseId) ?? history.get(responseId);
    if (incoming.body.bytes.length + found.bytes > options.maxBodyBytes) throw tooLarge(options.maxBodyBytes);
    share.take(found.bytes);
    return found;
  }
}
