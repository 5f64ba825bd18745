/** What a field for a name suggests. */

import { isAbort, toFailure } from '../client.js';

/** @import { UsageTotalList } from '../../contract/operator-types.ts' */
/** @import { Page } from './main.js' */

/** @typedef {(text: string) => Promise<readonly string[]>} Suggest Returns names with this text in them. */

const MOST = '20';

/** @type {(page: Page, kind: 'keys' | 'groups') => Suggest} */
export function accountsOf({ client, signal }, kind) {
  return async (search) => {
    const query = new URLSearchParams({ limit: MOST, ...(search !== '' && { search }) });
    const found = await orNothing(client.get(`${kind}?${query}`, { signal }));
    const { data } = /** @type {{ data: readonly { name: string }[] }} */ (found ?? { data: [] });
    return data.map(({ name }) => name);
  };
}

/** Suggests the models that were used of late. @type {(page: Page) => Suggest} */
export function modelsOf({ client, signal }) {
  /** @type {Promise<unknown> | null} */
  let asked = null;
  return async (text) => {
    asked ??= orNothing(client.get('usage/totals?by=model', { signal }));
    const { data } = /** @type {Pick<UsageTotalList, 'data'>} */ ((await asked) ?? { data: [] });
    return among(data.map(({ name }) => name))(text);
  };
}

/** @type {(names: readonly string[]) => Suggest} */
export function among(names) {
  return async (text) => names.filter((name) => name.toLowerCase().includes(text.toLowerCase()));
}

/** Without an answer nothing is suggested. @param {Promise<unknown>} asked */
async function orNothing(asked) {
  try {
    return await asked;
  } catch (error) {
    if (!isAbort(error)) toFailure(error);
    return null;
  }
}
