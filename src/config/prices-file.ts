import schema from '../../schemas/prices.json' with { type: 'json' };
import type { PriceTier } from '../contract/types.ts';
import type { PriceTable } from '../contract/settings-types.ts';
import { UTC } from '../core/time.ts';
import { createCalendar } from '../store/calendar.ts';
import { createPrices, serviceTierOf, type Prices } from '../core/money/pricing.ts';
import { compileBySize, pathOf, readTableFile, type TableFile } from './table-file.ts';

/** Reads and checks the prices of models. Without a file there are none. Does not throw. */
export function readPricesFile(path: string | undefined, setting = 'PRICES_FILE'): TableFile<Prices> {
  return readTableFile({
    setting,
    path,
    compile: compilePriceTable,
    check: (table) => [...findUnknownZone(table), ...findRepeated(table)],
    create: createPrices,
  });
}

function findUnknownZone({ time_zone = UTC }: PriceTable): readonly string[] {
  try {
    createCalendar(time_zone);
    return [];
  } catch {
    return ['time_zone must be the name of a time zone, such as "Europe/Berlin"'];
  }
}

/** Which of two prices holds for one tier, nobody could say. */
function findRepeated({ models }: PriceTable): readonly string[] {
  return Object.entries(models).flatMap(([model, { tiers = [] }]) => {
    const seen = new Set([nameOf({})]);
    return tiers.flatMap((tier, index) => {
      if (seen.size < seen.add(nameOf(tier)).size) return [];
      return [`${pathOf('models', model, `tiers.${index}`)} must have a service_tier or above_tokens of its own`];
    });
  });
}

function nameOf({ service_tier, above_tokens }: Pick<PriceTier, 'service_tier' | 'above_tokens'>): string {
  return JSON.stringify([serviceTierOf(service_tier), above_tokens]);
}

const compilePriceTable = compileBySize<PriceTable>(schema);
