/** Compaction over a whole gateway: asked for by itself, by an item of the input, and on the way to an answer. */

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect } from 'chai';
import { toPrompt } from '../../src/core/compaction/prompt.ts';
import type { TestSettings } from '../support/settings.ts';
import type { CompactionResource, OutputItem, ResponseResource } from '../../src/contract/types.ts';
import { callerOf, readError, type Caller } from '../records/caller.ts';
import { answer, finish, KNOWN_USAGE, text, usageChunk } from '../records/chunks.ts';
import { startScriptedBackend, type ScriptedBackend } from '../support/backend.ts';
import { openGateway, type TestGateway } from '../support/gateway.ts';
import { useRealSockets } from '../support/real-sockets.ts';
import { compileSchema } from '../support/schemas.ts';
import { speakTo, type ConnectionContext } from '../support/web-socket.ts';
import { responseOf } from '../support/web-socket-scene.ts';
import { expectWellFormed, parseEvents } from '../support/well-formed.ts';

const OPEN_RESPONSES = join(import.meta.dirname, '../../../shared/openresponses/openapi-2026-04-24.json');

interface Asked {
  readonly model: string;
  readonly stream: boolean;
  readonly messages: readonly { readonly role: string; readonly content: string }[];
  readonly tools?: readonly unknown[];
  readonly max_tokens?: number;
}

const user = (content: string) => ({ role: 'user', content });
const said = (content: string) => ({ role: 'assistant', content });
const call = (id: string) => ({ type: 'function_call', call_id: id, name: 'look', arguments: '{}' });
const output = (id: string, seen: string) => ({ type: 'function_call_output', call_id: id, output: seen });
const TRIGGER = { type: 'compaction_trigger' };
const TOOLS = [{ type: 'function', name: 'look', parameters: { type: 'object', properties: {} } }];

const WINDOW = [
  { role: 'developer', content: 'Answer in one line.' },
  user('Find the cat.'),
  call('call_1'),
  output('call_1', 'An empty room.'),
  said('Not here. Shall I go on?'),
  user('Yes.'),
];
/** Twice the usage of one answer. */
const USED_TWICE = {
  input_tokens: 22,
  input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
  output_tokens: 14,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: 36,
};

