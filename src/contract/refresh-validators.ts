/** `npm start` runs this: it makes the validators anew when a schema is newer than they are. */
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

const SCHEMAS = join(import.meta.dirname, '../../schemas');
const madeMs = changedMs(join(import.meta.dirname, 'validators.generated.js'));
if (readdirSync(SCHEMAS).some((name) => changedMs(join(SCHEMAS, name)) > madeMs)) {
  const { writeValidators } = await import('./generate-validators.ts');
  writeValidators();
}

function changedMs(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}
