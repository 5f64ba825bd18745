import { extname } from 'node:path';
import { isLimited, needsOutputLimit } from '../../accounts/admission.ts';
import type { Backends } from '../../backend/backends.ts';
import { bufferOf, memoryOf } from '../../core/collected-bytes.ts';
import { ApiError } from '../../core/errors.ts';
import { type JsonSize, measureJson } from '../../core/json-size.ts';
import { limitFairly } from '../../core/limit-concurrency.ts';
import type { Models } from '../../core/models.ts';
import { parseJson } from '../../core/parse-json.ts';
import { createRoutes, type Route, type RoutedBackend } from '../../core/routes.ts';
import type { UsedFields } from '../../core/request/used-fields.ts';
import type { Writable } from '../../core/writable.ts';
import { createRestingThread, type ThreadOptions } from '../../rpc/resting-thread.ts';
import type { Asking } from '../../rpc/rpc.ts';
import type { Body, Incoming } from '../incoming.ts';
import type { ItemMemory } from '../item-memory.ts';
import type { ResponsePlan } from '../plan.ts';
import { prepareChat, type PreparedChat } from './chat.ts';
import { chatUrlFaultOf } from './chat-urls.ts';
import { prepareCount, type InputToCount } from './count.ts';
import { prepareFrame, readCreateFrame, type CreateFrame, type Past } from './frame.ts';
import { prepareTurn, type ParsedRequest, type PrepareOptions, type PrepareServices } from './response.ts';
import { routeChat, type RoutedChat } from './route.ts';
import type {
  Answer,
  LargeRequest,
  LargeService,
  ReadFrame,
  SentChat,
  SentPlan,
  ThreadSettings,
  PreparedAs,
} from './worker.ts';

/**
 * A larger body may take more than 20 ms to be parsed, translated and written, so that a thread does
 * it. For a smaller one, such as an agent's turn, the thread costs more CPU than it saves.
 */
const MAX_BYTES_HERE = 2 * 1024 * 1024;
/** Each field and each element costs some microseconds before a request is on its way. */
const MAX_VALUES_HERE = 10_000;
/** Smaller bodies are not measured, whatever they have. */
const UNMEASURED_BYTES = 64 * 1024;

export interface PreparationOptions extends ThreadSettings, ThreadOptions {
  readonly backends: Backends;
  readonly models: { readonly present: Models | null };
  readonly sealers: PrepareServices['sealers'];
  readonly usedFields: UsedFields;
  readonly estimator: PrepareServices['estimator'];
  readonly itemMemory: ItemMemory;
  readonly maxBytesHere?: number;
}

export type Unprepared = Pick<Incoming, 'facts' | 'caller' | 'body' | 'isServed'> &
  Partial<Pick<Incoming, 'idempotencyKey'>>;

export interface BegunFrame extends CreateFrame {
  /** Prepares the frame behind what it continues. */
  prepare(past?: Past, backend?: RoutedBackend): Promise<ResponsePlan>;
}

/**
 * Validates, translates and weighs requests. What takes long is done in a thread, and nobody else
 * knows. All throw the ApiError of a request that is not valid, and `server_overloaded` when the
 * thread ends. With a backend a request is prepared for that one.
 */
export interface Preparation {
  response(incoming: Unprepared, options: PrepareOptions, backend?: RoutedBackend): Promise<ResponsePlan>;
  frame(incoming: Unprepared): Promise<BegunFrame>;
  count(incoming: Unprepared): Promise<InputToCount>;
  chat(incoming: Unprepared, backend?: RoutedBackend): Promise<PreparedChat>;
  route(incoming: Unprepared): Promise<RoutedChat>;
  /** Whether `route` looks at what a chat completion lets its backend fetch. */
  readonly checksUrls: boolean;
  close(): Promise<void>;
}

