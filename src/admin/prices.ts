import type { RequestHandler } from 'express';
import type { AdminPriceList, PriceTable } from '../contract/operator-types.ts';
import { listPrices } from '../core/money/pricing.ts';

/** Answers with the prices in force, which a SIGHUP may have changed. */
export function showPrices(prices: { readonly present: { readonly table: PriceTable } | null }): RequestHandler {
  return (_req, res) => {
    const table = prices.present?.table;
    const data = listPrices(table);
    res.json({ object: 'list', currency: table?.currency ?? null, data } satisfies AdminPriceList);
  };
}
