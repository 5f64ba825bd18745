/** A backend as a program: `node backend.ts PORT BEGINS_AFTER_MS`. Its parent says in which manner it answers. */

import { startScriptedBackend } from '../../support/backend.ts';
import { createManners, type Manner } from './manners.ts';

export type Said =
  | { readonly kind: 'listening' }
  | { readonly kind: 'changed' }
  /** A generation for this prompt has begun. */
  | { readonly kind: 'begun'; readonly prompt: string };

const [port, beginsAfterMs] = process.argv.slice(2).map(Number);
const backend = await startScriptedBackend(port);
const manners = createManners(beginsAfterMs ?? 0, (body) => {
  const { messages } = body as { readonly messages: readonly { readonly content: string }[] };
  say({ kind: 'begun', prompt: messages.at(-1)?.content ?? '' });
});
backend.always(manners.healthy);
process.on('message', (manner: Manner) => {
  backend.always(manners[manner]);
  say({ kind: 'changed' });
});
process.on('disconnect', () => process.exit());
say({ kind: 'listening' });

function say(said: Said): void {
  process.send?.(said);
}
