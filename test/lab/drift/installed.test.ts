/** Names that the installed `openai` package has, and no table here. */

import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { EVERY_ITEM } from '../../support/client-items.ts';
import { missingOf, PACKAGES } from './vocabulary.ts';

/** Only their own server can read them. */
const OF_ONE_SERVER = ['compaction', 'compaction_trigger', 'item_reference'];

describe('the installed openai package', () => {
  const published = PACKAGES.openai(dirname(fileURLToPath(import.meta.resolve('openai'))));

  for (const [kind, missing] of Object.entries(missingOf(published))) {
    it(`has no ${kind} that are not in a table here`, () => {
      expect(missing).to.deep.equal([]);
    });
  }

  it('has no items that the tests do not replay', () => {
    const replayed = new Set([...EVERY_ITEM.map(({ type = 'message' }) => type), ...OF_ONE_SERVER]);
    expect(published.items.filter((type) => !replayed.has(type))).to.deep.equal([]);
  });
});
