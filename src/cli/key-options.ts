import { given } from '../core/given.ts';
import { recordOf } from '../core/map-values.ts';
import { LIMITS, RATE_LIMITS, SPEND_WINDOWS, type SpendWindow } from '../core/money/limits.ts';
import type { Command } from 'commander';
import type { Config } from '../config/config.ts';
import type { UpdateGroup, UpdateKey } from '../contract/operator-types.ts';
import type { CliContext } from './context.ts';
import { formatCount } from './format.ts';
import { orNull, orWord, parseAmountText, parseExpiry, parseList, wholeNumber, type OrNothing } from './options.ts';
import type { Cli } from './printer.ts';

type RateOptions = { readonly [Name in (typeof RATE_LIMITS)[number]['option']]?: OrNothing<number> };
type SpendOptions = { readonly [Name in SpendWindow['option']]?: OrNothing<string> };

export interface LimitOptions extends RateOptions, SpendOptions {
  readonly name?: string;
  readonly models?: OrNothing<string[]>;
  /** Unix time in seconds. */
  readonly expires?: OrNothing<number>;
  readonly credits?: string;
}

export interface KeyOptions extends LimitOptions {
  readonly group?: OrNothing<string>;
  /** In milliseconds. */
  readonly grace?: number;
}

const MAX_RATE = 1_000_000_000;

export function keyParsers({ nowMs }: CliContext) {
  const rate = orWord('none', wholeNumber(1, MAX_RATE));
  const amount = orWord('none', parseAmountText);
  return {
    name: (text: string) => text,
    group: orWord('none', (text) => text),
    credits: parseAmountText,
    models: orWord('any', parseList),
    ...recordOf(RATE_LIMITS, ({ option }) => [option, rate]),
    ...recordOf(SPEND_WINDOWS, ({ option }) => [option, amount]),
    expires: orWord('never', parseExpiry(nowMs)),
  } satisfies { readonly [Name in keyof KeyOptions]: (text: string) => KeyOptions[Name] };
}

export function addLimitOptions(command: Command, cli: Cli): Command {
  const parsers = keyParsers(cli);
  command.option('--models <list>', 'models it may use, such as gpt-4o,llama*; any for all models', parsers.models);
  for (const { option, flag, help } of LIMITS) {
    command.option(flag, `${help}; none for no limit`, (text) => parsers[option](text));
  }
  return command.option(
    '--expires <when>',
    'when it expires, such as 30d or 2027-01-31 (UTC); never for no expiration',
    parsers.expires,
  );
}

export function addGroupOption(command: Command, cli: Cli): Command {
  return command.option(
    '--group <group>',
    'group it belongs to, by id or name; none for no group',
    keyParsers(cli).group,
  );
}

export function addCreditsOption(command: Command, cli: Cli): Command {
  const { credits } = keyParsers(cli);
  return command.option(
    '--credits <amount>',
    'make it prepaid, with these credits; without them, only its limits apply',
    credits,
  );
}

export function toKeyBody({ group, ...options }: KeyOptions): UpdateKey {
  return { ...toLimitsBody(options), ...given({ group: orNull(group) }) };
}

export function toLimitsBody(options: LimitOptions): UpdateGroup {
  const { name, models, expires, credits } = options;
  const limits = given({
    ...recordOf(RATE_LIMITS, ({ wire, option }) => [wire, orNull(options[option])]),
    ...recordOf(SPEND_WINDOWS, ({ wire, option }) => [wire, orNull(options[option])]),
  });
  return {
    ...given({ name, models: orNull(models), expires_at: orNull(expires), credits }),
    ...(Object.keys(limits).length > 0 && { limits }),
  };
}

/** Says that requests which name no limit of their output never run. */
export function warnOfTokens({ printer }: Cli, { tpm }: LimitOptions, defaultMaxOutputTokens: number): void {
  if (typeof tpm !== 'number' || tpm > defaultMaxOutputTokens) return;
  printer.note(
    `A request without max_output_tokens counts as its input plus ${formatCount(defaultMaxOutputTokens)} tokens of output ` +
      `(DEFAULT_MAX_OUTPUT_TOKENS), so with --tpm ${tpm} it can never run.`,
  );
}

/** Says that the gateway takes no keys of its own yet. */
export function warnOfMode({ printer }: Cli, { authMode }: Config): void {
  if (authMode === 'managed') return;
  printer.note('The gateway accepts these keys only with AUTH_MODE=managed. Set it before the next start.');
}
