/** Names that the installed `openai` package has, and no table here. */

import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { missingOf, PACKAGES } from './vocabulary.ts';

describe('the installed openai package', () => {
  const published = PACKAGES.openai(dirname(fileURLToPath(import.meta.resolve('openai'))));

  for (const [kind, missing] of Object.entries(missingOf(published))) {
    it(`has no ${kind} that are not in a table here`, () => {
      expect(missing).to.deep.equal([]);
    });
  }
});
