import type { Prices } from '../core/money/pricing.ts';
import { readPricesFile } from './prices-file.ts';

/** A caller that holds a price keeps it through a change. */
export interface CurrentPrices {
  readonly currency: string | null;
  /** A file with a mistake leaves the prices as they are. Does not throw. */
  reload(): void;
  replace(prices: Prices | null): void;
  readonly present: Prices | null;
}

interface CurrentPricesOptions {
  readonly pricesFile: string | null;
  readonly prices: Prices | null;
  readonly log: PricesLog;
}

interface PricesLog {
  info(fields: Readonly<Record<string, unknown>>, message: string): void;
  error(fields: Readonly<Record<string, unknown>>, message: string): void;
}

/** Returns the prices that were read at the start. Without a price file no model has a price. */
export function createCurrentPrices({ pricesFile, prices, log }: CurrentPricesOptions): CurrentPrices {
  let current = prices;
  return {
    get currency() {
      return current?.currency ?? null;
    },
    reload() {
      if (pricesFile === null) {
        log.info({}, 'there is no PRICES_FILE to be read again');
        return;
      }
      const { prices, problems } = readPricesFile(pricesFile);
      if (prices === null) {
        log.error({ problems }, 'PRICES_FILE has mistakes: the prices stay as they were');
        return;
      }
      current = prices;
      log.info(
        { models: prices.modelCount, currency: prices.currency },
        'PRICES_FILE was read: its prices hold from now on',
      );
    },
    replace(prices) {
      current = prices;
    },
    get present() {
      return current;
    },
  };
}
