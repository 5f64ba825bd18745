import type { Models } from '../core/models.ts';
import type { Prices } from '../core/money/pricing.ts';
import type { Config } from './config.ts';
import { readModelsFile } from './models-file.ts';
import { readPricesFile } from './prices-file.ts';
import type { TableFile } from './table-file.ts';

/** What a file says now. A caller that holds the content keeps it through a change. */
export interface CurrentFile<Content> {
  /** Null without a file. */
  readonly present: Content | null;
  replace(content: Content | null): void;
}

/** The files beside the settings that are read again while the gateway runs. */
export interface CurrentFiles {
  readonly prices: CurrentFile<Prices>;
  readonly models: CurrentFile<Models>;
  /** A file with a mistake leaves what it said before. Does not throw. */
  reload(): void;
}

type CurrentFilesOptions = Pick<Config, 'pricesFile' | 'prices' | 'modelsFile' | 'models' | 'dialect'> & {
  readonly log: FilesLog;
};

interface FilesLog {
  info(fields: Readonly<Record<string, unknown>>, message: string): void;
  error(fields: Readonly<Record<string, unknown>>, message: string): void;
}

/** Returns what was read at the start. */
export function createCurrentFiles(options: CurrentFilesOptions): CurrentFiles {
  const { pricesFile, modelsFile, dialect, log } = options;
  const prices = createCurrentFile(options.prices);
  const models = createCurrentFile(options.models);

  function read<Content extends { readonly modelCount: number }>(
    setting: string,
    current: CurrentFile<Content>,
    { content, problems }: TableFile<Content>,
  ): void {
    if (content === null) return log.error({ problems }, `${setting} has mistakes: what it said before still holds`);
    current.replace(content);
    log.info({ models: content.modelCount }, `${setting} was read: it holds from now on`);
  }

  return {
    prices,
    models,
    reload() {
      if (pricesFile !== null) read('PRICES_FILE', prices, readPricesFile(pricesFile));
      if (modelsFile !== null) read('MODELS_FILE', models, readModelsFile(modelsFile, dialect));
      if (pricesFile === null && modelsFile === null)
        log.info({}, 'there is no PRICES_FILE and no MODELS_FILE to be read again');
    },
  };
}

/** Returns a file that only `replace` changes. */
export function createCurrentFile<Content>(content: Content | null): CurrentFile<Content> {
  let present = content;
  return {
    get present() {
      return present;
    },
    replace(content) {
      present = content;
    },
  };
}
