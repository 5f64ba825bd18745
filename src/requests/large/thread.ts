import { extname } from 'node:path';
import { isLimited, needsOutputLimit } from '../../accounts/admission.ts';
import { ApiError } from '../../core/errors.ts';
import type { Backends } from '../../backend/backends.ts';
import type { Models } from '../../core/models.ts';
import type { Route, RoutedBackend } from '../../core/routes.ts';
import { takeTurns } from '../../core/limit-concurrency.ts';
import type { Rpc } from '../../rpc/rpc.ts';
import { createRestingThread, type RestingThreadOptions } from '../../rpc/resting-thread.ts';
import type { TokenEstimator } from '../../core/tokens/estimate.ts';
import type { Writable } from '../../core/writable.ts';
import type { BegunFrame, PreparedFrame, Turns } from '../frame.ts';
import type { Incoming } from '../incoming.ts';
import type { ItemMemory } from '../item-memory.ts';
import type { ResponsePlan } from '../plan.ts';
import type { PreparedChat } from '../prepare-chat.ts';
import type { InputToCount } from '../prepare-count.ts';
import type { PrepareOptions } from '../prepare.ts';
import type { RoutedChat } from '../route-chat.ts';
import { bufferOf, memoryOf } from '../../core/collected-bytes.ts';
import type { Answer, LargeRequest, LargeService, SentChat, SentPlan, ThreadSettings, Way } from './worker.ts';

export interface LargeRequestsOptions extends Pick<RestingThreadOptions, 'onDeath' | 'startWorker' | 'restAfterMs'> {
  readonly settings: ThreadSettings;
  readonly backends: Pick<Backends, 'routing'>;
  readonly models: { readonly present: Pick<Models, 'table'> | null };
  readonly estimator: Pick<TokenEstimator, 'estimateInput'>;
  readonly itemMemory: Pick<ItemMemory, 'recall'>;
}

/** A request whose body has not been parsed. */
export type LargeIncoming = Pick<Incoming, 'facts' | 'caller' | 'body' | 'isServed'> &
  Partial<Pick<Incoming, 'idempotencyKey'>>;

/**
 * Prepares requests with large bodies in a thread, as others prepare small ones on the event loop.
 * All throw the same errors, and ApiError `server_overloaded` when the thread ends.
 */
export interface LargeRequests {
  /** With a backend the request is prepared for that one. */
  prepare(incoming: LargeIncoming, options: PrepareOptions, backend?: RoutedBackend): Promise<ResponsePlan>;
  beginFrame(incoming: LargeIncoming, backend?: RoutedBackend): Promise<BegunFrame>;
  continueFrame(incoming: LargeIncoming, past: Turns, backend?: RoutedBackend): Promise<PreparedFrame>;
  prepareCount(incoming: LargeIncoming): Promise<InputToCount>;
  prepareChat(incoming: LargeIncoming, backend?: RoutedBackend): Promise<PreparedChat>;
  routeChat(incoming: LargeIncoming): Promise<RoutedChat>;
}

