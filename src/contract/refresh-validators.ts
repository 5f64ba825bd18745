/** `npm start` runs this: it makes the validators anew when a schema, or what makes them, is newer than they are. */
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

const SCHEMAS = join(import.meta.dirname, '../../schemas');
const madeMs = changedMs(join(import.meta.dirname, 'validators.generated.js'));
const sources = [
  join(import.meta.dirname, 'generate-validators.ts'),
  ...readdirSync(SCHEMAS, { encoding: 'utf8' }).map((name) => join(SCHEMAS, name)),
];
if (sources.some((path) => changedMs(path) > madeMs)) {
  const { writeValidators } = await import('./generate-validators.ts');
  writeValidators();
}

function changedMs(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}
