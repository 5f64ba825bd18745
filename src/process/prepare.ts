/** `npm ci` runs this in a clone. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { writeValidators } from '../contract/generate-validators.ts';

/** The command line, with the Node of the packages, whatever else is installed. */
const COMMAND = `#!/bin/sh
here=$(dirname "$0")
exec "$here/node_modules/.bin/node" "$here/src/cli/main.ts" "$@"
`;

writeValidators();
writeFileSync(join(import.meta.dirname, '../../gateway'), COMMAND, { mode: 0o755 });
await import('./warm-up.ts');