/** Starts a thread when there is a large request, and another one after its end. */
export function openLargeRequests(options: LargeRequestsOptions): LargeRequests & { close(): Promise<void> } {
  // The shares of callers bound what waits.
  const takeTurn = takeTurns();
  // A build has the same tree in JavaScript.
  const file = new URL(`./worker${extname(import.meta.url)}`, import.meta.url);
  const thread = createRestingThread<LargeService>({
    ...options,
    file,
    name: 'large requests',
    workerData: options.settings,
  });

  const tablesNow = (): Tables => ({
    modelTable: options.models.present?.table ?? null,
    routing: options.backends.routing(),
  });

  function tablesFor({ alike: [chosen] }: Route): Tables {
    const { modelTable, routing } = tablesNow();
    const others = routing.backends.map(({ name }) => name).filter((name) => name !== chosen);
    return { modelTable, routing: { ...routing, unavailable: others } };
  }

  function tablesOf(backend: RoutedBackend | undefined): Tables {
    const { modelTable, routing } = tablesNow();
    if (backend === undefined) return { modelTable, routing };
    const backends = routing.backends.filter(({ name }) => name === backend.name);
    return { modelTable, routing: { ...routing, backends } };
  }

  function inTurn<Result>(incoming: LargeIncoming, ask: Ask<Result>, tables = tablesNow()): Promise<Result> {
    return takeTurn(incoming.caller.holder().name, async () => {
      if (incoming.isServed()) throw new ApiError('client_disconnected');
      return preparedOf(await askThread(incoming, ask, tables));
    });
  }

  async function askThread<Result>(
    { facts, caller: { identity, key }, body, idempotencyKey }: LargeIncoming,
    ask: Ask<Result>,
    tables: Tables,
  ): Promise<Decided<Result>> {
    const asked = thread.wake();
    const { estimator, itemMemory } = options;
    const request: Writable<LargeRequest> = {
      bytes: body.bytes,
      unique: facts.unique,
      ...tables,
      identity,
      isIdempotent: idempotencyKey !== undefined,
      isLimited: isLimited(key),
      needsOutputLimit: needsOutputLimit(key),
    };
    asked.refresh();
    try {
      for (;;) {
        const answer = await ask(asked.rpc.moving(memoryOf(request.bytes)), request);
        request.bytes = answer.bytes;
        body.bytes = bufferOf(answer.bytes);
        if (answer.kind === 'refers') request.recalled = itemMemory.recall(identity, answer.ids);
        else if (answer.kind === 'weighs') request.inputTokens = estimator.estimateInput(answer.input);
        else return answer;
      }
    } catch (cause) {
      if (!asked.rpc.isDisconnected) throw cause;
      const message = 'The thread that reads large requests ended. The request can be sent again.';
      throw new ApiError('server_overloaded', { message, headers: { 'retry-after': '1' }, cause });
    } finally {
      asked.refresh();
    }
  }

  function toPlan(incoming: LargeIncoming, way: Way, { compaction, ...plan }: SentPlan): ResponsePlan {
    if (compaction === undefined) return { ...plan, compaction };
    const { chat, route, resumes } = compaction;
    if (!resumes) return { ...plan, compaction: { chat, route } };
    // What was reserved is by the tables of now, and the translation for the backends of the plan.
    const tables = tablesFor(plan.route);
    const resume = (encryptedContent: string) =>
      inTurn(incoming, (rpc, request) => rpc.ask('resume', request, way, encryptedContent), tables);
    return { ...plan, compaction: { chat, route, resume } };
  }

  return {
    async prepare(incoming, way, backend) {
      const ask: Ask<SentPlan> = (rpc, request) => rpc.ask('response', request, way);
      return toPlan(incoming, way, await inTurn(incoming, ask, tablesOf(backend)));
    },
    async beginFrame(incoming, backend) {
      const ask: Ask<BegunFrame<SentPlan>> = (rpc, request) => rpc.ask('frame', request);
      const { prepared, ...begun } = await inTurn(incoming, ask, tablesOf(backend));
      if (prepared === undefined) return begun;
      return { ...begun, prepared: { ...prepared, plan: toPlan(incoming, { past: undefined }, prepared.plan) } };
    },
    async continueFrame(incoming, past, backend) {
      const ask: Ask<PreparedFrame<SentPlan>> = (rpc, request) => rpc.ask('continued', request, past);
      const { plan, turn } = await inTurn(incoming, ask, tablesOf(backend));
      return { plan: toPlan(incoming, { past }, plan), turn };
    },
    prepareCount: (incoming) => inTurn(incoming, (rpc, request) => rpc.ask('count', request)),
    async prepareChat(incoming, backend) {
      const ask: Ask<SentChat> = (rpc, request) => rpc.ask('chat', request);
      const { edits, ...plan } = await inTurn(incoming, ask, tablesOf(backend));
      return { ...plan, edits: (withUsage) => (withUsage ? edits.withUsage : edits.plain) };
    },
    routeChat: (incoming) => inTurn(incoming, (rpc, request) => rpc.ask('route', request)),
    close: () => thread.close(),
  };
}

type Tables = Pick<LargeRequest, 'modelTable' | 'routing'>;

type Ask<Result> = (rpc: Pick<Rpc<LargeService>, 'ask'>, request: LargeRequest) => Promise<Answer<Result>>;

type Decided<Result> = Exclude<Answer<Result>, { readonly kind: 'refers' | 'weighs' }>;

function preparedOf<Result>(answer: Decided<Result>): Result {
  switch (answer.kind) {
    case 'prepared':
      return answer.result;
    case 'refused':
      throw new ApiError(answer.code, answer.options);
  }
}
