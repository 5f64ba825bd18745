import type { Models } from '../core/models.ts';
import { comparePrices, type Prices } from '../core/money/pricing.ts';
import { parametersOf, readBackendsFile, type BackendTable } from './backends-file.ts';
import type { Config } from './config.ts';
import { readModelsFile } from './models-file.ts';
import { fileOf, readSettings, type Environment } from './settings.ts';
import { readPricesFile } from './prices-file.ts';
import type { TableFile } from './table-file.ts';

/** What a file says now. A caller that holds the content keeps it through a change. */
export interface CurrentFile<Content> {
  /** Null without a file. */
  readonly present: Content | null;
  replace(content: Content | null): void;
  onReplace(listener: (content: Content | null) => void): void;
}

/** The files beside the settings that are read again while the gateway runs. */
export interface CurrentFiles {
  /** Those of API_KEYS beside those of the file. */
  readonly apiKeys: CurrentFile<readonly string[]>;
  readonly prices: CurrentFile<Prices>;
  readonly models: CurrentFile<Models>;
  readonly backends: CurrentFile<BackendTable>;
  /**
   * A file with a mistake leaves what it said before. The environment names the file of keys, and has the keys of the backends.
   * Does not throw.
   */
  reload(env: Environment): void;
}

interface CurrentFilesOptions extends Config {
  readonly log: FilesLog;
}

interface FilesLog {
  info(fields: Readonly<Record<string, unknown>>, message: string): void;
  error(fields: Readonly<Record<string, unknown>>, message: string): void;
}

export function createCurrentFiles(options: CurrentFilesOptions): CurrentFiles {
  const { authMode, pricesFile, modelsFile, backendsFile, dialect, log } = options;
  const apiKeys = createCurrentFile(options.apiKeys);
  const prices = createCurrentFile(options.prices);
  const models = createCurrentFile(options.models);
  const backends = createCurrentFile(options.backends);

  function read<Content>(
    setting: string,
    current: CurrentFile<Content>,
    { content, problems }: TableFile<Content>,
    describe: (content: Content, before: Content | null) => Readonly<Record<string, unknown>>,
  ): void {
    if (content === null)
      return log.error({ problems }, `${setting} has mistakes, so its former content stays in effect`);
    const before = current.present;
    current.replace(content);
    log.info(describe(content, before), `${setting} was read and is in effect`);
  }

  return {
    apiKeys,
    prices,
    models,
    backends,
    reload(env) {
      const hasKeysFile = authMode === 'static' && fileOf(env, 'API_KEYS') !== undefined;
      if (hasKeysFile) read('API_KEYS_FILE', apiKeys, readApiKeys(env), ({ length }) => ({ keys: length }));
      if (backendsFile !== null)
        read('BACKENDS_FILE', backends, readBackendsFile(options, env), (table) => ({
          backends: table.backends.length,
        }));
      if (pricesFile !== null) read('PRICES_FILE', prices, readPricesFile(pricesFile), describePrices);
      const dialects = parametersOf(dialect, backends.present);
      if (modelsFile !== null) read('MODELS_FILE', models, readModelsFile(modelsFile, dialects), countModels);
      if (!hasKeysFile && pricesFile === null && modelsFile === null && backendsFile === null)
        log.info({}, 'there is no API_KEYS_FILE, BACKENDS_FILE, PRICES_FILE or MODELS_FILE to read again');
    },
  };
}

function readApiKeys(env: Environment): TableFile<readonly string[]> {
  const { settings, problems } = readSettings(env);
  const lines = problems.filter(({ names }) => names.includes('API_KEYS')).map(({ line }) => line);
  if (lines.length === 0 && settings.API_KEYS.length === 0) lines.push('API_KEYS_FILE: has no key');
  return { content: lines.length === 0 ? settings.API_KEYS : null, problems: lines };
}

const countModels = ({ modelCount }: { readonly modelCount: number }) => ({ models: modelCount });

/** A line of a log has to end somewhere. */
const MAX_LOGGED_CHANGES = 50;

function describePrices(prices: Prices, before: Prices | null) {
  const changes = comparePrices(before?.table ?? null, prices.table);
  const more = changes.length - MAX_LOGGED_CHANGES;
  return {
    ...countModels(prices),
    currency: prices.currency,
    ...(before !== null && before.currency !== prices.currency && { former_currency: before.currency }),
    ...(before !== null && before.timeZone !== prices.timeZone && { time_zone_at_next_start: prices.timeZone }),
    changes: changes.slice(0, MAX_LOGGED_CHANGES),
    ...(more > 0 && { more_changes: more }),
  };
}

export function createCurrentFile<Content>(content: Content | null): CurrentFile<Content> {
  let present = content;
  const listeners: ((content: Content | null) => void)[] = [];
  return {
    get present() {
      return present;
    },
    replace(content) {
      present = content;
      for (const listener of listeners) listener(content);
    },
    onReplace: (listener) => void listeners.push(listener),
  };
}
