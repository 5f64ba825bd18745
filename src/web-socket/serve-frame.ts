import type { RequestId } from '../contract/ids.ts';
import { toApiError } from '../core/errors.ts';
import { isObject } from '../core/json.ts';
import type { Translator } from '../core/reply/translator.ts';
import type { ResponseEvent } from '../contract/types.ts';
import type { Authenticator, Credentials } from '../http/access/authenticate.ts';
import { isUncounted } from '../http/access/limit-rate.ts';
import type { Share } from '../http/access/shares.ts';
import { createStreamReply } from '../http/responses/reply.ts';
import type { Services } from '../http/services.ts';
import type { Caller, Reply, ReplyGate } from '../requests/incoming.ts';
import { findDuplicate } from '../requests/accept.ts';
import { respond, type RespondServices } from '../requests/respond.ts';
import { refuseWhileDraining } from '../requests/running.ts';
import { sendDuplicate } from '../requests/show-record.ts';
import { validateCreateResponse } from '../requests/validate.ts';
import type { Frame } from './connection.ts';
import type { FrameReply } from './frame-reply.ts';
import { checkOutputs, inputItemsOf, readCreateFrame, tooLarge, withoutHistory, type CreateFrame } from './frames.ts';
import type { History } from './history.ts';

export interface ServeFrameOptions extends RespondServices {
  readonly authenticator: Authenticator;
  readonly rateLimits: Services['rateLimits'];
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
  const { caller, noteReply } = await options.authenticator(credentials);
  const { key } = caller;
  facts.keyPrefix = key?.prefix;
  try {
    // A duplicate is answered at any time.
    if (key !== undefined && !bytes.includes('idempotency_key')) options.rateLimits?.check(key, 0);
    const frame = readCreateFrame(bytes, isBinary);
    // `accept` refuses all other requests, because it finds duplicates first.
    if (frame.isWarmUp) refuseWhileDraining(options.running);
    await serveCreate(frame, reply, { caller, history, share }, options);
    noteReply?.({ status: reply.status() ?? 499, backend: facts.backend });
  } catch (error) {
    const { status } = toApiError(error);
    noteReply?.({ status, backend: facts.backend });
    if (key !== undefined && isUncounted(status, facts.backend)) options.rateLimits?.takeRefused(key);
    throw error;
  }
}

/** Cancels as over HTTP. Resolves with whether the request had not ended. */
export async function cancelRequest(
  requestId: RequestId,
  credentials: Credentials,
  { authenticator, store, running }: Pick<ServeFrameOptions, 'authenticator' | 'store' | 'running'>,
): Promise<boolean> {
  const { caller } = await authenticator(credentials);
  const asked = store.requestCancel(caller.identity, requestId).then((request) => request?.kind === 'asked');
  await running.cancelIf(requestId, asked);
  return asked;
}

/** Prepends the history to the input. A failed continuation drops it. */
async function serveCreate(
  { body, previousResponseId, ...frame }: CreateFrame,
  reply: FrameReply,
  { caller, history, share }: { readonly caller: Caller; readonly history: History; readonly share: Share },
  options: ServeFrameOptions,
): Promise<void> {
  const { value } = body;
  const made: { translator?: Translator } = {};
  let historyLength = 0;
  let bytesRecalled = 0;
  try {
    if (previousResponseId !== undefined) {
      const past = await recall(previousResponseId);
      if (past === undefined) return;
      bytesRecalled = past.bytes;
      if (bytesRecalled + body.bytes.length > options.maxBodyBytes) throw tooLarge(options.maxBodyBytes);
      share.take(bytesRecalled);
      const items = inputItemsOf(value['input']);
      checkOutputs(items, past.items);
      historyLength = past.items.length;
      value['input'] = [...past.items, ...items];
    }
    const isEmpty = frame.isWarmUp && inputItemsOf(value['input']).length === 0;
    if (isEmpty) value['input'] = '';
    await respond(
      {
        ...reply,
        ...frame,
        caller,
        body,
        ...(previousResponseId !== undefined && {
          continues: { responseId: previousResponseId },
        }),
        endpoint: 'responses',
        validate: validateCreateResponse,
        openReply(translator, _plan, gate) {
          made.translator = translator;
          return openReply(reply, translator, { ...options, ...gate });
        },
      },
      options,
    );
    // A duplicate has changed nothing.
    if (made.translator === undefined) return;
    const response = made.translator.failure === null ? made.translator.response : undefined;
    if (response === undefined) {
      history.delete(previousResponseId);
      return;
    }
    // A compaction trigger counts only once.
    const items = isEmpty ? [] : inputItemsOf(value['input']).slice(historyLength).filter(isNoTrigger);
    history.set(response.id, [...items, ...response.output], previousResponseId);
  } catch (error) {
    history.delete(previousResponseId);
    throw withoutHistory(toApiError(error), historyLength);
  }

  /** A repeated frame may continue a response that is no longer the latest. */
  async function recall(responseId: string): Promise<ReturnType<History['get']> | undefined> {
    try {
      return history.get(responseId);
    } catch (error) {
      const incoming = { ...reply, ...frame, caller, body };
      const record = await findDuplicate(incoming, 'responses', options);
      if (record === undefined) throw error;
      sendDuplicate(incoming, record, options.duplicateStatus);
      return undefined;
    }
  }
}

function isNoTrigger(item: unknown): boolean {
  return !isObject(item) || item['type'] !== 'compaction_trigger';
}

function openReply(
  reply: FrameReply,
  translator: Translator,
  { headerHoldMs, keepaliveEventMs, signal, whenDecided }: ServeFrameOptions & ReplyGate,
): Reply {
  const keepAliveEvents = (): readonly ResponseEvent[] => translator.keepAlive();
  return createStreamReply(translator, {
    headerHoldMs,
    whenDecided,
    incoming: reply,
    open: () => reply.openStream({ signal, eventMs: keepaliveEventMs, keepAliveEvents }),
  });
}
