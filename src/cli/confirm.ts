import { CliError, type CliContext } from './context.ts';

/**
 * Says what goes for good, and asks for the name. Throws CliError when it is not given, and where
 * nobody can be asked. With `yes` it asks nothing.
 */
export async function confirmDeletion(
  { ask }: Pick<CliContext, 'ask'>,
  { what, name, yes }: { readonly what: string; readonly name: string; readonly yes: boolean },
): Promise<void> {
  if (yes) return;
  if (ask === undefined) throw new CliError(`${what} Add --yes to do it.`);
  if ((await ask(`${what} Type ${JSON.stringify(name)} to do it: `)) !== name)
    throw new CliError('Nothing was deleted.');
}

/** Asks whether to go on. Throws CliError when the answer is not yes, and where nobody can be asked. With `yes` it asks nothing. */
export async function confirm(
  { ask }: Pick<CliContext, 'ask'>,
  { what, yes }: { readonly what: string; readonly yes: boolean },
): Promise<void> {
  if (yes) return;
  if (ask === undefined) throw new CliError(`${what} Add --yes to do it.`);
  if (!isYes(await ask(`${what} Go on? [y/N] `))) throw new CliError('Nothing was changed.');
}

export function isYes(answer: string | undefined): boolean {
  return /^y(es)?$/i.test(answer?.trim() ?? '');
}