/** Starts a thread when there is a large request, and another one after its end. */
export function openPreparation(options: PreparationOptions): Preparation {
  const { backends, models, estimator, itemMemory, maxBytesHere = MAX_BYTES_HERE } = options;
  const services: PrepareServices = { ...options, routes: backends.routes };
  // The shares of callers bound what waits.
  const queued = limitFairly();
  const thread = createRestingThread<LargeService>({
    ...options,
    // A build has the same tree in JavaScript.
    file: new URL(`./worker${extname(import.meta.url)}`, import.meta.url),
    name: 'large requests',
    workerData: settingsOf(options),
  });

  return {
    async response(incoming, as, backend) {
      const value = resolvedHere(incoming);
      if (value !== undefined) return prepareTurn(parsedOf(incoming, value), as, servicesFor(backend));
      const plan = await inThread(incoming, (rpc, request) => rpc.ask('response', request, as), tablesOf(backend));
      return toPlan(incoming, as, plan);
    },
    frame: (incoming) => beginFrame(incoming),
    async count(incoming) {
      const value = resolvedHere(incoming);
      if (value !== undefined) return prepareCount(parsedOf(incoming, value), services);
      return inThread(incoming, (rpc, request) => rpc.ask('count', request));
    },
    async chat(incoming, backend) {
      const value = parsedHere(incoming.body);
      if (value !== undefined) return prepareChat(parsedOf(incoming, value), servicesFor(backend));
      const ask: Ask<SentChat> = (rpc, request) => rpc.ask('chat', request);
      const { edits, ...plan } = await inThread(incoming, ask, tablesOf(backend));
      return { ...plan, edits: (withUsage) => (withUsage ? edits.withUsage : edits.plain) };
    },
    async route(incoming) {
      const { caller, body } = incoming;
      if (measured(body) !== 'large') return routeChat(body.bytes, caller.identity, services);
      return inThread(incoming, (rpc, request) => rpc.ask('route', request));
    },
    checksUrls: chatUrlFaultOf(options) !== undefined,
    close: () => thread.close(),
  };

  function measured(body: Body): 'large' | JsonSize | undefined {
    const { bytes } = body;
    if (bytes.length > maxBytesHere) return 'large';
    if (bytes.length <= UNMEASURED_BYTES) return undefined;
    const size = measureJson(bytes);
    if (size.fieldEnds !== undefined) body.fieldEnds = size.fieldEnds;
    return size.values > MAX_VALUES_HERE ? 'large' : size;
  }

  /** Returns the parsed body; undefined for one that the thread parses. */
  function parsedHere(body: Body): unknown {
    const size = measured(body);
    return size === 'large' ? undefined : parseJson(body.bytes, size);
  }

  /** As `parsedHere`, for a body that may refer to much that is remembered. */
  function resolvedHere({ caller, body }: Unprepared): unknown {
    const value = parsedHere(body);
    return itemMemory.weigh(caller.identity, value) > maxBytesHere ? undefined : value;
  }

  function servicesFor(backend: RoutedBackend | undefined): PrepareServices {
    return backend === undefined ? services : { ...services, routes: createRoutes([backend]) };
  }

  async function beginFrame(incoming: Unprepared): Promise<BegunFrame> {
    const read = readHere(incoming);
    if (read === undefined) return beginLargeFrame(incoming);
    let unused: FrameRead | undefined = read;
    return {
      ...read.frame,
      async prepare(past, backend) {
        // A preparation changes what was parsed.
        const fresh = isMuch(incoming, past) ? undefined : (unused ?? readHere(incoming));
        if (fresh === undefined) return continueLargeFrame(incoming, past, backend);
        unused = undefined;
        const parsed = { ...parsedOf(incoming, fresh.value), past: past?.turns };
        return prepareFrame(fresh.frame, parsed, servicesFor(backend));
      },
    };
  }

  function readHere(incoming: Unprepared): FrameRead | undefined {
    const value = resolvedHere(incoming);
    return value === undefined ? undefined : { frame: readCreateFrame(value), value };
  }

  function isMuch({ body }: Unprepared, past: Past | undefined): boolean {
    return body.bytes.length + (past?.bytes ?? 0) > maxBytesHere;
  }

  async function beginLargeFrame(incoming: Unprepared): Promise<BegunFrame> {
    const ask: Ask<ReadFrame> = (rpc, request) => rpc.ask('frame', request);
    const { frame, prepared } = await inThread(incoming, ask);
    return {
      ...frame,
      async prepare(past, backend) {
        // What continues nothing has been prepared as soon as it was read.
        if (prepared !== undefined && backend === undefined) return toPlan(incoming, { past: past?.turns }, prepared);
        return continueLargeFrame(incoming, past, backend);
      },
    };
  }

  async function continueLargeFrame(
    incoming: Unprepared,
    past: Past | undefined,
    backend: RoutedBackend | undefined,
  ): Promise<ResponsePlan> {
    const ask: Ask<SentPlan> = (rpc, request) => rpc.ask('continued', request, past?.turns);
    return toPlan(incoming, { past: past?.turns }, await inThread(incoming, ask, tablesOf(backend)));
  }

  function toPlan(incoming: Unprepared, as: PreparedAs, { compaction, ...plan }: SentPlan): ResponsePlan {
    if (compaction === undefined) return { ...plan, compaction };
    const { chat, route, resumes } = compaction;
    if (!resumes) return { ...plan, compaction: { chat, route } };
    // What was reserved is by the tables of now, and the translation for the backends of the plan.
    const tables = tablesFor(plan.route);
    const resume = (encryptedContent: string) =>
      inThread(incoming, (rpc, request) => rpc.ask('resume', request, as, encryptedContent), tables);
    return { ...plan, compaction: { chat, route, resume } };
  }

  function tablesNow(): Tables {
    return {
      modelTable: models.present?.table ?? null,
      routing: backends.routing(),
      usedFields: options.usedFields.table,
    };
  }

  function tablesFor({ alike: [chosen] }: Route): Tables {
    const { routing, ...tables } = tablesNow();
    const others = routing.backends.map(({ name }) => name).filter((name) => name !== chosen);
    return { ...tables, routing: { ...routing, unavailable: others } };
  }

  function tablesOf(backend: RoutedBackend | undefined): Tables {
    const { routing, ...tables } = tablesNow();
    if (backend === undefined) return { ...tables, routing };
    const only = routing.backends.filter(({ name }) => name === backend.name);
    return { ...tables, routing: { ...routing, backends: only } };
  }

  function inThread<Result>(incoming: Unprepared, ask: Ask<Result>, tables = tablesNow()): Promise<Result> {
    return queued(incoming.caller.holder().name, async () => {
      if (incoming.isServed()) throw new ApiError('client_disconnected');
      const answer = await askThread(incoming, ask, tables);
      if (answer.kind === 'refused') throw new ApiError(answer.code, answer.options);
      return answer.result;
    });
  }

  /** Moves the bytes of the body to the thread and back. */
  async function askThread<Result>(incoming: Unprepared, ask: Ask<Result>, tables: Tables): Promise<Decided<Result>> {
    const { caller, body, idempotencyKey } = incoming;
    const { value: _value, ...parsed } = parsedOf(incoming, undefined);
    const request: Writable<LargeRequest> = {
      ...parsed,
      ...tables,
      isIdempotent: idempotencyKey !== undefined && body.digest === undefined,
    };
    const awake = thread.wake();
    awake.refresh();
    try {
      for (;;) {
        const answer = await ask(awake.rpc.transferring(memoryOf(request.bytes)), request);
        request.bytes = answer.bytes;
        body.bytes = bufferOf(answer.bytes);
        if (answer.digest !== undefined) body.digest = answer.digest;
        if (answer.kind === 'refers') request.recalled = itemMemory.recall(caller.identity, answer.ids);
        else if (answer.kind === 'weighs') request.inputTokens = estimator.estimateInput(answer.input);
        else return answer;
      }
    } catch (cause) {
      if (!awake.rpc.isDisconnected) throw cause;
      const message = 'The thread that reads large requests ended. The request can be sent again.';
      throw new ApiError('server_overloaded', { message, headers: { 'retry-after': '1' }, cause });
    } finally {
      awake.refresh();
    }
  }
}

