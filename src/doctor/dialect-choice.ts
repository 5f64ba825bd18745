import type { OwnDialect } from '../contract/settings-types.ts';
import { recognise, type Evidence } from './dialect-signs.ts';
import type { ProbeName } from './probes.ts';
import { DIALECTS, isDialectName, plainFieldOf, type Dialect, type DialectName } from '../core/dialects.ts';

export interface Seen {
  /** Returns whether a question was answered with yes; undefined where the answer is not clear. */
  readonly is: (name: ProbeName | 'abort') => boolean | undefined;
  readonly thinkTags: Dialect['thinkTags'];
  /** What a second turn must have of the first. */
  readonly wanted: readonly string[];
}

export type Differences = Omit<OwnDialect, 'extends'>;

export interface DialectChoice {
  readonly dialect: DialectName;
  readonly reason: string;
  readonly differences: Differences;
  readonly equivalents: readonly DialectName[];
}

/**
 * Returns the recognised dialect, else one that agrees with what the backend accepts. Its differences
 * also say what the backend takes better.
 */
export function chooseDialect(evidence: Evidence, seen: Seen): DialectChoice {
  const recognised = recognise(evidence);
  const [first, ...others] = recognised;
  if (first === undefined) return chooseByAbilities(seen);
  const names = recognised.map(({ dialect }) => dialect);
  const dialect = names.find((name) => suits(DIALECTS[name], seen)) ?? first.dialect;
  const signs = recognised.find((one) => one.dialect === dialect)?.signs.join(', ') ?? '';
  const perhaps = first.isCertain && others.length === 0 ? 'Recognised by' : 'Perhaps, by';
  return {
    dialect,
    reason: `${perhaps} ${signs}.`,
    differences: allDifferences(dialect, seen),
    equivalents: names.filter((name) => name !== dialect),
  };
}

function chooseByAbilities(seen: Seen): DialectChoice {
  if (suits(DIALECTS.generic, seen)) {
    const reason =
      'The kind of backend is unknown. This dialect agrees with what the backend accepts, and asks for the least.';
    return { dialect: 'generic', reason, differences: allDifferences('generic', seen), equivalents: [] };
  }
  const [dialect, ...equivalents] = Object.keys(DIALECTS)
    .filter(isDialectName)
    .filter((name) => suits(DIALECTS[name], seen));
  return {
    dialect: dialect ?? 'generic',
    reason:
      dialect === undefined
        ? 'The kind of backend is unknown, and no dialect agrees with all that it accepts.'
        : 'The kind of backend is unknown, but this dialect agrees with what it accepts.',
    differences: allDifferences(dialect ?? 'generic', seen),
    equivalents,
  };
}

/** Any kind of backend can lack a form of schemas, so that this says nothing of the kind. */
function suits(dialect: Dialect, seen: Seen): boolean {
  return Object.keys(findDifferences(dialect, seen).needed).every((name) => name === 'schemaForm');
}

function allDifferences(name: DialectName, seen: Seen): Differences {
  const { needed, better } = findDifferences(DIALECTS[name], seen);
  return { ...needed, ...better };
}

export interface FoundDifferences {
  /** Corrects what this dialect sends although the backend does not take it. */
  readonly needed: Differences;
  /** Sends what the backend takes although this dialect does not expect it. */
  readonly better: Differences;
}

export function findDifferences(dialect: Dialect, seen: Seen): FoundDifferences {
  const found = PROPERTIES.flatMap((compare) => compare(dialect, seen) ?? []);
  const pick = (isBetter: boolean): Differences =>
    Object.fromEntries(
      found.filter((one) => one.isBetter === isBetter).flatMap(({ difference }) => Object.entries(difference)),
    );
  return { needed: pick(false), better: pick(true) };
}

type Name = keyof Dialect;

type Compare = (
  dialect: Dialect,
  seen: Seen,
) => { readonly difference: Differences; readonly isBetter: boolean } | undefined;

/**
 * Describes a property of dialects: which value suits what doctor saw (undefined where that is not
 * clear), and the values that ask for more than those before them. Without such an order each
 * difference is needed.
 */
function property<N extends Name>(
  name: N,
  valueOf: (seen: Seen, current: Dialect[N]) => Dialect[N] | undefined,
  order: readonly Dialect[N][] = [],
): Compare {
  return (dialect, seen) => {
    const current = dialect[name];
    const value = valueOf(seen, current);
    if (value === undefined || value === current) return undefined;
    return { difference: { [name]: value }, isBetter: order.indexOf(value) > order.indexOf(current) };
  };
}

/** Every property about which doctor asks. That a role or a field of a limit is taken makes it no better than another. */
const PROPERTIES: readonly Compare[] = [
  property('tokenLimitField', ({ is }) => {
    const [old, recent] = [is('max_tokens'), is('max_completion_tokens')];
    if (old === false && recent === true) return 'max_completion_tokens';
    return recent === false && old === true ? 'max_tokens' : undefined;
  }),
  property('systemRole', ({ is }) => (is('developer role') === false ? 'system' : undefined)),
  property('systemPlace', ({ is }) => either(is('system message later on'), 'in-place', 'merged-first'), [
    'merged-first',
    'in-place',
  ]),
  property('userMessages', ({ is }) => either(is('user messages in a row'), 'as-given', 'merged'), [
    'merged',
    'as-given',
  ]),
  property('thinkTags', ({ thinkTags }, current) =>
    thinkTags === false || current === 'opened' ? undefined : thinkTags,
  ),
  property(
    'toolChoice',
    ({ is }, current) => {
      if (is('tools') !== true || is('tool_choice named') === undefined) return undefined;
      // No backend is asked with a list of allowed tools.
      if (is('tool_choice named') === true) return current === 'allowed' ? current : 'named';
      // A model that likes to call does so without being forced, and in spite of a `none`.
      if (current === 'ignored' && is('tool_choice none') !== true) return undefined;
      return either(is('tool_choice required'), 'words', 'ignored');
    },
    ['ignored', 'words', 'named', 'allowed'],
  ),
  property(
    'schemaForm',
    ({ is }) => {
      const [schema, object] = [is('json_schema'), is('json_object')];
      if (schema === true && object === true) return 'both';
      if (schema === true && object === false) return 'json_schema';
      return schema === false && object === true ? 'json_object' : undefined;
    },
    ['json_object', 'json_schema', 'both'],
  ),
  property('streamOptions', ({ is }) => (is('usage in streams') === true ? true : undefined), [false, true]),
  property('reasoningField', ({ wanted }, current) => {
    const field = (['reasoning_content', 'reasoning'] as const).find((one) => wanted.includes(one));
    return field === plainFieldOf(current) ? undefined : field;
  }),
  property('streams', ({ is }) => either(is('abort'), 'as-asked', 'always'), ['always', 'as-asked']),
];

function either<Yes, No>(is: boolean | undefined, yes: Yes, no: No): Yes | No | undefined {
  return is === undefined ? undefined : is ? yes : no;
}
