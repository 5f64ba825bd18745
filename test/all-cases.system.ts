/** All cases of the tests of which `npm test` tries a part. */

import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const files = globSync('**/*.test.ts', { cwd: import.meta.dirname }).filter((file) =>
  /support\/property\.ts|funds-conformance\.ts|money-attacks\.ts/.test(
    readFileSync(join(import.meta.dirname, file), 'utf8'),
  ),
);
for (const file of files.toSorted()) await import(`./${file}`);
