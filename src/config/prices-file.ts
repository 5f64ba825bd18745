import type { ErrorObject } from 'ajv';
import schema from '../../schemas/prices.json' with { type: 'json' };
import { createPrices, type Prices } from '../core/money/pricing.ts';
import { readJsonFile } from './json-file.ts';
import { lazily } from '../core/lazily.ts';
import { openAjv } from '../contract/ajv.ts';
import type { PriceTable } from '../contract/types.ts';

const MAX_PROBLEMS = 20;
const MAX_PLACE_CHARACTERS = 300;

export interface PricesFile {
  readonly prices: Prices | null;
  readonly problems: readonly string[];
}

/** Reads and checks the prices of models. Without a file there are none. Does not throw. */
export function readPricesFile(path: string | undefined): PricesFile {
  if (path === undefined) return { prices: null, problems: [] };
  const { value, problem } = readJsonFile(path);
  if (problem !== undefined) return { prices: null, problems: [`PRICES_FILE: ${problem}`] };
  const isPriceTable = compilePriceTable();
  if (isPriceTable(value)) return { prices: createPrices(value), problems: [] };
  const lines = [...new Set(isPriceTable.errors?.map(describe))];
  const shown = lines.slice(0, MAX_PROBLEMS);
  if (shown.length < lines.length) shown.push(`has ${lines.length - shown.length} more mistakes`);
  return { prices: null, problems: shown.map((line) => `PRICES_FILE: ${line}`) };
}

const compilePriceTable = lazily(() => openAjv({ allErrors: true }).compile<PriceTable>(schema));

function describe({ instancePath, keyword, params, parentSchema, propertyName, data }: ErrorObject): string {
  if (keyword === 'propertyNames' || propertyName !== undefined) {
    return 'models must have names of 1 to 256 characters, none of them a control character';
  }
  const place = toPlace(instancePath);
  switch (keyword) {
    case 'required':
      return `${place} must have ${String(params['missingProperty'])}`;
    case 'additionalProperties':
      return `${place} must not have ${JSON.stringify(params['additionalProperty']).slice(0, MAX_PLACE_CHARACTERS)}`;
    case 'type':
      if (typeof data === 'number') return `${place} must be in quotes, as in "2.50", since a JSON number is a float`;
      return `${place} must be ${String(params['type'])}`;
    default:
      return `${place} is not valid. ${String(parentSchema?.['description'] ?? '')}`.trim();
  }
}

/** Writes `models["gpt-4.1"].input`, since names of models have points and slashes. */
function toPlace(instancePath: string): string {
  const [top, model, ...rest] = instancePath
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
  if (top === undefined) return 'the file';
  if (model === undefined) return top;
  return [`${top}[${JSON.stringify(model).slice(0, MAX_PLACE_CHARACTERS)}]`, ...rest].join('.');
}
