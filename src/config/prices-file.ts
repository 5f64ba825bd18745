import schema from '../../schemas/prices.json' with { type: 'json' };
import { openAjv } from '../contract/ajv.ts';
import type { PriceTable } from '../contract/types.ts';
import { lazily } from '../core/lazily.ts';
import { createPrices, type Prices } from '../core/money/pricing.ts';
import { readTableFile, type TableFile } from './table-file.ts';

/** Reads and checks the prices of models. Without a file there are none. Does not throw. */
export function readPricesFile(path: string | undefined, setting = 'PRICES_FILE'): TableFile<Prices> {
  return readTableFile({ setting, path, compile: compilePriceTable, create: createPrices });
}

const compilePriceTable = lazily(() => openAjv({ allErrors: true }).compile<PriceTable>(schema));
