/** All cases of the tests of which `npm test` tries a part. */

import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const files = globSync('**/*.test.ts', { cwd: import.meta.dirname }).filter((file) =>
  readFileSync(join(import.meta.dirname, file), 'utf8').includes('support/property.ts'),
);
for (const file of files.toSorted()) await import(`./${file}`);
