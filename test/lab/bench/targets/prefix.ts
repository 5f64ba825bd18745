/** A gateway that can be told not to compare the prompts of a conversation, and to compare them again. */
import type { Caller } from '../../../../src/accounts/caller.ts';
import { createGateway, readConfig } from '../../../../src/gateway.ts';
import { digestOf } from '../../../../src/identity/identities.ts';
import { keepRequestsYoung } from '../../../../src/process/young-objects.ts';
import { createPromptTurns, type PromptTurns } from '../../../../src/requests/prompt-turns.ts';
import { USAGE } from '../../../support/records.ts';
import { beMeasured } from './measured.ts';

const SECRET = 'the secret of the bench, which is long enough';
const CALLER: Caller = {
  identity: ['a caller'],
  backendHeaders: {},
  holder: () => ({ name: 'a caller', isStranger: false }),
};
const NOT_COMPARED: PromptTurns = {
  open: () => ({ asked: () => undefined, sent: () => undefined, end: () => undefined }),
};

const [upstream = ''] = process.argv.slice(2);
keepRequestsYoung();
const turnMicros: number[] = [];
const compared = timed(createPromptTurns({ secret: SECRET, nowMs: Date.now }));
let promptTurns = compared;
const config = readConfig({
  UPSTREAM_BASE_URL: `${upstream}/v1`,
  DATABASE_URL: ':memory:',
  GATEWAY_SECRET: SECRET,
  PORT: '0',
  LOG_LEVEL: 'silent',
});
const gateway = await createGateway(config, {
  promptTurns: { open: (incoming, plan) => promptTurns.open(incoming, plan) },
});
const { url } = await gateway.listen();
beMeasured(
  { url },
  {
    compare: () => void (promptTurns = compared),
    skip: () => void (promptTurns = NOT_COMPARED),
    /** Of those since the last question. */
    comparedMicros: () => turnMicros.splice(0),
    conversationBytes: () => measureConversation(2000),
  },
);

/** Notes how long it takes for each turn. A clock of CPU time is not fine enough, and most turns are not interrupted. */
function timed(turns: PromptTurns): PromptTurns {
  return {
    open(incoming, plan) {
      let micros = 0;
      function count<Result>(work: () => Result): Result {
        const startMs = performance.now();
        const result = work();
        micros += 1000 * (performance.now() - startMs);
        return result;
      }
      const prompt = count(() => turns.open(incoming, plan));
      return {
        asked: (backend) => count(() => prompt.asked(backend)),
        sent: (body, as) => count(() => prompt.sent(body, as)),
        end(usage) {
          const reading = count(() => prompt.end(usage));
          turnMicros.push(micros);
          return reading;
        },
      };
    },
  };
}

/** Returns what one conversation of so many takes in memory, with more messages than are told apart. */
function measureConversation(count: number): number {
  const turns = createPromptTurns({ secret: SECRET, nowMs: Date.now });
  const messages = Array.from({ length: 400 }, (_, at) => ({ role: 'user', content: `Message ${at}` }));
  const body = { bytes: Buffer.from(JSON.stringify({ model: 'm', input: messages })) };
  const sent = Buffer.from(JSON.stringify({ model: 'm', messages, tools: [{ type: 'function' }] }));
  const before = heapUsed();
  for (let at = 0; at < count; at += 1) ask(at);
  const bytes = (heapUsed() - before) / count;
  // They are remembered until here.
  ask(count);
  return bytes;

  function ask(at: number): void {
    // Each request has a text of its own.
    const { model } = JSON.parse(`{"model":"a-model-${at}"}`) as { readonly model: string };
    const prompt = turns.open(
      { caller: CALLER, body },
      { endpoint: 'responses', model, conversation: digestOf(`conversation ${at}`) },
    );
    prompt.asked({ name: 'a', address: '10.0.0.1', upstreamDialect: 'generic' });
    prompt.sent(sent, { model, leftOut: [] });
    prompt.end(USAGE);
  }
}

function heapUsed(): number {
  globalThis.gc?.();
  return process.memoryUsage().heapUsed;
}