interface FrameRead {
  readonly frame: CreateFrame;
  readonly value: unknown;
}

type Tables = Pick<LargeRequest, 'modelTable' | 'routing' | 'usedFields'>;

type Ask<Result> = (rpc: Asking<LargeService>, request: LargeRequest) => Promise<Answer<Result>>;

type Decided<Result> = Exclude<Answer<Result>, { readonly kind: 'refers' | 'weighs' }>;

function parsedOf({ caller: { identity, key }, body, facts }: Unprepared, value: unknown): ParsedRequest {
  return {
    bytes: body.bytes,
    value,
    unique: facts.unique,
    identity,
    isLimited: isLimited(key),
    needsOutputLimit: needsOutputLimit(key),
  };
}

/** Returns no more than the thread needs, since a thread cannot be sent everything. */
function settingsOf(options: ThreadSettings): ThreadSettings {
  return {
    hostedTools: options.hostedTools,
    history: options.history,
    imageUrls: options.imageUrls,
    authMode: options.authMode,
    compactionModel: options.compactionModel,
    compactionMaxOutputTokens: options.compactionMaxOutputTokens,
    itemMemoryTtlS: options.itemMemoryTtlS,
    maxBodyBytes: options.maxBodyBytes,
    defaultMaxOutputTokens: options.defaultMaxOutputTokens,
    secret: options.secret,
    gatewaySecretPrevious: options.gatewaySecretPrevious,
  };
}
