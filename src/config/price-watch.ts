import { createHash } from 'node:crypto';
import type { CurrentFiles } from './current-files.ts';
import type { Store, StoreLog } from '../core/books/store.ts';

const EVERY_MS = 15_000;

export interface PriceWatchOptions {
  readonly store: Pick<Store, 'comparePrices' | 'noteCurrency'>;
  readonly prices: Pick<CurrentFiles['prices'], 'present'>;
  readonly log: StoreLog;
  readonly everyMs?: number;
}

/** Warns when gateways on a database have different prices, and when amounts were charged in another currency. Returns a function that stops it. */
export function watchPrices({ store, prices, log, everyMs = EVERY_MS }: PriceWatchOptions): () => void {
  let logged = '';
  let isComparing = false;
  let noted: string | undefined;

  async function compare(): Promise<void> {
    if (isComparing) return;
    isComparing = true;
    try {
      const version = versionOf(prices);
      const others = await store.comparePrices(version);
      const found = others.length === 0 ? '' : JSON.stringify([version, others]);
      if (found !== '' && found !== logged) log.warn({ version, others }, DIFFERENT);
      if (found === '' && logged !== '')
        log.info({ version }, 'all gateways on the database have the same prices again');
      logged = found;
      await noteCurrency();
    } catch {
      // The store logs its own outages.
    } finally {
      isComparing = false;
    }
  }

  async function noteCurrency(): Promise<void> {
    const currency = prices.present?.currency;
    if (currency === undefined || currency === noted) return;
    const former = await store.noteCurrency(currency);
    noted = currency;
    if (former !== undefined) log.warn({ former_currency: former, currency }, RELABELLED);
  }

  const timer = setInterval(() => void compare(), everyMs);
  timer.unref();
  void compare();
  return () => clearInterval(timer);
}

const RELABELLED =
  'PRICES_FILE has another currency than before: what was charged, granted and limited keeps its number and is shown in the new one';
const DIFFERENT = 'other gateways on the database have different prices; give all of them the same PRICES_FILE';

function versionOf({ present }: PriceWatchOptions['prices']): string {
  if (present === null) return 'none';
  return createHash('sha256').update(JSON.stringify(present.table)).digest('hex').slice(0, 12);
}
