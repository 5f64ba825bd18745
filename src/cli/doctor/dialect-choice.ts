/** Which dialect suits a backend, by how it gives itself away and by what it was found to take. */

import type { OwnDialect } from '../../contract/types.ts';
import { recognise, type Evidence } from './dialect-signs.ts';
import { DIALECTS, isDialectName, type Dialect, type DialectName } from '../../core/dialects.ts';

/** What a backend was found to take or to do; undefined where that was not clear. */
export interface Abilities {
  readonly maxTokens: boolean | undefined;
  readonly maxCompletionTokens: boolean | undefined;
  readonly developerRole: boolean | undefined;
  /** A system message that is not the first one. */
  readonly laterSystem: boolean | undefined;
  /** Two messages of the user in a row. */
  readonly userAfterUser: boolean | undefined;
  /** Its reasoning came as a `<think>` block in the text. */
  readonly thinkTags: boolean | undefined;
}

export type Differences = Omit<OwnDialect, 'extends'>;

export interface DialectChoice {
  readonly dialect: DialectName;
  /** Why, as one sentence. */
  readonly reason: string;
  /** What the backend does not take although this dialect would send it: a dialect of one's own should say so. */
  readonly differences: Differences;
  /** Others for which all the same holds. */
  readonly equivalents: readonly DialectName[];
}

/** Chooses a dialect: the one that is recognised, else one that agrees with what the backend takes. */
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
    const reason = 'Nothing told which kind it is, and what it takes agrees with this one, which asks for the least.';
    return { dialect: 'generic', reason, differences, equivalents: [] };
  }
  const [dialect, ...equivalents] = Object.keys(DIALECTS)
    .filter(isDialectName)
    .filter((name) => isWithoutDifferences(DIALECTS[name], abilities));
  return dialect === undefined
    ? {
        dialect: 'generic',
        reason: 'Nothing told which kind it is, and none agrees with all that it takes.',
        differences,
        equivalents,
      }
    : {
        dialect,
        reason: 'Nothing told which kind it is, but what it takes agrees with this one.',
        differences: {},
        equivalents,
      };
}

function isWithoutDifferences(dialect: Dialect, abilities: Abilities): boolean {
  return Object.keys(findDifferences(dialect, abilities)).length === 0;
}

/** What this dialect would send although the backend was found not to take it, as the fields that put it right. */
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
    ...(!dialect.thinkTags && abilities.thinkTags === true && { thinkTags: true }),
  };
}
