import cluster from 'node:cluster';
import type { BackendTable } from '../../config/backends-file.ts';
import { createCurrentFile, type CurrentFiles } from '../../config/current-files.ts';
import { createModels, type Models } from '../../core/models.ts';
import { createPrices, type Prices } from '../../core/money/pricing.ts';
import { createGateway, type Gateway, type ListBackends, type ListLimits, type SharedParts } from '../../gateway.ts';
import { createLogger, openLogOutput } from '../../telemetry/log.ts';
import type { Metrics, ShownMetrics } from '../../telemetry/metrics.ts';
import { crash, ignoreGoneReaders } from '../serve.ts';
import { forgetStart } from '../young-objects.ts';
import { openClientStore } from '../../store/open.ts';
import { openRpc } from '../../rpc/rpc.ts';
import type { Addresses } from '../../config/banner.ts';
import type { PrimaryService, Tables, WorkerService, WorkerStart } from './messages.ts';

/** The first process reads the files. */
const current: CurrentFiles = {
  apiKeys: createCurrentFile<readonly string[]>(null),
  prices: createCurrentFile<Prices>(null),
  models: createCurrentFile<Models>(null),
  backends: createCurrentFile<BackendTable>(null),
  reload: ignore,
};
let gateway: Gateway | undefined;
let metrics: Metrics | undefined;
let listOwnBackends: ListBackends | undefined;
let listOwnLimits: ListLimits | undefined;
const cancelListeners = new Set<() => void>();

const service: WorkerService = {
  start,
  probe: async () => gateway?.probe(),
  ping: ignore,
  snapshotMetrics: async () => metrics?.snapshot() ?? [],
  listBackends: () => listOwnBackends?.() ?? [],
  listLimits: () => listOwnLimits?.() ?? [],
  hearCancel() {
    for (const heard of cancelListeners) heard();
  },
  changeTables,
  drain: () => endAfter(gateway?.drain()),
  close: () => endAfter(gateway?.close()),
};

ignoreGoneReaders();
// A terminal and systemd send them to all processes; the first one decides for the others.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, ignore);

// Without the first process `node:cluster` ends this one, so a message that fails is no crash.
cluster.worker?.on('error', ignore);
const primary = openRpc<PrimaryService>((message) => process.send?.(message, ignore), service);
process.on('message', primary.receive);
// Shows that messages are heard from now on.
process.send?.('here', ignore);

async function start({ number, config, tables, demoBaseUrl, isStoreClient }: WorkerStart): Promise<Addresses> {
  // In the turn of the message: a later change must not be undone.
  changeTables(tables);
  const log = createLogger(config.logLevel, await openLogOutput(config.logFormat)).child({ worker: number });
  const opened = await createGateway(config, {
    log,
    ...(isStoreClient && { store: openClientStore({ ...config, log, run, hearCancels }) }),
    shared: { demoBaseUrl, files: current, joinMetrics, joinBackends, joinLimits },
  });
  process.on('uncaughtException', (thrown) => crash(opened, thrown));
  process.on('unhandledRejection', (thrown) => crash(opened, thrown));
  gateway = opened;
  forgetStart();
  return opened.listen();
}

function changeTables({ apiKeys, prices, models, backends }: Tables): void {
  current.apiKeys.replace(apiKeys);
  current.prices.replace(prices && createPrices(prices));
  current.models.replace(models && createModels(models));
  current.backends.replace(backends);
}

function run(...batch: Parameters<PrimaryService['run']>): ReturnType<PrimaryService['run']> {
  return primary.ask('run', ...batch);
}

function hearCancels(heard: () => void): () => void {
  cancelListeners.add(heard);
  return () => cancelListeners.delete(heard);
}

function joinMetrics(own: Metrics): ShownMetrics {
  metrics = own;
  return { show: () => primary.ask('showMetrics'), contentType: own.contentType };
}

function joinBackends(listOwn: ListBackends): ReturnType<SharedParts['joinBackends']> {
  listOwnBackends = listOwn;
  return () => primary.ask('listBackends');
}

function joinLimits(listOwn: ListLimits): ReturnType<SharedParts['joinLimits']> {
  listOwnLimits = listOwn;
  return () => primary.ask('listLimits');
}

async function endAfter(closed: Promise<void> | undefined): Promise<void> {
  await closed;
  process.exit(0);
}

function ignore(): void {
  // The listener itself is what counts.
}
