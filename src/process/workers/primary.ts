/**
 * The first process of `WORKERS` serves no request. It has what may exist only once: the writer of
 * the records, the demo backend, the prices, what is said of models and the sum of the metrics.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { startDemoBackend } from '../../backend/demo/demo.ts';
import { messageOf } from '../../core/errors.ts';
import { describeStart, type Addresses } from '../../config/banner.ts';
import { isDemo, wantsMetrics, type Config } from '../../config/config.ts';
import { createCurrentFiles, type CurrentFiles } from '../../config/current-files.ts';
import type { Gateway } from '../../gateway.ts';
import { openWithSecret } from '../../config/gateway-secret.ts';
import type { JoinedMetrics } from '../../telemetry/joined-metrics.ts';
import { createLogger, openLogOutput } from '../../telemetry/log.ts';
import { openSharedStore, type SharedStore } from '../../store/open.ts';
import type { Operation } from '../../store/queue/operations.ts';
import { createSupervisor, DiedAtStart, type LaunchedWorker } from './supervisor.ts';
import { joinBackends } from '../../admin/backends.ts';
import { joinLimits } from '../../admin/limits.ts';
import type { PrimaryService, Tables, WorkerStart } from './messages.ts';
import { forkWorker, type WorkerProcess } from './worker-process.ts';

/** Workers get this time after their drain for last writes and replies. */
const END_WITHIN_MS = 8000;
const ANSWER_WITHIN_MS = 1000;
const NO_TABLES = { apiKeys: [], prices: null, models: null, backends: null };

/** Returns a gateway of `WORKERS` processes. Throws when the store cannot be opened. */
export async function openWorkers(config: Config): Promise<Gateway> {
  const log = createLogger(config.logLevel, await openLogOutput(config.logFormat));
  const { store, secret } = await openWithSecret(config, openSharedStore({ ...config, log }));
  const demo = isDemo(config) ? await startDemoBackend() : undefined;
  const metrics = wantsMetrics(config) ? await openMetrics() : undefined;
  const files = createCurrentFiles({ ...config, log });
  const supervisor = createSupervisor({ count: config.workers, launch, log });
  let addresses: Addresses = { url: '' };
  let closed: Promise<void> | undefined;

  function launch(number: number): LaunchedWorker {
    const client = store?.admit();
    const worker = forkWorker({
      async run(mode, batch) {
        if (client === undefined) throw new Error('the records are on a server');
        const reply = await client.run(mode, batch);
        if (batch.some(concernsOwner)) announceCancel(worker);
        return reply;
      },
      showMetrics: () => metrics?.show() ?? Promise.resolve(''),
      listBackends: async () => joinBackends(await askEach(({ rpc }) => rpc.ask('listBackends'))),
      listLimits: async () => joinLimits(await askEach(({ rpc }) => rpc.ask('listLimits'))),
    } satisfies PrimaryService);
    const leaveMetrics = metrics?.join(() => worker.rpc.ask('snapshotMetrics'));
    const ended = worker.ended.then(async (how) => {
      leaveMetrics?.();
      client?.leave();
      if (store !== undefined) await recoverRecords(store, number, log);
      return how;
    });
    const ready = whenReady(worker, {
      number,
      config: { ...config, ...NO_TABLES, gatewaySecret: secret, warnings: [] },
      tables: tablesOf(files),
      demoBaseUrl: demo?.baseUrl ?? null,
      isStoreClient: client !== undefined,
    });
    return { ...worker, ended, ready };
  }

  function announceCancel(receiver: WorkerProcess): void {
    for (const { pid, rpc } of supervisor.serving)
      if (pid !== receiver.pid) rpc.ask('hearCancel').catch(() => undefined);
  }

  /** A worker that hangs is left out. */
  function askEach<Item>(ask: (worker: WorkerProcess) => Promise<readonly Item[]>): Promise<(readonly Item[])[]> {
    const asked = supervisor.serving.map((worker) =>
      Promise.race([ask(worker), delay(ANSWER_WITHIN_MS, [], { ref: false })]).catch(() => []),
    );
    return Promise.all(asked);
  }

  function end(how: 'drain' | 'close', withinMs: number): Promise<void> {
    closed ??= endAll(how, withinMs);
    return closed;
  }

  async function endAll(how: 'drain' | 'close', withinMs: number): Promise<void> {
    await supervisor.stop(how, withinMs);
    await demo?.close();
    await store?.close();
  }

  return {
    async listen() {
      addresses = await supervisor.start();
      for (const warning of config.warnings) log.warn(warning);
      return addresses;
    },
    drain: () => end('drain', config.drainDelayMs + config.drainTimeoutMs + END_WITHIN_MS),
    close: () => end('close', END_WITHIN_MS),
    probe: async () => supervisor.serving[0]?.rpc.ask('probe'),
    reload(env) {
      files.reload(env);
      // One that is being started was sent the tables of before, and hears these after them.
      for (const { rpc } of supervisor.living) rpc.ask('changeTables', tablesOf(files)).catch(() => undefined);
    },
    get banner() {
      return describeStart({ config, ...addresses, demo: demo !== undefined, workers: config.workers });
    },
  };
}

/** The worker that runs the request looks for cancels and for doubts together. */
function concernsOwner([name]: Operation): boolean {
  return name === 'requestCancel' || name === 'requestCancelOfAny' || name === 'doubt';
}

/** Loads prom-client only where metrics are on. */
async function openMetrics(): Promise<JoinedMetrics> {
  const [{ joinMetrics }, { snapshotProcess }] = await Promise.all([
    import('../../telemetry/joined-metrics.ts'),
    import('../../telemetry/metrics.ts'),
  ]);
  return joinMetrics(snapshotProcess);
}

async function whenReady({ rpc, ended }: WorkerProcess, start: WorkerStart): Promise<Addresses> {
  const died = ended.then((how) => {
    throw new DiedAtStart(`Worker ${start.number} ended before it listened (${how}).`);
  });
  // The end of the process says more than the end of the rpc, which comes a moment earlier.
  const answer = rpc
    .ask('start', start)
    .catch((error: unknown) => (rpc.isDisconnected ? died : Promise.reject(new Error(messageOf(error)))));
  return Promise.race([answer, died]);
}

async function recoverRecords(store: SharedStore, worker: number, log: Logger): Promise<void> {
  try {
    const recovered = await store.recover();
    if (recovered > 0) log.info({ recovered, worker }, 'closed what a dead worker left unfinished');
  } catch (error) {
    // The upkeep of the store tries again.
    log.warn({ reason: messageOf(error), worker }, 'cannot close what a dead worker left unfinished yet');
  }
}

function tablesOf({ apiKeys, prices, models, backends }: CurrentFiles): Tables {
  return {
    apiKeys: apiKeys.present ?? [],
    prices: prices.present?.table ?? null,
    models: models.present?.table ?? null,
    backends: backends.present,
  };
}
