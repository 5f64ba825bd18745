import type { OwnDialect } from '../../contract/types.ts';
import { recognise, type Evidence } from './dialect-signs.ts';
import { DIALECTS, isDialectName, plainFieldOf, type Dialect, type DialectName } from '../../core/dialects.ts';

/** Undefined where that is unclear. */
export interface Abilities {
  readonly maxTokens: boolean | undefined;
  readonly maxCompletionTokens: boolean | undefined;
  readonly developerRole: boolean | undefined;
  readonly laterSystem: boolean | undefined;
  readonly userAfterUser: boolean | undefined;
  readonly thinkTags: Dialect['thinkTags'];
  /** Undefined where a tool choice was not answered in a way that shows it. */
  readonly toolChoice: Dialect['toolChoice'] | undefined;
  /** The field in which a second turn must have the thoughts of the first. */
  readonly wantedThoughts: 'reasoning_content' | 'reasoning' | undefined;
  readonly stopsAtAbort: boolean | undefined;
}

export type Differences = Omit<OwnDialect, 'extends'>;

export interface DialectChoice {
  readonly dialect: DialectName;
  readonly reason: string;
  readonly differences: Differences;
  readonly equivalents: readonly DialectName[];
}

/** Returns the recognised dialect, else one that agrees with what the backend accepts. */
export function chooseDialect(evidence: Evidence, abilities: Abilities): DialectChoice {
  const recognised = recognise(evidence);
  const [first, ...others] = recognised;
  if (first === undefined) return chooseByAbilities(abilities);
  const names = recognised.map(({ dialect }) => dialect);
  const dialect = names.find((name) => isWithoutDifferences(DIALECTS[name], abilities)) ?? first.dialect;
  const signs = recognised.find((one) => one.dialect === dialect)?.signs.join(', ') ?? '';
  const perhaps = first.isCertain && others.length === 0 ? 'Recognised by' : 'Perhaps, by';
  return {
    dialect,
    reason: `${perhaps} ${signs}.`,
    differences: findDifferences(DIALECTS[dialect], abilities),
    equivalents: names.filter((name) => name !== dialect),
  };
}

function chooseByAbilities(abilities: Abilities): DialectChoice {
  const differences = findDifferences(DIALECTS.generic, abilities);
  if (Object.keys(differences).length === 0) {
    const reason =
      'The kind of backend is unknown. This dialect agrees with what the backend accepts, and asks for the least.';
    return { dialect: 'generic', reason, differences, equivalents: [] };
  }
  const [dialect, ...equivalents] = Object.keys(DIALECTS)
    .filter(isDialectName)
    .filter((name) => isWithoutDifferences(DIALECTS[name], abilities));
  return dialect === undefined
    ? {
        dialect: 'generic',
        reason: 'The kind of backend is unknown, and no dialect agrees with all that it accepts.',
        differences,
        equivalents,
      }
    : {
        dialect,
        reason: 'The kind of backend is unknown, but this dialect agrees with what it accepts.',
        differences: {},
        equivalents,
      };
}

function isWithoutDifferences(dialect: Dialect, abilities: Abilities): boolean {
  return Object.keys(findDifferences(dialect, abilities)).length === 0;
}

/** Returns the fields that correct what this dialect sends although the backend refuses it. */
export function findDifferences(dialect: Dialect, abilities: Abilities): Differences {
  const { maxTokens, maxCompletionTokens } = abilities;
  const limit = dialect.tokenLimitField;
  return {
    ...(limit === 'max_tokens' &&
      maxTokens === false &&
      maxCompletionTokens === true && { tokenLimitField: 'max_completion_tokens' }),
    ...(limit === 'max_completion_tokens' &&
      maxCompletionTokens === false &&
      maxTokens === true && { tokenLimitField: 'max_tokens' }),
    ...(dialect.systemRole !== 'system' && abilities.developerRole === false && { systemRole: 'system' }),
    ...(dialect.systemPlace === 'in-place' && abilities.laterSystem === false && { systemPlace: 'merged-first' }),
    ...(dialect.userMessages === 'as-given' && abilities.userAfterUser === false && { userMessages: 'merged' }),
    ...(abilities.thinkTags !== false &&
      dialect.thinkTags !== abilities.thinkTags &&
      dialect.thinkTags !== 'opened' && { thinkTags: abilities.thinkTags }),
    ...(abilities.toolChoice !== undefined &&
      KNOWN_CHOICES[abilities.toolChoice] < KNOWN_CHOICES[dialect.toolChoice] && {
        toolChoice: abilities.toolChoice,
      }),
    ...(abilities.wantedThoughts !== undefined &&
      plainFieldOf(dialect.reasoningField) !== abilities.wantedThoughts && {
        reasoningField: abilities.wantedThoughts,
      }),
    ...(abilities.stopsAtAbort === false && dialect.streams === 'as-asked' && { streams: 'always' }),
  };
}

/** Each holds where a higher one does. No backend is asked with a list of allowed tools. */
const KNOWN_CHOICES: Readonly<Record<Dialect['toolChoice'], number>> = { ignored: 0, words: 1, named: 2, allowed: 2 };
