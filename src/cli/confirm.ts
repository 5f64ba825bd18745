import { CliError, type CliContext } from './context.ts';

/** Asks for the name of what is deleted for good, unless `yes`. Throws CliError without it. */
export async function confirmDeletion(
  { ask }: CliContext,
  { what, name, yes }: { readonly what: string; readonly name: string; readonly yes: boolean },
): Promise<void> {
  if (yes) return;
  if (ask === undefined) throw new CliError(`${what} Add --yes to do it.`);
  if ((await ask(`${what} Type ${JSON.stringify(name)} to do it: `)) !== name)
    throw new CliError('Nothing was deleted.');
}

/** Asks whether to go on, unless `yes`. Throws CliError without a yes. */
export async function confirm(
  { ask }: CliContext,
  { what, yes }: { readonly what: string; readonly yes: boolean },
): Promise<void> {
  if (yes) return;
  if (ask === undefined) throw new CliError(`${what} Add --yes to do it.`);
  if (!isYes(await ask(`${what} Go on? [y/N] `))) throw new CliError('Nothing was changed.');
}

export function isYes(answer: string | undefined): boolean {
  return /^y(es)?$/i.test(answer?.trim() ?? '');
}
