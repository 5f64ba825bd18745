/** Any history over HTTP, which then goes on with a part of what the gateway itself has said. */

import { expect } from 'chai';
import * as fc from 'fast-check';
import type { ResponseResource } from '../../src/contract/types.ts';
import { findComplaints, type ChatBody, type Rules } from '../clients/complaints.ts';
import { anyHistory } from '../support/any-history.ts';
import { startScriptedBackend, type Script } from '../support/backend.ts';
import { openGateway, type TestGateway } from '../support/gateway.ts';
import { SEED } from '../support/property.ts';
import { useRealSockets } from '../support/real-sockets.ts';
import { expectWellFormed, parseEvents } from '../support/well-formed.ts';

const BACKENDS: readonly { readonly dialect: string; readonly rules: Rules }[] = [
  { dialect: 'generic', rules: { reasoningField: 'reasoning_content', mayLackReasoning: true } },
  { dialect: 'deepseek', rules: { reasoningField: 'reasoning_content', anyOrder: true } },
];
/** So many gateways at once, each with so many conversations. A backend of the tests keeps what it was asked. */
const LANES = 4;
const ROUND = 500;
const HISTORIES_OF_ONE = 2;

const parameters = { type: 'object', properties: {} };
const TOOLS = [
  { type: 'function', name: 'look', parameters },
  { type: 'custom', name: 'exec' },
  { type: 'namespace', name: 'eyes', tools: [{ type: 'function', name: 'look', parameters }] },
  { type: 'tool_search', execution: 'client' },
  { type: 'local_shell' },
  { type: 'shell' },
  { type: 'apply_patch' },
  { type: 'web_search' },
];

/** What the model writes for every tool. Each takes what it knows. */
const ARGUMENTS = JSON.stringify({
  input: 'text("looked")',
  query: 'cats',
  command: ['ls'],
  commands: ['ls'],
  type: 'update_file',
  path: 'a.md',
  diff: '@@\n+a',
});

const IMAGE = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } };

/** By the type of a call. */
const OUTPUTS: Readonly<Record<string, object>> = {
  function_call: { type: 'function_call_output', output: 'rain' },
  custom_tool_call: { type: 'custom_tool_call_output', output: 'looked' },
  tool_search_call: { type: 'tool_search_output', tools: [] },
  local_shell_call: { type: 'local_shell_call_output', output: 'a.md' },
  shell_call: { type: 'shell_call_output', output: [] },
  apply_patch_call: { type: 'apply_patch_call_output', status: 'completed' },
};

const some = fc.array(fc.boolean(), { minLength: 12, maxLength: 12 });

const anyConversation = fc.record({
  says: fc.subarray(['thoughts', 'text', 'refusal', 'image', 'calls', 'broken', 'length']),
  tools: fc.subarray(TOOLS),
  history: anyHistory,
  stream: fc.boolean(),
  include: fc.subarray(['reasoning.encrypted_content']),
  /** How much of the beginning is gone the second time, and which items of the gateway. */
  cut: fc.nat({ max: 20 }),
  kept: some,
  /** Which calls have an output, and whether it comes turns later. */
  answered: some,
  isLate: fc.boolean(),
});

type Conversation = typeof anyConversation extends fc.Arbitrary<infer One> ? One : never;

/** For a test file. It tries so many histories, and the backends refuse what the strictest would. */
export function goOnWith(histories: number): void {
  describe('any history', () => {
    useRealSockets();

    for (const { dialect, rules } of BACKENDS) {
      it(`goes on at ${dialect}, and so does any part of what the gateway has said`, async () => {
        const conversations = Math.ceil(histories / HISTORIES_OF_ONE / BACKENDS.length);
        const rounds = Math.ceil(conversations / ROUND);
        const numRuns = Math.ceil(conversations / rounds);
        let round = 0;
        const lane = async () => {
          while (round < rounds) await inFrontOf(rules, dialect, { seed: SEED + round++, numRuns });
        };
        await Promise.all(Array.from({ length: LANES }, lane));
      });
    }
  });
}

async function inFrontOf(rules: Rules, dialect: string, options: fc.Parameters<[Conversation]>): Promise<void> {
  const backend = await startScriptedBackend();
  const gateway = await openGateway({ UPSTREAM_BASE_URL: backend.baseUrl, UPSTREAM_DIALECT: dialect });
  try {
    backend.always(strictModel(rules));
    await fc.assert(
      fc.asyncProperty(anyConversation, (conversation) => goOn(gateway, conversation)),
      options,
    );
  } finally {
    await gateway.close();
    await backend.close();
  }
}

async function goOn(gateway: TestGateway, conversation: Conversation): Promise<void> {
  const { says, tools, stream, include, history, cut, kept, answered, isLate } = conversation;
  const ask = async (...input: readonly object[]): Promise<ResponseResource> => {
    const asked = { model: ['says', ...says].join(' '), tools, stream, include };
    const reply = await gateway.create({ ...asked, input: [...input, { role: 'user', content: 'And?' }] });
    const text = await reply.text();
    expect(reply.status, text).to.equal(200);
    return stream ? expectWellFormed(parseEvents(text)) : (JSON.parse(text) as ResponseResource);
  };

  const { output } = await ask(...history);
  const outputs = output.flatMap((item, at) => {
    const given = OUTPUTS[item.type];
    return given !== undefined && 'call_id' in item && answered[at] === true
      ? [{ ...given, call_id: item.call_id }]
      : [];
  });
  const later = isLate
    ? [
        { role: 'user', content: 'Well?' },
        { role: 'assistant', content: 'I wait.' },
      ]
    : [];
  await ask(...history.slice(cut), ...output.filter((_, at) => kept[at]), ...later, ...outputs);
}

/** Says what the name of the model asks for. */
function strictModel(rules: Rules): Script {
  return async ({ request, start, sse, end }) => {
    const complaints = findComplaints(request.body, rules);
    if (complaints.length > 0) {
      start(400, { 'content-type': 'application/json' });
      end(JSON.stringify({ error: { message: complaints.join('; ') } }));
      return;
    }
    const { model, tools = [], stream } = request.body as ChatBody;
    const says = new Set(model.split(' '));
    const calls = tools.map((tool, index) => ({
      index,
      id: `call_${index}`,
      type: 'function',
      function: { name: tool.function.name, arguments: says.has('broken') ? '{"at' : ARGUMENTS },
    }));
    const message = {
      role: 'assistant',
      content: says.has('text') ? 'I look.' : null,
      ...(says.has('thoughts') && { reasoning_content: 'Hm.' }),
      ...(says.has('refusal') && { refusal: 'No.' }),
      ...(says.has('image') && { images: [IMAGE] }),
      ...(says.has('calls') && calls.length > 0 && { tool_calls: calls }),
    };
    const finish_reason = says.has('length') ? 'length' : 'stop';
    const usage = { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 };
    if (stream === true) {
      start();
      await sse(
        { choices: [{ index: 0, delta: message }] },
        { choices: [{ index: 0, delta: {}, finish_reason }], usage },
        '[DONE]',
      );
      end();
    } else {
      start(200, { 'content-type': 'application/json' });
      end(JSON.stringify({ choices: [{ index: 0, message, finish_reason }], usage }));
    }
  };
}
