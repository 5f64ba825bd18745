import { given } from '../core/given.ts';
import type { Command } from 'commander';
import type { Config } from '../config/config.ts';
import type { UpdateGroup, UpdateKey } from '../contract/types.ts';
import type { CliContext } from './context.ts';
import { formatCount } from './format.ts';
import { orNull, orWord, parseAmountText, parseExpiry, parseList, wholeNumber, type OrNothing } from './options.ts';
import { createPrinter } from './printer.ts';

export interface LimitOptions {
  readonly name?: string;
  readonly models?: OrNothing<string[]>;
  readonly rpm?: OrNothing<number>;
  readonly tpm?: OrNothing<number>;
  readonly spendPerDay?: OrNothing<string>;
  readonly spendPerWeek?: OrNothing<string>;
  readonly spendPerMonth?: OrNothing<string>;
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

/** Returns what reads each option of a key. */
export function keyParsers({ nowMs }: CliContext) {
  const rate = orWord('none', wholeNumber(1, MAX_RATE));
  const amount = orWord('none', parseAmountText);
  return {
    name: (text: string) => text,
    group: orWord('none', (text) => text),
    credits: parseAmountText,
    models: orWord('any', parseList),
    rpm: rate,
    tpm: rate,
    spendPerDay: amount,
    spendPerWeek: amount,
    spendPerMonth: amount,
    expires: orWord('never', parseExpiry(nowMs)),
  } satisfies { readonly [Name in keyof KeyOptions]: (text: string) => KeyOptions[Name] };
}

export function addLimitOptions(command: Command, context: CliContext): Command {
  const { models, rpm, tpm, spendPerDay, spendPerWeek, spendPerMonth, expires } = keyParsers(context);
  return command
    .option('--models <list>', 'models it may use, such as gpt-4o,llama*; any for all models', models)
    .option('--rpm <n>', 'requests per minute; none for no limit', rpm)
    .option('--tpm <n>', 'tokens per minute; none for no limit', tpm)
    .option(
      '--spend-per-day <amount>',
      'spend limit in the currency of the prices, such as 5.00; none for no limit',
      spendPerDay,
    )
    .option('--spend-per-week <amount>', 'the same per week, from Monday on; none for no limit', spendPerWeek)
    .option('--spend-per-month <amount>', 'the same per month, such as 100.00; none for no limit', spendPerMonth)
    .option('--expires <when>', 'when it expires, such as 30d or 2027-01-31 (UTC); never for no expiration', expires);
}

export function addGroupOption(command: Command, context: CliContext): Command {
  return command.option(
    '--group <group>',
    'group it belongs to, by id or name; none for no group',
    keyParsers(context).group,
  );
}

export function addCreditsOption(command: Command, context: CliContext): Command {
  const { credits } = keyParsers(context);
  return command.option(
    '--credits <amount>',
    'make it prepaid, with these credits; without them, only its limits apply',
    credits,
  );
}

/** Returns what the options of a key change. */
export function toKeyBody({ group, ...options }: KeyOptions): UpdateKey {
  return { ...toLimitsBody(options), ...given({ group: orNull(group) }) };
}

/** Returns what the options of a key or a group change. */
export function toLimitsBody(options: LimitOptions): UpdateGroup {
  const { name, models, rpm, tpm, spendPerDay, spendPerWeek, spendPerMonth, expires, credits } = options;
  const limits = given({
    requests_per_minute: orNull(rpm),
    tokens_per_minute: orNull(tpm),
    spend_per_day: orNull(spendPerDay),
    spend_per_week: orNull(spendPerWeek),
    spend_per_month: orNull(spendPerMonth),
  });
  return {
    ...given({ name, models: orNull(models), expires_at: orNull(expires), credits }),
    ...(Object.keys(limits).length > 0 && { limits }),
  };
}

/** Says that requests which name no limit of their output never run. */
export function warnOfTokens(
  context: CliContext,
  command: Command,
  { tpm }: LimitOptions,
  defaultMaxOutputTokens: number,
): void {
  if (typeof tpm !== 'number' || tpm > defaultMaxOutputTokens) return;
  createPrinter(context, command).note(
    `A request without max_output_tokens counts as its input plus ${formatCount(defaultMaxOutputTokens)} tokens of output ` +
      `(DEFAULT_MAX_OUTPUT_TOKENS), so with --tpm ${tpm} it can never run.`,
  );
}

/** Says that the gateway takes no keys of its own yet. */
export function warnOfMode(context: CliContext, command: Command, { authMode }: Config): void {
  if (authMode === 'managed') return;
  createPrinter(context, command).note(
    'The gateway accepts these keys only with AUTH_MODE=managed. Set it before the next start.',
  );
}
