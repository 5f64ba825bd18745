/**
 * Two gateways over one store, with callers and a backend, in one process and without sockets. Everything that a gateway asks
 * of the world waits until a step of the history lets it go on, so that a history says in which order everything happens.
 */

import { rememberUsedFields } from '../../../src/core/request/used-fields.ts';
import { createAdmission, ADMIT_ALL } from '../../../src/accounts/admission.ts';
import { createRateLimits } from '../../../src/accounts/rates.ts';
import { createBackends } from '../../../src/backend/backends.ts';
import { createFailover } from '../../../src/backend/failover.ts';
import { createChatBackend } from '../../../src/backend/chat.ts';
import { readTestConfig } from '../../support/settings.ts';
import type { RequestId } from '../../../src/contract/ids.ts';
import { ApiError } from '../../../src/core/errors.ts';
import { type Identity, toKeyId, toRequestId, toUniquePart, type UniquePart } from '../../../src/core/ids.ts';
import { createPrices } from '../../../src/core/money/pricing.ts';
import { createTokenEstimator } from '../../../src/core/tokens/estimate.ts';
import { toPlan } from '../../../src/http/chat/chat.ts';
import { openRelayedReply, openRelayedStream } from '../../../src/http/chat/relayed-reply.ts';
import { headersOf, noteFailure } from '../../../src/requests/noted-failure.ts';
import { openEventStream } from '../../../src/http/responses/event-stream.ts';
import { createPiecesWriter } from '../../../src/wire/json-pieces.ts';
import { createJsonReply } from '../../../src/http/responses/reply.ts';
import { affinityOf, createRoutes } from '../../../src/core/routes.ts';
import { createIdentities } from '../../../src/identity/identities.ts';
import { createSealers } from '../../../src/identity/seal.ts';
import { watchCancels } from '../../../src/requests/cancel-watch.ts';
import type { RequestFacts } from '../../../src/telemetry/facts.ts';
import type { Incoming } from '../../../src/requests/incoming.ts';
import { createItemMemory } from '../../../src/requests/item-memory.ts';
import { openPreparation, type Preparation } from '../../../src/requests/preparation/preparation.ts';
import { relayChat, type RelayServices } from '../../../src/requests/relay.ts';
import { respond, type RespondServices } from '../../../src/requests/respond.ts';
import { createRunningRequests } from '../../../src/requests/running.ts';
import type { KeyDraft, StoredKey } from '../../../src/core/books/keys.ts';
import { openClientStore } from '../../../src/store/open.ts';
import type { KeyRow } from '../../../src/store/rows/keys.ts';
import type { RecordRow } from '../../../src/store/rows/records.ts';
import type { Operation, RemoteEngine, Reply } from '../../../src/store/queue/operations.ts';
import { openSqliteStore, type SqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import type { Store } from '../../../src/core/books/store.ts';
import { openFrameReply, type FrameReply } from '../../../src/web-socket/frame-reply.ts';
import { newKeyDraft, NO_LIMITS } from '../../support/keys.ts';
import { beginFacts } from '../../support/observe.ts';
import { LIFE_HEADER, playBackend, type Call } from './backend.ts';
import { NO_FORWARD, onlyBackend } from '../../support/only-backend.ts';
import { Client, readChat, readEvents, readJson, type Told } from './client.ts';
import type { Create, History, Step, STORE_FAULTS } from './steps.ts';
import { beginVirtualTime } from './time.ts';
import { createPromptTurns } from '../../../src/requests/prompt-turns.ts';

const SECRET = 'the secret of a simulation';
const PRICES = createPrices({ currency: 'USD', models: { m: { input: '2', output: '10' } } });
/** Each limit is enough for two requests of the first caller at once, and for some after each other. */
const SCARCE: Readonly<Record<History['limit'], Pick<KeyDraft, 'limits' | 'creditsMicro'>>> = {
  credits: { limits: NO_LIMITS, creditsMicro: 1500 },
  requests: { limits: { ...NO_LIMITS, requestsPerMinute: 2 }, creditsMicro: 100_000 },
  tokens: { limits: { ...NO_LIMITS, tokensPerMinute: 150 }, creditsMicro: null },
  spend: { limits: { ...NO_LIMITS, spendPerDayMicro: 1500 }, creditsMicro: null },
  nothing: { limits: NO_LIMITS, creditsMicro: null },
};
const AMPLE = { limits: NO_LIMITS, creditsMicro: 100_000 };
export const SILENCE_MS = 8000;
const LOST_MS = 10_100;
export const QUEUE_MS = 2000;
const DRAIN_MS = 3000;
const TURN_MS = 1200;
const INTERRUPT_MS = 2000;
const BACKENDS = ['a', 'b'] as const;
const LOG = { info: () => undefined, warn: () => undefined };

// These are the same for all histories, and take long to make.
const config = readTestConfig({
  UPSTREAM_BASE_URL: 'http://backend.test/a/v1',
  DEFAULT_MAX_OUTPUT_TOKENS: '50',
  FIRST_BYTE_TIMEOUT_MS: String(SILENCE_MS),
  IDLE_TIMEOUT_MS: String(SILENCE_MS),
  // Shorter than the database may take.
  headerHoldMs: 500,
});
const identities = createIdentities(SECRET, null);
const sealers = createSealers(SECRET, null);
const FACTS = beginFacts();
const limits = { answerWithinMs: 2000 };

/** One request, as its caller sees it. */
export interface Life {
  readonly number: number;
  readonly step: Create;
  readonly caller: Caller;
  readonly requestId: RequestId;
  readonly facts: RequestFacts;
  readonly client: Client;
  readonly process: GatewayProcess;
  readonly idempotencyKey: string | undefined;
  readonly body: Buffer;
  readonly told: () => Told;
  /** The caller went away before it had its whole reply. */
  hasLeft: boolean;
  /** A final record was taken back, as one of which nobody was told. */
  isTakenBack: boolean;
  /** At the rest, for whatever reason: the connection broke before the whole reply. */
  isCut: boolean;
  isStranger: boolean;
  /** How much time the history has let pass meanwhile. */
  waitedMs: number;
  /** `respond` has returned. */
  isOver: boolean;
  /** The store has refused its record. */
  isRefused: boolean;
  /** Its record was written together with its end. */
  isWrittenOnce: boolean;
  /** The record as it was when a backend was asked first, and when the first word and the end were told. */
  readonly seen: { asked?: RecordRow | null; first?: RecordRow | null; end?: RecordRow | null };
  /** An equal request of which its caller had been told, at the time when this one was made. */
  readonly repeats: Life | undefined;
  /** What went wrong in a place that no caller sees. */
  problem?: unknown;
}

export interface Caller {
  readonly name: string;
  readonly identity: Identity;
  readonly key: StoredKey | undefined;
}

interface GatewayProcess {
  readonly name: string;
  readonly services: RespondServices & RelayServices;
  readonly preparation: Preparation;
  readonly store: Store;
  readonly strangersNoMore: Set<string>;
  isUp: boolean;
  isAlive: boolean;
  /** Within the history, and not only at its end. */
  hasDied: boolean;
  isPaused: boolean;
  wasInterrupted: boolean;
  wasTakenForDead: boolean;
  pause(): void;
  resume(): void;
  /** Takes everything away from it at once. */
  end(): void;
}

interface Pending {
  readonly what: string;
  /** Whom it happens to. The database and the time go on while a process stands still. */
  readonly process: GatewayProcess | undefined;
  readonly go: () => void;
  /** Of a batch for the store alone. */
  readonly fail?: (how: (typeof STORE_FAULTS)[number]) => void;
}

/** What is left of a history, for the promises. */
export interface Aftermath {
  readonly keys: History['keys'];
  readonly limit: History['limit'];
  readonly backends: History['backends'];
  readonly tookMs: number;
  readonly lives: readonly Life[];
  readonly callers: readonly Caller[];
  readonly calls: readonly Call[];
  /** Whose cancel was answered with a 202. */
  readonly cancelled: ReadonlySet<RequestId>;
  /** Connections to the backend that nobody waits for, after all that needs no long time. */
  readonly leaked: readonly string[];
  /** What was broken on the way. */
  readonly noticed: readonly string[];
  readonly ask: (...operation: Operation) => Promise<unknown>;
  readonly identities: ReturnType<typeof createIdentities>;
}

export interface World {
  /** Runs a history to its rest. Adds what happened to the report. */
  run(history: History, report: string[]): Promise<Aftermath>;
  /** Must be called when a promise was broken: what is left in the database would change what comes next. */
  leaveBehind(): void;
  end(): void;
}

/** A database with the rows of more histories than this takes more memory than time to open another one. */
const SHARED_BY = 500;

/** Takes over time and connections of this process, until `end`. */
export function openWorld(): World {
  const time = beginVirtualTime();
  let database: Promise<SqliteStore> | undefined;
  let histories = 0;
  return {
    async run(history, report) {
      time.nextHistory();
      if (histories % SHARED_BY === 0) database = undefined;
      // To open one takes as long as several histories, which share it with keys of their own.
      database ??= openSqliteStore({ file: undefined, clock: time.nowMs, log: LOG });
      histories += 1;
      return live(history, { disk: await database, time, number: histories, report });
    },
    leaveBehind: () => (database = undefined),
    end: () => time.end(),
  };
}

interface Parts {
  readonly disk: SqliteStore;
  readonly time: ReturnType<typeof beginVirtualTime>;
  readonly number: number;
  readonly report: string[];
}

async function live(history: History, { disk, time, number, report }: Parts): Promise<Aftermath> {
  const isManaged = history.keys === 'managed';
  const areSeveral = history.backends !== 'one';
  const observer = disk.admit();
  const pending: Pending[] = [];
  const lives: Life[] = [];
  const cancelled = new Set<RequestId>();
  const finals = new Map<RequestId, RecordRow | null>();
  const noticed: string[] = [];
  let ids = 0;
  let isWritten = false;

  const newUnique = (): UniquePart =>
    toUniquePart(`${time.nowMs().toString(16).padStart(12, '0')}${(ids += 1).toString(16).padStart(20, '0')}`);
  const startMs = time.nowMs();
  const callers = await Promise.all([SCARCE[history.limit], AMPLE].map(createCaller));
  const backend = playBackend({
    scriptOf: (life) => lifeOf(life).step.script,
    isAlive: (life) => lifeOf(life).process.isAlive,
    onAsked: (life) => void lookWhenAsked(lifeOf(life)),
    areSeveral,
    nowMs: time.nowMs,
    pend: (life, what, go) => pend(what, go, { process: lifeOf(life).process }),
  });
  const processes = [start('p0'), start('p1')];
  try {
    await rest();
    report.length = 0;
    for (const step of history.steps) {
      take(step);
      if (step.do === 'wait') await time.pass(step.ms);
      // Its timers are late.
      if (step.do === 'pause') await time.pass(0);
      if (step.do === 'all go') await rest();
      await time.settle();
      await watchFinals();
    }
    report.push('then everything comes to rest');
    return await comeToRest();
  } finally {
    for (const process of processes) process.end();
    backend.end();
    observer.leave();
  }

  async function createCaller(may: Pick<KeyDraft, 'limits' | 'creditsMicro'>, index: number): Promise<Caller> {
    const name = ['alice', 'bob'][index] ?? 'nobody';
    const keyId = toKeyId(newUnique());
    if (!isManaged) return { name, identity: identities.caller(`${name} ${number}`), key: undefined };
    const draft = newKeyDraft({ keyId, secret: { hash: [keyId], prefix: 'sk' }, ...may });
    const created = disk.createKey({ ...draft, createdAtMs: time.nowMs() });
    await time.settle();
    return { name, identity: [keyId], key: await created };
  }

  function pend(
    what: string,
    go: () => void,
    { process, fail }: Partial<Pick<Pending, 'process' | 'fail'>> = {},
  ): () => void {
    const entry: Pending = { what, go, process, ...(fail !== undefined && { fail }) };
    pending.push(entry);
    return () => remove(entry);
  }

  function remove(entry: Pending): void {
    const at = pending.indexOf(entry);
    if (at >= 0) pending.splice(at, 1);
  }

  function lifeOf(which: number): Life {
    const life = lives[which];
    if (life === undefined) throw new Error(`there is no r${which}`);
    return life;
  }

  function lifeWith({ requestId }: { readonly requestId: RequestId }): Life {
    return lifeOf(lives.findIndex((life) => life.requestId === requestId));
  }

  function start(name: string): GatewayProcess {
    let client = disk.admit();
    const waiting = new Set<() => void>();
    const run: RemoteEngine['run'] = (mode, batch) =>
      new Promise((resolve) => {
        if (!process.isAlive) return;
        const names = batch.map(([operation]) => operation).join(', ');
        const answer = (reply: Reply, how: string): void => {
          later(`the answer of the database (${how}) reaches ${name}`, () => resolve(reply), { process });
        };
        const write = (): Promise<Reply> => {
          isWritten ||= mode === 'write';
          return client.run(mode, batch);
        };
        const lose = (): void => answer({ failure: { reason: 'lost', message: 'lost' } }, 'lost');
        later(`the database takes ${names} of ${name}`, () => void write().then((reply) => answer(reply, names)), {
          fail: (how) => {
            if (how === 'lost after') return void write().then(lose);
            if (how === 'busy' || how === 'full') return answer({ failure: { reason: how, message: how } }, how);
            lose();
            // The connection has gone, and the server works on.
            const { run: runLater } = client;
            if (how === 'lost, and taken later')
              pend(`the database takes what was lost: ${names}`, () => void runLater(mode, batch));
          },
        });
      });
    const opened = openClientStore({ run, clock: time.nowMs, settleTimeoutMs: config.settleTimeoutMs, limits });
    const store: Store = {
      ...opened,
      accept: (draft) =>
        opened.accept(draft).catch((thrown: unknown) => {
          lifeWith(draft).isRefused = true;
          throw thrown;
        }),
      record: (draft, outcome) => {
        lifeWith(draft).isWrittenOnce = true;
        return opened.record(draft, outcome);
      },
    };
    const running = createRunningRequests();
    const rateLimits = createRateLimits({ accounts: store, nowMs: time.nowMs });
    const keyOwner = isManaged ? 'gateway' : 'caller';
    const specs = BACKENDS.slice(0, areSeveral ? 2 : 1).map((name) =>
      onlyBackend({
        name,
        isOnly: !areSeveral,
        baseUrl: `http://backend.test/${name}/v1`,
        maxConcurrent: areSeveral ? 2 : null,
      }),
    );
    const policy = () => ({
      failover: history.backends === 'any' ? ('any' as const) : ('safe' as const),
      queueTimeoutMs: QUEUE_MS,
      exposesUpstream: false,
    });
    const backends = createBackends(specs, {
      keyOwner,
      policy,
      nowMs: time.nowMs,
      onChange: () => undefined,
      open: ({ baseUrl }) => ({
        ...NO_FORWARD,
        ...createChatBackend({ ...config, baseUrl, keyOwner, streamOptions: true }),
        count: () => Promise.resolve(undefined),
      }),
    });
    const failover = createFailover({
      backends,
      policy,
      firstByteTimeoutMs: SILENCE_MS,
      headerHoldMs: config.headerHoldMs,
      nowMs: time.nowMs,
    });
    const services: GatewayProcess['services'] = {
      ...config,
      policy,
      store,
      running,
      identities,
      promptTurns: createPromptTurns({ secret: 'a secret', nowMs: time.nowMs }),
      sealers,
      backend: failover,
      relay: failover,
      admission: isManaged
        ? createAdmission({ ...config, accounts: store, rateLimits, prices: { present: PRICES }, nowMs: time.nowMs })
        : ADMIT_ALL,
      estimator: createTokenEstimator(),
      usedFields: rememberUsedFields(),
      itemMemory: createItemMemory({ ...config, nowMs: time.nowMs }),
      keyOwner,
      nowMs: time.nowMs,
      steadyMs: time.nowMs,
    };
    const preparation = openPreparation({
      ...config,
      ...services,
      secret: SECRET,
      backends,
      models: { present: null },
      onDeath(why) {
        throw new Error(why);
      },
    });
    const process: GatewayProcess = {
      name,
      services,
      preparation,
      store,
      strangersNoMore: new Set(),
      isUp: false,
      isAlive: true,
      hasDied: false,
      isPaused: false,
      wasInterrupted: false,
      wasTakenForDead: false,
      pause() {
        process.isPaused = true;
        process.wasTakenForDead = true;
        client.leave();
      },
      resume() {
        process.isPaused = false;
        // As a process does that finds that its name is gone.
        client = disk.admit();
      },
      end() {
        if (!process.isAlive) return;
        process.isAlive = false;
        process.isUp = false;
        stopWatching();
        for (const takeBack of waiting) takeBack();
        for (const life of lives) if (life.process === process) life.client.destroy();
        for (const call of backend.calls) if (lifeOf(call.life).process === process) call.cut();
        client.leave();
      },
    };
    const stopWatching = time.within(process, () => watchCancels(store, running));
    const noteUp = (): void => void (process.isUp = true);
    void time.within(process, () => store.recover()).then(noteUp, noteUp);
    return process;

    function later(what: string, go: () => void, parts?: Parameters<typeof pend>[2]): void {
      if (!process.isAlive) return;
      const takeBack = pend(what, go, parts);
      waiting.add(takeBack);
    }
  }

  function take(step: Step): void {
    switch (step.do) {
      case 'ask':
        ask(step);
        break;
      case 'repeat': {
        const repeatable = lives.filter((life) => life.step.name !== null);
        const life = repeatable[step.which % repeatable.length];
        if (life !== undefined) ask({ ...life.step, at: step.at });
        break;
      }
      case 'go': {
        const next = going();
        const entry = next[step.which % next.length];
        if (entry !== undefined) proceed(entry);
        break;
      }
      case 'fail': {
        const batches = pending.filter(({ fail }) => fail !== undefined);
        const entry = batches[step.which % batches.length];
        if (entry === undefined) break;
        report.push(`${entry.what}, but: ${step.how}`);
        remove(entry);
        entry.fail?.(step.how);
        break;
      }
      case 'cancel':
        cancel(step);
        break;
      case 'leave': {
        const life = lives[step.which % lives.length];
        if (life !== undefined) leave(life);
        break;
      }
      case 'wait':
        for (const life of lives) if (!life.isOver) life.waitedMs += step.ms;
        report.push(`${step.ms} ms pass`);
        break;
      case 'all go':
        report.push('everything that waits goes on, in its order');
        break;
      case 'drain':
        if (!processAt(step.at).isPaused) time.within(processAt(step.at), () => void drain(step.at % processes.length));
        break;
      case 'pause':
        pauseOrResume(processAt(step.at));
        break;
      case 'crash':
        report.push(`${processAt(step.at).name} crashes and is started again`);
        startAgain(step.at % processes.length);
        break;
      default:
        step satisfies never;
    }
  }

  function processAt(at: number): GatewayProcess {
    const process = processes[at % processes.length];
    if (process === undefined) throw new Error('there are two processes');
    return process;
  }

  /** What is free to happen. */
  function going(): readonly Pending[] {
    return processes.some(({ isPaused }) => isPaused)
      ? pending.filter(({ process }) => process?.isPaused !== true)
      : pending;
  }

  function proceed(entry: Pending): void {
    report.push(entry.what);
    remove(entry);
    if (entry.process === undefined) entry.go();
    else time.within(entry.process, entry.go);
  }

  function pauseOrResume(process: GatewayProcess): void {
    if (!process.isUp) return;
    if (process.isPaused) {
      report.push(`${process.name} goes on`);
      process.resume();
      return;
    }
    report.push(`${process.name} stands still, and is taken for dead`);
    process.pause();
    for (const other of processes) if (other.isUp && !other.isPaused) recover(other);
  }

  /** As the upkeep of each process does from time to time. */
  function recover(process: GatewayProcess): void {
    time.within(process, () => void process.store.recover().catch(() => undefined));
  }

  function ask(step: Create): void {
    const process = processAt(step.at);
    const caller = callers[step.who % callers.length];
    if (!process.isUp || process.isPaused || caller === undefined) return;
    // Elsewhere the gateway only passes them through.
    if (isChat(step) && !isManaged) return;
    const life = begin(step, process, caller);
    lives.push(life);
    const key = life.idempotencyKey === undefined ? 'no key' : `key ${life.idempotencyKey}`;
    report.push(
      `${caller.name} asks ${process.name} for ${step.kind} (r${life.number}, ${key}${step.isSlow ? ', reads slowly' : ''}${step.isMisshapen ? ', misshapen' : ''}): ` +
        `the backend sends ${step.script.pieces} words${step.script.isInOnePiece ? ' at once' : ''} and ${step.script.ending}` +
        (areSeveral ? `, the next one ${step.script.next}` : '') +
        `${step.script.usage ? '' : ', without usage'}${step.script.refusesField ? ', and refuses a field' : ''}`,
    );
    void time
      .within(process, () => serve(life))
      .then(
        () => (life.isOver = true),
        (problem: unknown) => {
          life.isOver = true;
          life.problem = problem;
        },
      );
  }

  function begin(step: Create, process: GatewayProcess, caller: Caller): Life {
    const unique = newUnique();
    const which = lives.length;
    const body = Buffer.from(JSON.stringify(bodyOf(step, which, caller)));
    const client = new Client({
      isSlow: step.isSlow,
      pend: (go) => pend(`the client of r${which} reads`, go, { process }),
      onTold: () => void look(life),
    });
    const trace = { callBackend: () => ({ [LIFE_HEADER]: String(which) }), end: () => undefined };
    const life: Life = {
      number: which,
      step,
      caller,
      process,
      requestId: toRequestId(unique),
      facts: { ...FACTS, unique, trace },
      client,
      idempotencyKey: step.name === null ? undefined : `k${step.name}`,
      body,
      repeats: lives.find((each) => isKnown(each) && isEqual(each, { caller, step, body })),
      told: () => READERS[step.kind](client),
      hasLeft: false,
      isTakenBack: false,
      isCut: false,
      isStranger: !isManaged && !process.strangersNoMore.has(caller.name),
      waitedMs: 0,
      isOver: false,
      isRefused: false,
      isWrittenOnce: false,
      seen: {},
    };
    return life;
  }

  async function lookWhenAsked({ requestId, seen }: Life): Promise<void> {
    if (seen.asked !== undefined) return;
    seen.asked = null;
    seen.asked = (await find('findAny', requestId)) as RecordRow | null;
  }

  async function look(life: Life): Promise<void> {
    const { end, status } = life.told();
    const isFirst = life.seen.first === undefined && status === 200;
    const isEnd = life.seen.end === undefined && end !== undefined;
    if (!isFirst && !isEnd) return;
    const row = (await find('findAny', life.requestId)) as RecordRow | null;
    if (isFirst) life.seen.first = row;
    if (isEnd) life.seen.end = row;
  }

  async function serve(life: Life): Promise<void> {
    const { caller, process, client, facts, body, step, idempotencyKey } = life;
    const { services, preparation } = process;
    const res = client.asResponse();
    const frame = step.kind === 'a WebSocket' ? openFrame(life) : undefined;
    const transport = frame ?? overHttp(life);
    const incoming: Incoming = {
      ...transport,
      facts,
      caller: {
        identity: caller.identity,
        ...(caller.key !== undefined && { key: caller.key }),
        backendHeaders: {},
        holder: () => ({ name: caller.name, isStranger: !isManaged && !process.strangersNoMore.has(caller.name) }),
        noteAccepted: () => void process.strangersNoMore.add(caller.name),
      },
      idempotencyKey,
      body: { bytes: body },
    };
    try {
      if (isChat(step)) {
        await relayChat(
          {
            ...incoming,
            prepare: async () => toPlan(await preparation.chat(incoming), {}, incoming),
            reply: {
              open: ({ status, headers, isEventStream }, signal) =>
                (isEventStream ? openRelayedStream : openRelayedReply)(res, {
                  status,
                  headers: headers as Record<string, string>,
                  signal,
                  stallMs: SILENCE_MS,
                }),
              refuse: ({ status, body }) => void client.writeHead(status).end(body),
            },
          },
          services,
        );
        return;
      }
      await respond(
        {
          ...incoming,
          endpoint: 'responses',
          prepare: () => preparation.response(incoming, { endpoint: 'responses' }),
          openReply(translator, { stream, echo }, signal) {
            if (!stream)
              return createJsonReply(res, { toPieces: () => createPiecesWriter(echo).response(translator.response) });
            const told = { translator, echo, signal, eventMs: config.keepaliveEventMs };
            const http = { commentMs: config.keepaliveCommentMs, stallMs: SILENCE_MS };
            return {
              headerHoldMs: config.headerHoldMs,
              open(headers) {
                if (frame !== undefined) return frame.openStream(told);
                return client.destroyed ? undefined : openEventStream(res, { ...told, ...http, headers });
              },
            };
          },
        },
        services,
      );
    } catch (thrown) {
      fail(life, frame, thrown);
    }
  }

  /** As the error handlers of the two transports do. */
  function fail({ facts, client }: Life, frame: FrameReply | undefined, thrown: unknown): void {
    if (!(thrown instanceof ApiError)) throw thrown;
    const error = noteFailure(thrown, facts);
    if (frame !== undefined) return frame.fail(error);
    if (client.headersSent || client.destroyed) {
      if (!client.writableEnded) client.destroy();
      return;
    }
    client.writeHead(error.status, headersOf(error, client.getHeader('x-should-retry')));
    client.end(JSON.stringify(error.toBody()));
  }

  function openFrame({ client, facts }: Life): FrameReply {
    return openFrameReply({ ...client.asWebSocket(), facts, baseUrl: '', takeBytes: () => undefined });
  }

  function cancel({ which, at, isOwn }: Extract<Step, { readonly do: 'cancel' }>): void {
    const process = processAt(at);
    const life = lives[which % lives.length];
    const asker = isOwn ? life?.caller : callers.find((caller) => caller !== life?.caller);
    if (life === undefined || asker === undefined || !process.isUp || process.isPaused) return;
    const { requestId, number } = life;
    report.push(`${asker.name} asks ${process.name} to cancel r${number}`);
    // As http/records/requests.ts does.
    const asking = time.within(process, () => process.store.requestCancel(asker.identity, requestId));
    const decided = process.services.running.cancelIf(
      requestId,
      asking.then((asked) => asked?.kind === 'asked'),
    );
    void decided.then(note, () => undefined);

    async function note(): Promise<void> {
      const asked = await asking;
      if (!process.isAlive || asked === undefined) return;
      if (!isOwn) noticed.push(`${asker?.name} is told of r${number}, which is not his`);
      if (asked.kind === 'final') {
        if (asked.record.status === 'processing') noticed.push(`r${number} is told to be final while it is processing`);
        return;
      }
      cancelled.add(requestId);
      report.push(`${asker?.name} is told that r${number} is being cancelled`);
    }
  }

  function leave(life: Life): void {
    if (life.client.destroyed || life.client.writableFinished) return;
    life.hasLeft = true;
    report.push(`the client of r${life.number} leaves`);
    const notice = (): void => void life.client.destroy();
    if (life.process.isPaused)
      pend(`${life.process.name} notices that the client of r${life.number} has left`, notice, life);
    else time.within(life.process, notice);
  }

  async function drain(at: number): Promise<void> {
    const process = processAt(at);
    const { running } = process.services;
    if (!process.isUp || running.draining) return;
    report.push(`${process.name} drains`);
    running.leave();
    running.drain();
    await running.whenIdle(DRAIN_MS);
    if (running.busy) {
      process.wasInterrupted = true;
      running.interrupt();
      await running.whenIdle(INTERRUPT_MS);
    }
    if (!process.isAlive) return;
    for (const life of lives) if (life.process === process) life.client.destroy();
    await process.store.close();
    if (!process.isAlive) return;
    report.push(`${process.name} has drained and is started again`);
    startAgain(at);
  }

  function startAgain(at: number): void {
    const process = processAt(at);
    process.hasDied = true;
    process.end();
    processes[at] = start(`${process.name}'`);
  }

  async function rest(): Promise<void> {
    for (;;) {
      await time.settle();
      await watchFinals();
      const [first] = going();
      if (first === undefined) return;
      proceed(first);
    }
  }

  /** A final state never changes, however shortly. */
  async function watchFinals(): Promise<void> {
    if (!isWritten) return;
    isWritten = false;
    const rows = await findAll(lives.map(({ requestId }) => ['findAny', requestId]));
    for (const { name, key } of callers)
      if (key !== undefined) noteOverdraft(name, (await find('findKey', key.keyId)) as KeyRow);
    for (const [index, row] of (rows as readonly (RecordRow | null)[]).entries()) {
      const life = lifeOf(index);
      const { requestId, number } = life;
      const known = finals.get(requestId);
      if (known === undefined && (row === null || row.status === 'processing')) continue;
      finals.set(requestId, row);
      if (row === null) life.isTakenBack = true;
      const change = known === undefined ? undefined : changeOf(known, row);
      if (change !== undefined) noticed.push(`the final record of r${number} ${change}`);
    }
  }

  /** What is spent and what is reserved together are never above what a key has. Nothing costs more than its hold here. */
  function noteOverdraft(name: string, { balanceMicro, heldMicro, daySpentMicro, spendPerDayMicro }: KeyRow): void {
    if ((balanceMicro ?? 0) < 0) noticed.push(`${name} has ${balanceMicro} left`);
    if (daySpentMicro + heldMicro > (spendPerDayMicro ?? Infinity))
      noticed.push(`${name} has spent ${daySpentMicro} and holds ${heldMicro} of ${spendPerDayMicro}`);
  }

  async function comeToRest(): Promise<Aftermath> {
    for (const process of processes) if (process.isPaused) process.resume();
    await time.pass(0);
    await rest();
    for (const process of processes) if (process.isAlive) recover(process);
    // Long enough for every retry and for what is read for its usage alone, and too short for a silence.
    for (let turn = 0; turn < 3; turn += 1) {
      await rest();
      await time.pass(TURN_MS);
    }
    await rest();
    // A second backend that is asked at the end of that time may go on for a moment.
    const leaked = backend.calls
      .filter(({ startedAtMs }) => startedAtMs <= time.nowMs() - TURN_MS)
      .filter(({ isOver, life }) => !isOver && isUnwanted(lifeOf(life)))
      .map(({ life }) => `the backend works on for r${life}, which nobody wants`);
    // Until what was lost is undone for the second time.
    await time.pass(LOST_MS);
    await rest();
    for (let turn = 0; turn < 3 && lives.some(({ isOver, process }) => !isOver && process.isAlive); turn += 1) {
      await time.pass(SILENCE_MS);
      await rest();
    }
    for (const life of lives) life.isCut = life.client.destroyed && !life.client.writableFinished;
    return {
      keys: history.keys,
      limit: history.limit,
      backends: history.backends,
      tookMs: time.nowMs() - startMs,
      lives,
      callers,
      calls: backend.calls,
      cancelled,
      leaked,
      noticed,
      ask: find,
      identities,
    };
  }

  /** Whoever was taken for dead does not hear what others are asked to cancel meanwhile. */
  function isUnwanted({ isOver, hasLeft, requestId, process }: Life): boolean {
    return isOver || hasLeft || (cancelled.has(requestId) && !process.wasTakenForDead);
  }

  async function find(...operation: Operation): Promise<unknown> {
    return (await findAll([operation]))[0];
  }

  async function findAll(operations: readonly Operation[]): Promise<readonly unknown[]> {
    const reply = await observer.run('read', operations);
    if ('failure' in reply) throw new Error(reply.failure.message);
    return reply.results;
  }
}

/** Returns how a final record has changed, without what differs when the same history is run again. */
function changeOf(known: RecordRow | null, row: RecordRow | null): string | undefined {
  if (row === null) return undefined;
  if (known === null) return 'is there again';
  const columns = (Object.keys(row) as (keyof RecordRow)[]).filter((column) => column !== 'confirmed');
  const changes = columns
    .filter((column) => row[column] !== known[column])
    .map((column) => (column === 'completedAtMs' ? 'another time' : `${column} ${known[column]} → ${row[column]}`));
  return changes.length === 0 ? undefined : `has changed: ${changes.join(', ')}`;
}

const READERS: Readonly<Record<Create['kind'], (client: Client) => Told>> = {
  JSON: readJson,
  'a stream': (client) => readEvents(client, false),
  'a WebSocket': (client) => readEvents(client, true),
  chat: readChat,
  'a chat stream': readChat,
};

/** Returns whether somebody was told of the record of this request. */
function isKnown({ seen }: Life): boolean {
  return (seen.first ?? seen.end ?? null) !== null;
}

/** Returns whether both have the same caller, idempotency key and body. */
export function isEqual(
  one: Pick<Life, 'caller' | 'step' | 'body'>,
  other: Pick<Life, 'caller' | 'step' | 'body'>,
): boolean {
  const isSameKey = one.step.name !== null && one.step.name === other.step.name;
  return (
    isSameKey && one.caller === other.caller && isChat(one.step) === isChat(other.step) && one.body.equals(other.body)
  );
}

export function isChat({ kind }: Create): boolean {
  return kind === 'chat' || kind === 'a chat stream';
}

const ROUTES = createRoutes(['a', 'b'].map((name) => onlyBackend({ name, isOnly: false })));

/** Callers have new names in each history, and must not decide which backend is the first choice. */
function cacheKeyOf(words: string, { identity }: Pick<Caller, 'identity'>): string {
  const first = words.length % 2 === 0 ? 'a' : 'b';
  const keys = 'abcdefghijklmnopqrstuvwxyz'.split('').map((letter) => words + letter);
  const isWanted = (key: string): boolean =>
    ROUTES.choose('m', () => affinityOf(identity[0], { prompt_cache_key: key })).backends[0] === first;
  return keys.find(isWanted) ?? words;
}

function bodyOf(step: Create, which: number, caller: Pick<Caller, 'identity'>): object {
  const { kind, name, isMisshapen } = step;
  const words = `say ${name ?? `something else ${which}`}`;
  const stream = kind !== 'JSON' && kind !== 'chat';
  const common = { model: isMisshapen ? 7 : 'm', stream, prompt_cache_key: cacheKeyOf(words, caller) };
  if (isChat(step)) return { ...common, messages: [{ role: 'user', content: words }], max_tokens: 50 };
  return { ...common, input: words };
}

function overHttp({ client }: Life): Omit<Incoming, 'facts' | 'caller' | 'idempotencyKey' | 'body'> {
  return {
    baseUrl: () => '',
    hasReplyBegun: () => client.headersSent,
    isServed: () => client.closed,
    onceServed: (listener) => void client.once('close', () => listener(client.writableFinished)),
    setHeader: (name, value) => client.setHeader(name, value),
    sendDuplicate(status, record, error) {
      client.writeHead(status).end(JSON.stringify({ ...record, error }));
    },
  };
}
