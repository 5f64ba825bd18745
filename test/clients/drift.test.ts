import { join } from 'node:path';
import { expect } from 'chai';
import { missingOf, PACKAGES } from '../lab/drift/vocabulary.ts';

for (const name of ['@ai-sdk/openai', '@openai/codex'] as const) {
  describe(`the installed ${name}`, () => {
    it('has no names that are not in a table here', () => {
      const published = PACKAGES[name](join(import.meta.dirname, 'node_modules', name));
      expect(missingOf(published)).to.deep.equal({ items: [], tools: [], events: [], parameters: [] });
    });
  });
}