describe('compaction', () => {
  useRealSockets();

  let backend: ScriptedBackend;
  let gateway: TestGateway;
  let caller: Caller;

  beforeEach(async () => {
    backend = await startScriptedBackend();
    await open();
  });

  afterEach(async () => {
    await gateway.close();
    await backend.close();
  });

  async function open(settings: TestSettings = {}): Promise<void> {
    gateway = await openGateway({ UPSTREAM_BASE_URL: backend.baseUrl, ...settings });
    caller = callerOf(gateway.url);
  }

  async function reopen(settings: TestSettings): Promise<void> {
    await gateway.close();
    await open(settings);
  }

  const asked = (index: number) => backend.requests[index]?.body as Asked;

  async function compact(request: object): Promise<CompactionResource> {
    return read<CompactionResource>(await caller.compact(request));
  }

  async function create(request: object): Promise<ResponseResource> {
    return read<ResponseResource>(await caller.create({ model: 'm', ...request }));
  }

  async function sealOf(summary: string): Promise<string> {
    backend.reply(answer(summary));
    return encryptedOf((await compact({ model: 'm', input: WINDOW })).output);
  }

  describe('by itself', () => {
    it('gives a window of the words of the user and a sealed summary', async () => {
      backend.reply(answer('It looked in one room.'));
      const compacted = await compact({ model: 'm', input: WINDOW, instructions: 'Be kind.', tools: TOOLS });
      const unique = compacted.id.replace('resp_', '');
      expect(compacted.output.map(({ type, id, status }) => ({ type, id, status }))).to.deep.equal([
        { type: 'message', id: `msg_${unique}0000`, status: 'completed' },
        { type: 'message', id: `msg_${unique}0001`, status: 'completed' },
        { type: 'message', id: `msg_${unique}0005`, status: 'completed' },
        { type: 'compaction', id: `cmp_${unique}0000`, status: 'completed' },
      ]);
      expect(compacted).to.deep.include({ object: 'response.compaction', usage: KNOWN_USAGE });
      expect(compacted.created_at).to.be.within(Date.now() / 1000 - 60, Date.now() / 1000 + 1);
      expect(JSON.stringify(compacted)).not.to.include('It looked');

      const { messages, ...fields } = asked(0);
      expect(fields).to.deep.equal({
        model: 'm',
        stream: true,
        stream_options: { include_usage: true },
        max_tokens: 4096,
      });
      expect(messages[0]).to.deep.equal({ role: 'system', content: 'Be kind.\n\nAnswer in one line.' });
      expect(messages.at(-1)?.content).to.equal(`Yes.\n\n${toPrompt(4096)}`);
    });

    it('is answered as both schemas have it', async () => {
      backend.reply(answer('It looked.'), answer('It looked.', 'stop', null));
      const isOwn = compileSchema('compaction.json', { closed: true });
      for (const input of [WINDOW, 'Hello']) {
        const compacted = await compact({ model: 'm', input });
        expect(isOwn(compacted), JSON.stringify(isOwn.errors)).to.equal(true);
        if (!existsSync(OPEN_RESPONSES)) continue;
        const ajv = new Ajv2020({ strict: false, validateFormats: false });
        ajv.addSchema(JSON.parse(readFileSync(OPEN_RESPONSES, 'utf8')) as object, 'openapi');
        const isOpen = ajv.compile({ $ref: 'openapi#/components/schemas/CompactResource' });
        expect(isOpen(compacted), JSON.stringify(isOpen.errors)).to.equal(true);
        // The test would see nothing if everything were valid.
        expect(isOpen({ ...compacted, usage: null })).to.equal(false);
      }
    });

    it('has a usage where the backend has counted nothing, which is that of the record', async () => {
      backend.reply(answer('It looked.', 'stop', null));
      const { id, usage } = await compact({ model: 'm', input: WINDOW });
      expect(usage.input_tokens).to.be.above(100);
      expect(await caller.record(id)).to.deep.include({ usage, usage_estimated: true });
    });

    it('can be asked for under the other base path, of a text, and again of what it gave', async () => {
      backend.reply(answer('FIRST'), answer('SECOND'), answer('Fine.'));
      const first = await compact({ model: 'm', input: 'Find the cat.' });
      const again = await fetch(`${gateway.url}/v1/responses/compact`, {
        method: 'POST',
        headers: { authorization: 'Bearer test-key', 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'm', input: [...first.output, said('Well.'), user('Go on.')] }),
      });
      const second = (await again.json()) as CompactionResource;
      expect(second.output.map(({ type }) => type)).to.deep.equal(['message', 'message', 'compaction']);
      expect(JSON.stringify(asked(1).messages)).to.include('FIRST');
      await create({ input: second.output });
      const told = JSON.stringify(asked(2).messages);
      expect(told).to.include('SECOND').and.not.to.include('FIRST');
    });

    it('has its own place in records and metrics', async () => {
      await reopen({ METRICS_PORT: '0' });
      backend.reply(answer('It looked.'));
      const { id } = await compact({ model: 'm', input: WINDOW });
      expect(await caller.record(id)).to.deep.include({
        endpoint: 'responses.compact',
        model: 'm',
        stream: false,
        status: 'succeeded',
        usage: KNOWN_USAGE,
        usage_estimated: false,
      });
      const metrics = await (await fetch(`${gateway.metricsUrl}/metrics`)).text();
      expect(metrics).to.match(
        /responses_gateway_requests_total\{endpoint="responses.compact",.*outcome="answered"\} 1/,
      );
      expect(metrics).to.match(/responses_gateway_tokens_total\{model="m",kind="output"\} 7/);
    });

    it('is written by the model that the operator has set, under its alias, and recorded for the one that was asked', async () => {
      await reopen({
        COMPACTION_MODEL: 'writer',
        compactionMaxOutputTokens: 300,
        MODEL_ALIASES: '{"writer": "small-model"}',
      });
      backend.reply(answer('It looked.'));
      const { id } = await compact({ model: 'm', input: WINDOW });
      expect(asked(0)).to.deep.include({ model: 'small-model', max_tokens: 300 });
      expect((await caller.record(id)).model).to.equal('m');
    });

    it('turns a window of 300 turns into one that goes on with the task', async () => {
      const window = Array.from({ length: 300 }, (_, turn) => [
        user(`Question ${turn}: ${'why '.repeat(100)}`),
        call(`call_${turn}`),
        output(`call_${turn}`, `Secret number ${turn}.`),
        said(`Answer ${turn}: ${'since '.repeat(100)}`),
      ]).flat();
      // A model that has read all of it, and remembers what mattered.
      backend.always(async (stage) => {
        const { messages } = stage.request.body as Asked;
        const asksForSummary = messages.at(-1)?.content.includes('[The conversation ends here.') === true;
        const told = JSON.stringify(messages);
        if (asksForSummary)
          return answer(told.includes('Secret number 7.') ? 'NUMBER SEVEN WAS TOLD' : 'nothing')(stage);
        return answer(told.includes('NUMBER SEVEN WAS TOLD') ? 'I remember.' : 'I forgot.')(stage);
      });
      const { output: compacted } = await compact({ model: 'm', input: window });
      const before = JSON.stringify(window).length;
      expect(JSON.stringify(compacted).length).to.be.within(1000, before / 3);
      const response = await create({ input: [...compacted, user('What was number 7?')] });
      expect(response.output_text).to.equal('I remember.');
      const kept = compacted.flatMap((item) => (item.type === 'message' ? [item.content[0]?.text.slice(0, 13)] : []));
      expect([kept.length > 50, kept.at(-1)]).to.deep.equal([true, 'Question 299:']);
      expect(JSON.stringify(asked(1)).length).to.be.below(JSON.stringify(asked(0)).length / 3);
    });
  });

  describe('by an item at the end of an input', () => {
    const request = { model: 'm', input: [...WINDOW, TRIGGER], tools: TOOLS, tool_choice: 'required' };

    it('is the only item of the response', async () => {
      backend.reply(answer('It looked.'));
      const { id, output: items, output_text, usage, status } = await create(request);
      expect(items).to.have.length(1);
      expect(items[0]).to.deep.include({ type: 'compaction', id: id.replace('resp_', 'cmp_').concat('0000') });
      expect({ output_text, usage, status }).to.deep.equal({
        output_text: '',
        usage: KNOWN_USAGE,
        status: 'completed',
      });
      expect(asked(0)).not.to.have.any.keys('tools', 'tool_choice');
      expect((await caller.record(id)).endpoint).to.equal('responses');
      await expectReadable(items, 'It looked.');
    });

    it('is told by a stream', async () => {
      backend.reply(answer('It looked.'));
      const reply = await caller.create({ ...request, stream: true });
      const events = parseEvents(await reply.text());
      const response = expectWellFormed(events);
      expect(events.map(({ type }) => type)).to.deep.equal([
        'response.created',
        'response.in_progress',
        'response.output_item.added',
        'response.output_item.done',
        'response.completed',
      ]);
      expect(response.usage).to.deep.equal(KNOWN_USAGE);
      await expectReadable(response.output, 'It looked.');
    });

    it('keeps a client awake that waits for a slow summary', async () => {
      await reopen({ headerHoldMs: 20, keepaliveEventMs: 20 });
      const { promise: released, resolve: release } = Promise.withResolvers<void>();
      backend.reply(async (stage) => {
        await stage.sse(text('It'));
        await released;
        await stage.sse(text(' looked.'), finish('stop'), usageChunk, '[DONE]');
        stage.end();
      });
      const reply = await caller.create({ ...request, stream: true });
      let received = '';
      for await (const piece of reply.body ?? []) {
        received += Buffer.from(piece as Uint8Array).toString();
        if (received.split('event: response.in_progress').length > 3) release();
      }
      expectWellFormed(parseEvents(received));
    });

    it('is read without the thoughts of the model', async () => {
      await reopen({ UPSTREAM_DIALECT: 'vllm' });
      backend.reply(answer('<think>What did it do?</think>It looked.'));
      const { output: items } = await create(request);
      await expectReadable(items, 'It looked.');
      expect(JSON.stringify(asked(1))).not.to.include('What did it do?');
    });
  });

  describe('on the way to an answer', () => {
    const management = [{ type: 'compaction', compact_threshold: 1000 }];
    const LONG = [user('Find the cat.'), said('x'.repeat(8000)), user('And?'), said('Not yet.'), user('Go on.')];

    it('comes first in the response, which has used what both requests have', async () => {
      backend.reply(answer('It looked.'), answer('Found.'));
      const response = await create({ input: LONG, tools: TOOLS, context_management: management });
      expect(response.output.map(({ type }) => type)).to.deep.equal(['compaction', 'message']);
      expect(response).to.deep.include({ output_text: 'Found.', usage: USED_TWICE, status: 'completed' });
      expect(asked(0)).not.to.have.property('tools');
      expect(asked(0)).to.deep.include({ stream: true });
      expect(asked(1)).to.have.property('tools');
      expect(asked(1).messages.map(({ role }) => role)).to.deep.equal(['user', 'assistant', 'user']);
      expect(asked(1).messages[0]?.content).to.match(
        /^Find the cat\.\n\nAnd\?\n\n\[Summary .*\n\nIt looked\.\n\n\[End/,
      );
      expect(asked(1).messages.slice(1)).to.deep.equal([said('Not yet.'), user('Go on.')]);
      expect(await caller.record(response.id)).to.deep.include({ usage: USED_TWICE, usage_estimated: false });
    });

    it('is not done again in the next turn, whether the client drops what was before it or not', async () => {
      backend.reply(answer('It looked.'), answer('Found.'), answer('Yes.'), answer('Yes.'));
      const { output: items } = await create({ input: LONG, context_management: management });
      for (const before of [LONG, []]) {
        const next = await create({ input: [...before, ...items, user('Where?')], context_management: management });
        expect(next.output.map(({ type }) => type)).to.deep.equal(['message']);
      }
      expect(backend.requests).to.have.length(4);
      for (const index of [2, 3]) {
        const told = JSON.stringify(asked(index).messages);
        expect(told)
          .to.include('It looked.')
          .and.to.include('Found.')
          .and.to.include('Where?')
          .and.not.to.include('xxx');
      }
      expect(asked(2).messages[0]?.content).to.include('Find the cat.');
    });

    it('leaves less to be weighed, where the backend does not count', async () => {
      backend.reply(answer('It looked.', 'stop', null), answer('Yes.', 'stop', null));
      const { output: items } = await create({ input: [...LONG, TRIGGER] });
      const { id } = await create({ input: [...LONG, ...items, user('Where?')] });
      expect((await caller.record(id)).usage?.input_tokens).to.be.below(400);
    });

    it('does not wait for a tool whose output has come', async () => {
      backend.reply(answer('It looked.'), answer('Found.'));
      const input = [
        user('Find it.'),
        call('call_1'),
        output('call_1', 'x'.repeat(8000)),
        call('call_2'),
        output('call_2', 'A tail!'),
      ];
      await create({ input, tools: TOOLS, context_management: management });
      expect(asked(1).messages.map(({ role }) => role)).to.deep.equal(['user', 'assistant', 'tool']);
      expect(asked(1).messages[2]?.content).to.equal('A tail!');
    });

    it('charges for what was used when the answer then fails', async () => {
      backend.reply(answer('It looked.'), { json: { error: { message: 'slow down' } }, status: 429 });
      const reply = await caller.create({ model: 'm', input: LONG, context_management: management });
      expect(reply.status).to.equal(429);
      const requestId = reply.headers.get('x-request-id') ?? '';
      expect(await caller.final(requestId)).to.deep.include({ status: 'failed', usage: KNOWN_USAGE });
    });

    it('estimates what two requests used when one of them does not say it', async () => {
      backend.reply(answer('It looked.'), answer('Found.', 'stop', null));
      const { id, usage } = await create({ input: LONG, context_management: management });
      expect(usage).to.equal(null);
      const record = await caller.record(id);
      expect(record.usage_estimated).to.equal(true);
      // The prompt and the input of the first, and the summary's place in the second.
      expect(record.usage?.input_tokens).to.be.within(2000, 4000);
    });

    it('fails as a whole when there is no summary, before anything was told', async () => {
      backend.reply({ json: { error: { message: 'no', code: 'context_length_exceeded' } }, status: 400 });
      const request = { model: 'm', input: LONG, context_management: management, stream: true };
      const reply = await caller.create(request);
      expect(reply.status).to.equal(400);
      expect((await readError(reply)).code).to.equal('context_length_exceeded');
      expect(backend.requests).to.have.length(1);
    });
  });

  describe('over a WebSocket', () => {
    const LONG = [user('Find the cat.'), said('x'.repeat(8000)), user('And?'), said('Not yet.'), user('Go on.')];

    async function askOver(ask: (speaker: ConnectionContext) => Promise<void>): Promise<void> {
      const speaker = await speakTo(gateway.url);
      await ask(speaker);
      speaker.close();
      await speaker.closed;
    }

    it('can be continued where it was asked for', async () => {
      backend.reply(answer('It looked.'), answer('In the kitchen.'));
      await askOver(async (speaker) => {
        const compacted = responseOf(await speaker.ask({ model: 'm', input: [...LONG, TRIGGER] }));
        expect(compacted.output.map(({ type }) => type)).to.deep.equal(['compaction']);
        const next = { model: 'm', input: 'Where?', previous_response_id: compacted.id };
        expect(responseOf(await speaker.ask(next)).output_text).to.equal('In the kitchen.');
      });
      const told = JSON.stringify(asked(1));
      expect(told).to.include('It looked.').and.to.include('Where?').and.not.to.include('xxx');
    });

    it('comes first on the way to an answer', async () => {
      backend.reply(answer('It looked.'), answer('In the kitchen.'));
      const context_management = [{ type: 'compaction', compact_threshold: 1000 }];
      await askOver(async (speaker) => {
        const response = responseOf(await speaker.ask({ model: 'm', input: LONG, context_management }));
        expect(response.output.map(({ type }) => type)).to.deep.equal(['compaction', 'message']);
      });
    });
  });

  describe('that cannot be read', () => {
    /** Returns how the backend is told of a compaction, and what the caller reads about it. */
    const readAgain = async (encrypted: string, by = caller) => {
      const { status, headers } = await by.create({
        model: 'm',
        input: [user('Hi'), { type: 'compaction', encrypted_content: encrypted }, user('Go on.')],
      });
      const told = JSON.stringify(backend.requests.at(-1)?.body);
      const sentence = /\[An earlier part of this conversation was compacted elsewhere[^\]]*\]/.exec(told)?.[0];
      const dropped = headers.get('x-dropped-items');
      return { status, isRead: told.includes('It looked.'), ...(sentence !== undefined && { sentence, dropped }) };
    };
    const READ = { status: 200, isRead: true };
    const TOLD = {
      status: 200,
      isRead: false,
      sentence: '[An earlier part of this conversation was compacted elsewhere and cannot be read here.]',
      dropped: 'compaction',
    };

    it('is told as a sentence to another caller, by another gateway, and in the place of reasoning', async () => {
      const sealed = await sealOf('It looked.');
      backend.reply({
        sse: [{ choices: [{ index: 0, delta: { reasoning_content: 'Hm.' } }] }, text('Hi'), finish('stop')],
      });
      const { output: items } = await create({ input: 'Hi', include: ['reasoning.encrypted_content'] });
      const reasoning = encryptedOf(items);
      backend.always(answer());
      expect(await readAgain(sealed, callerOf(gateway.url, 'another-key'))).to.deep.equal(TOLD);
      expect(await readAgain(reasoning)).to.deep.equal(TOLD);

      await create({ input: [{ type: 'reasoning', encrypted_content: sealed }, user('Hi')] });
      expect(JSON.stringify(backend.requests.at(-1)?.body)).not.to.include('It looked.');

      await reopen({ GATEWAY_SECRET: 'the secret of another gateway' });
      expect(await readAgain(sealed)).to.deep.equal(TOLD);
    });

    it('is read with the secret that was there before', async () => {
      const [first, second] = ['the first secret of all', 'the second secret of all'];
      await reopen({ GATEWAY_SECRET: first });
      const sealed = await sealOf('It looked.');
      backend.always(answer());
      await reopen({ GATEWAY_SECRET: second, GATEWAY_SECRET_PREVIOUS: first });
      expect(await readAgain(sealed)).to.deep.equal(READ);
    });
  });

  describe('is refused', () => {
    for (const { name, path, body, param, code = 'invalid_request' } of [
      { name: 'of nothing', path: 'compact', body: {}, param: 'input', code: 'missing_required_parameter' },
      { name: 'of no items', path: 'compact', body: { input: [] }, param: 'input' },
      { name: 'of itself', path: 'create', body: { input: [TRIGGER] }, param: 'input[0]' },
      { name: 'in the middle', path: 'create', body: { input: [user('Hi'), TRIGGER, user('Hi')] }, param: 'input[1]' },
      {
        name: 'in the middle of a window',
        path: 'compact',
        body: { input: [user('Hi'), TRIGGER, user('Hi')] },
        param: 'input[1]',
      },
      { name: 'twice', path: 'create', body: { input: [user('Hi'), TRIGGER, TRIGGER] }, param: 'input[1]' },
      {
        name: 'without its content',
        path: 'create',
        body: { input: [{ type: 'compaction' }] },
        param: 'input[0].encrypted_content',
        code: 'missing_required_parameter',
      },
      {
        name: 'of an earlier response',
        path: 'compact',
        body: { input: 'Hi', previous_response_id: 'resp_1' },
        param: 'previous_response_id',
        code: 'previous_response_not_found',
      },
      {
        name: 'with a threshold of nothing',
        path: 'create',
        body: { input: 'Hi', context_management: [{ type: 'compaction', compact_threshold: 0 }] },
        param: 'context_management[0].compact_threshold',
      },
    ]) {
      it(name, async () => {
        const reply = await (path === 'compact' ? caller.compact : caller.create)({ model: 'm', ...body });
        expect(reply.status).to.equal(400);
        expect(await readError(reply)).to.deep.include({ param, code });
        expect(backend.requests).to.have.length(0);
      });
    }

    it('without a model, and by any method but POST', async () => {
      const reply = await caller.compact({ input: 'Hi' });
      expect(await readError(reply)).to.deep.include({ param: 'model', code: 'missing_required_parameter' });
      const got = await caller.get('/api/v1/responses/compact');
      expect([got.status, got.headers.get('allow')]).to.deep.equal([405, 'POST']);
    });

    it('of a window too long for the model, in the words of the backend', async () => {
      const message = "This model's maximum context length is 8192 tokens. However, you requested 9001 tokens.";
      backend.reply({ json: { error: { message, type: 'BadRequestError', code: 400 } }, status: 400 });
      const reply = await caller.compact({ model: 'm', input: WINDOW });
      expect(reply.status).to.equal(400);
      expect((await readError(reply)).code).to.equal('context_length_exceeded');
    });
  });

  /** That the next request with these items tells the backend of this summary. */
  async function expectReadable(items: readonly OutputItem[], summary: string): Promise<void> {
    backend.reply(answer('Fine.'));
    await create({ input: [...items, user('Go on.')] });
    expect(JSON.stringify(backend.requests.at(-1)?.body)).to.include(summary);
  }
});

/** The body of a reply that has to be a good one. */
async function read<T>(reply: Response): Promise<T> {
  const body = await reply.text();
  expect(reply.status, body).to.equal(200);
  return JSON.parse(body) as T;
}

function encryptedOf(items: readonly object[]): string {
  const item = items.find((each): each is { encrypted_content: string } => 'encrypted_content' in each);
  if (item === undefined) throw new Error('nothing is sealed');
  return item.encrypted_content;
}
