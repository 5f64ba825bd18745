import { CliError, type CliContext } from './context.ts';

/** Asks whether to go on, or for the name of what is deleted for good, unless `yes`. Throws CliError without it. */
export async function confirm(
  { ask }: CliContext,
  { what, name, yes }: { readonly what: string; readonly name?: string; readonly yes: boolean },
): Promise<void> {
  if (yes) return;
  if (ask === undefined) throw new CliError(`${what} Add --yes to do it.`);
  if (name === undefined) {
    if (!isYes(await ask(`${what} Go on? [y/N] `))) throw new CliError('Nothing was changed.');
  } else if ((await ask(`${what} Type ${JSON.stringify(name)} to do it: `)) !== name)
    throw new CliError('Nothing was deleted.');
}

export function isYes(answer: string | undefined): boolean {
  return /^y(es)?$/i.test(answer?.trim() ?? '');
}
