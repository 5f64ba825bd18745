/** Remembers the turns of a conversation, in a thread whose memory has nothing else of them. */

import { parentPort } from 'node:worker_threads';
import { digestOf } from '../../src/identity/identities.ts';
import { createPromptTurns } from '../../src/requests/prompt-turns.ts';
import { USAGE } from '../support/records.ts';

export interface SentPrompt {
  readonly client: Uint8Array;
  readonly sent: Uint8Array;
}

const turns = createPromptTurns({ secret: 'a secret of ours', nowMs: () => 0 });
const kept: unknown[] = [];

parentPort?.on('message', ({ prompts, keeps }: { prompts: readonly SentPrompt[]; keeps: Uint8Array }) => {
  const readings = prompts.map(({ client, sent }) => {
    const prompt = turns.open(
      { caller: { identity: ['a caller'] } as never, body: { bytes: Buffer.from(client) } },
      { endpoint: 'responses', model: 'm', conversation: digestOf('a session') },
    );
    prompt.asked({ name: 'a', upstreamDialect: 'generic' });
    prompt.sent(Buffer.from(sent), { model: 'm', leftOut: [] });
    return prompt.end(USAGE)?.turn;
  });
  kept.push(Buffer.from(keeps).toString());
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- this port is no window
  parentPort?.postMessage(readings);
});
