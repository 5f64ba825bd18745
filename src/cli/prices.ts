import { isDeepStrictEqual } from 'node:util';
import type { Command } from 'commander';
import { readConfig } from '../config/config.ts';
import { readPricesFile } from '../config/prices-file.ts';
import { comparePrices, showPrice, type PriceChange, type ShownPrice } from '../core/money/pricing.ts';
import { CliError } from './context.ts';
import { formatNumberOf } from './format.ts';
import { addCommand } from './command.ts';
import { type Paint, type Cli } from './printer.ts';
import { formatTable, type Column } from './table.ts';
import type { PriceTier } from '../contract/types.ts';
import { toVisible } from '../core/visible.ts';

export function addPrices(program: Command, cli: Cli): void {
  const prices = program.command('prices').description('view model prices, per million tokens (PRICES_FILE)');
  addShow(prices, cli);
  addCheck(prices, cli);
}

interface PricedModel {
  readonly model: string;
  readonly price: ShownPrice | null;
}

function addShow(prices: Command, cli: Cli): void {
  addCommand(prices, 'show', {
    what: 'show all prices, or those that apply to some models',
    examples: [
      ['prices show', 'as in PRICES_FILE'],
      ['prices show gpt-4o-2024-08-06 coder', 'by patterns, similar names and aliases'],
    ],
  })
    .argument('[models...]', 'model names as callers write them (default: the names and patterns in the file)')
    .action((models: readonly string[]) => {
      const { prices: present, modelAliases, backends } = readConfig(cli.env);
      if (present === null) throw new CliError('PRICES_FILE is not set, so no model has a price.');
      const { currency, table } = present;
      const priceOf = (model: string): ShownPrice | null => {
        const aliases = [modelAliases, ...(backends?.backends.map((spec) => spec.modelAliases) ?? [])];
        const backendModel = aliases.map((names) => names.get(model)).find((name) => name !== undefined);
        const price = present.find(model, backendModel ?? model);
        return price === undefined ? null : showPrice(price);
      };
      const data: readonly PricedModel[] =
        models.length > 0
          ? models.map((model) => ({ model, price: priceOf(model) }))
          : comparePrices(null, table).map(({ model, to }) => ({ model, price: to }));
      cli.printer.show({ object: 'list', currency, data }, (paint) => [
        `${currency} per million tokens:`,
        ...formatPrices(
          data.map(({ model, price }) => ({ model, from: price, to: price })),
          paint,
        ),
      ]);
      cli.printer.note('A running gateway keeps its prices until SIGHUP or a restart.');
    });
}

function addCheck(prices: Command, cli: Cli): void {
  addCommand(prices, 'check', {
    what: 'check a price file, and show what it changes',
    examples: [
      ['prices check new-prices.json', 'before it replaces PRICES_FILE'],
      ['prices check && kill -HUP "$GATEWAY_PID"', 'reload only a valid file'],
    ],
  })
    .argument('[file]', 'file to compare with PRICES_FILE (default: check PRICES_FILE itself)')
    .action((named: string | undefined) => {
      const set = cli.env['PRICES_FILE'] || undefined;
      const file = named ?? set;
      if (file === undefined) throw new CliError('PRICES_FILE is not set; name a file.');
      const { content, problems } = readPricesFile(file, file);
      const before = named === undefined ? null : readPricesFile(set).content;
      const changes = content === null || before === null ? [] : comparePrices(before.table, content.table);
      const value = {
        object: 'price_check',
        file,
        ok: content !== null,
        currency: content?.currency ?? null,
        time_zone: content?.timeZone ?? null,
        models: content?.modelCount ?? null,
        compared_with: before === null ? null : set,
        changes,
        problems,
      };
      cli.printer.show(value, (paint) => {
        if (content === null) return problems.map((problem) => paint('red', toVisible(problem)));
        const found = `${file}: ${formatNumberOf('model', content.modelCount)}, in ${content.currency} per million tokens.`;
        return [
          paint('green', toVisible(found)),
          ...(before === null || before.timeZone === content.timeZone
            ? []
            : [
                `Spend limits begin anew by the time of ${content.timeZone}, and not of ${before.timeZone}, from the next start on.`,
              ]),
          ...(before === null ? [] : [`Beside ${toVisible(set ?? '')}, in ${before.currency}:`]),
          ...(before === null ? [] : formatPrices(changes, paint, [CHANGE])),
        ];
      });
      if (content === null) throw new CliError('The file has mistakes; the gateway would reject it.');
    });
}

const KINDS = [
  { title: 'INPUT', name: 'input', audio: 'audio_input' },
  { title: 'CACHED', name: 'cached_input', audio: 'cached_audio_input' },
  { title: 'WRITTEN', name: 'cache_write' },
  { title: 'OUTPUT', name: 'output', audio: 'audio_output' },
] as const;

interface Row {
  readonly model: string;
  readonly from: PriceTier | null;
  readonly to: PriceTier | null;
}

/** Writes a row for each model, and one for each of its tiers as `m (flex, above 200000)`. */
function formatPrices(changes: readonly PriceChange[], paint: Paint, more: readonly Column<Row>[] = []): string[] {
  const columns = KINDS.map((kind): Column<Row> => {
    const show = (price: PriceTier | null): string => {
      const audio = 'audio' in kind ? price?.[kind.audio] : undefined;
      return `${price?.[kind.name] ?? 'none'}${audio === undefined ? '' : ` (audio ${audio})`}`;
    };
    const of = ({ from, to }: Row): string => [...new Set([show(from), show(to)])].join(' → ');
    return { title: kind.title, of, align: 'right' };
  });
  const rows = changes.flatMap(tiersOf);
  return formatTable([{ title: 'MODEL', of: ({ model }) => model }, ...more, ...columns], rows, paint);
}

function tiersOf({ model, from, to }: PriceChange): readonly Row[] {
  const [before, after] = [byName(from), byName(to)];
  return [...new Set([...before.keys(), ...after.keys()])].map((name) => {
    return { model: `${model}${name}`, from: before.get(name) ?? null, to: after.get(name) ?? null };
  });
}

function byName(price: ShownPrice | null): ReadonlyMap<string, PriceTier> {
  if (price === null) return new Map();
  const { tiers = [], ...first } = price;
  return new Map([first, ...tiers].map((tier: PriceTier) => [nameOf(tier), tier]));
}

function nameOf({ service_tier, above_tokens }: PriceTier): string {
  const names = [service_tier, above_tokens && `above ${above_tokens}`].filter(Boolean);
  return names.length === 0 ? '' : ` (${names.join(', ')})`;
}

const CHANGE: Column<Row> = {
  title: 'CHANGE',
  of: ({ from, to }) =>
    from === null ? 'new' : to === null ? 'gone' : isDeepStrictEqual(from, to) ? 'same' : 'changed',
};
