import { expect } from 'chai';
import type { ChatRequest } from '../../src/core/chat.ts';
import type { CreateResponse } from '../../src/contract/types.ts';
import { answer, callArguments, finish, stream, text, usageChunk } from '../records/chunks.ts';
import { callerOf } from '../records/caller.ts';
import { useRealSockets } from '../support/real-sockets.ts';
import { refusalOf, responseOf, useScene } from '../support/web-socket-scene.ts';

const HELLO = { model: 'm', input: 'Hello' };
const NOT_FOUND = [400, 'previous_response_not_found', 'previous_response_id'];

describe('a WebSocket', () => {
  useRealSockets();
  const scene = useScene();

  function messagesOf(index: number): ChatRequest['messages'] {
    const body = scene.backend.requests[index]?.body as ChatRequest | undefined;
    return body?.messages ?? [];
  }

  describe('its turns', () => {
    it('are made one after the other, in the order of their requests', async () => {
      const speaker = await scene.open();
      const { promise: released, resolve: release } = Promise.withResolvers<void>();
      scene.backend.reply(async ({ start, sse, end }) => {
        start();
        await released;
        await sse(text('one'), finish('stop'), usageChunk, '[DONE]');
        end();
      }, answer('two'));
      speaker.send({ type: 'response.create', ...HELLO });
      speaker.send({ type: 'response.create', ...HELLO });
      await scene.backend.request(1);
      // Another connection has its answer meanwhile, and the second request has still not been passed on.
      await (await scene.speak()).ask({ ...HELLO, previous_response_id: 'resp_unknown' });
      expect(scene.backend.requests.length).to.equal(1);
      release();
      expect(responseOf(await speaker.answer()).output_text).to.equal('one');
      expect(responseOf(await speaker.answer()).output_text).to.equal('two');
    });

    it('are answered in order where some are refused', async () => {
      const speaker = await scene.open();
      scene.backend.reply(answer('one'), answer('three'));
      speaker.send({ type: 'response.create', ...HELLO });
      speaker.send('nonsense');
      speaker.send({ type: 'response.create', ...HELLO });
      expect(responseOf(await speaker.answer()).output_text).to.equal('one');
      expect(refusalOf(await speaker.answer())).to.deep.equal([400, 'invalid_json', '']);
      expect(responseOf(await speaker.answer()).output_text).to.equal('three');
    });

    it('each have a record of their own, by the id of the response', async () => {
      const speaker = await scene.open();
      const ids = [responseOf(await speaker.ask(HELLO)).id, responseOf(await speaker.ask(HELLO)).id];
      expect(new Set(ids).size).to.equal(2);
      for (const id of ids) {
        const record = await callerOf(scene.gateway.url).final(id);
        expect(record).to.include({ status: 'succeeded', stream: true, endpoint: 'responses', model: 'm' });
      }
    });

    it('are served at the alias too', async () => {
      await scene.open();
      const speaker = await scene.speak({ path: '/v1/responses?x=1' });
      expect(responseOf(await speaker.ask(HELLO)).status).to.equal('completed');
    });
  });

  describe('a continuation', () => {
    it('gives the backend the whole conversation, in order', async () => {
      const speaker = await scene.open();
      scene.backend.reply(answer('one'), answer('two'), answer('three'));
      const first = responseOf(await speaker.ask({ ...HELLO, instructions: 'Be brief.' }));
      const second = responseOf(await speaker.ask({ ...HELLO, input: 'And?', previous_response_id: first.id }));
      expect(second.previous_response_id).to.equal(first.id);
      const input = [{ role: 'user', content: [{ type: 'input_text', text: 'So?' }] }];
      const third = responseOf(await speaker.ask({ model: 'm', input, previous_response_id: second.id }));
      expect(third.output_text).to.equal('three');
      expect(messagesOf(2)).to.deep.equal([
        { role: 'user', content: 'Hello' },
        { role: 'assistant', content: 'one' },
        { role: 'user', content: 'And?' },
        { role: 'assistant', content: 'two' },
        { role: 'user', content: 'So?' },
      ]);
    });

    it('gives the output of a call to the call which the connection remembers', async () => {
      const speaker = await scene.open();
      scene.backend.reply(stream([callArguments('{}'), finish('tool_calls'), usageChunk, '[DONE]'], 'end'));
      const tools = [{ type: 'function', name: 'look' }];
      const first = responseOf(await speaker.ask({ ...HELLO, tools }));
      const output = { type: 'function_call_output', call_id: 'call_1', output: 'sunny' };
      responseOf(await speaker.ask({ model: 'm', tools, input: [output], previous_response_id: first.id }));
      expect(messagesOf(1).slice(1)).to.deep.equal([
        {
          role: 'assistant',
          content: null,
          tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'look', arguments: '{}' } }],
        },
        { role: 'tool', tool_call_id: 'call_1', content: 'sunny' },
      ]);
    });

    it('refuses the output of a call that is not in the conversation, and forgets it', async () => {
      const speaker = await scene.open();
      const { id } = responseOf(await speaker.ask(HELLO));
      const output = { type: 'function_call_output', call_id: 'call_9', output: 'sunny' };
      const input = [{ role: 'user', content: 'And?' }, output];
      const wrong = { model: 'm', input, previous_response_id: id };
      expect(refusalOf(await speaker.ask(wrong))).to.deep.equal([400, 'invalid_request', 'input[1].call_id']);
      expect(refusalOf(await speaker.ask({ ...HELLO, previous_response_id: id }))).to.deep.equal(NOT_FOUND);
      expect(scene.backend.requests.length).to.equal(1);
    });

    it('takes an output whose call comes with it', async () => {
      const speaker = await scene.open();
      const { id } = responseOf(await speaker.ask(HELLO));
      const call = { type: 'function_call', call_id: 'call_9', name: 'look', arguments: '{}' };
      const output = { type: 'function_call_output', call_id: 'call_9', output: 'sunny' };
      responseOf(await speaker.ask({ model: 'm', input: [call, output], previous_response_id: id }));
    });

    it('takes an output without its call where nothing is continued, as over HTTP', async () => {
      const speaker = await scene.open();
      const output = { type: 'function_call_output', call_id: 'call_9', output: 'sunny' };
      responseOf(await speaker.ask({ model: 'm', input: [output] }));
    });

    const failures: readonly { what: string; request: Partial<CreateResponse>; code: string; asked: number }[] = [
      { what: 'the gateway', request: { temperature: 7 }, code: 'invalid_request', asked: 1 },
      { what: 'the backend', request: { model: 'refused' }, code: 'rate_limit_exceeded', asked: 2 },
    ];
    for (const { what, request, code, asked } of failures) {
      it(`is forgotten when ${what} refuses it`, async () => {
        const speaker = await scene.open();
        const { id } = responseOf(await speaker.ask(HELLO));
        scene.backend.reply({ json: { error: { message: 'slow down' } }, status: 429 });
        const [, told] = refusalOf(await speaker.ask({ ...HELLO, ...request, previous_response_id: id }));
        expect([told, scene.backend.requests.length]).to.deep.equal([code, asked]);
        expect(refusalOf(await speaker.ask({ ...HELLO, previous_response_id: id }))).to.deep.equal(NOT_FOUND);
      });
    }

    it('is forgotten when it fails in the middle', async () => {
      const speaker = await scene.open();
      const { id } = responseOf(await speaker.ask(HELLO));
      scene.backend.reply(stream([text('Hel')], 'cut'));
      const failed = responseOf(await speaker.ask({ ...HELLO, previous_response_id: id }));
      expect(failed.status).to.equal('failed');
      for (const previous of [id, failed.id]) {
        expect(refusalOf(await speaker.ask({ ...HELLO, previous_response_id: previous }))).to.deep.equal(NOT_FOUND);
      }
    });

    it('survives a request that fails and continues nothing', async () => {
      const speaker = await scene.open();
      const { id } = responseOf(await speaker.ask(HELLO));
      expect(refusalOf(await speaker.ask({ model: 'm' }))[1]).to.equal('missing_required_parameter');
      expect(refusalOf(await speaker.ask({ ...HELLO, previous_response_id: 'resp_1' }))).to.deep.equal(NOT_FOUND);
      responseOf(await speaker.ask({ ...HELLO, previous_response_id: id }));
    });

    it('is of the latest response alone', async () => {
      const speaker = await scene.open();
      const { id } = responseOf(await speaker.ask(HELLO));
      responseOf(await speaker.ask({ ...HELLO, input: 'Something else' }));
      expect(refusalOf(await speaker.ask({ ...HELLO, previous_response_id: id }))).to.deep.equal(NOT_FOUND);
    });

    it('is of the same connection alone, also after a reconnect', async () => {
      const speaker = await scene.open();
      const { id } = responseOf(await speaker.ask(HELLO));
      const other = await scene.speak();
      expect(refusalOf(await other.ask({ ...HELLO, previous_response_id: id }))).to.deep.equal(NOT_FOUND);
      speaker.close();
      await speaker.closed;
      const again = await scene.speak();
      expect(refusalOf(await again.ask({ ...HELLO, previous_response_id: id }))).to.deep.equal(NOT_FOUND);
      responseOf(await again.ask(HELLO));
    });

    it('of an incomplete response is one too', async () => {
      const speaker = await scene.open();
      scene.backend.reply(answer('one and', 'length'));
      const { id, status } = responseOf(await speaker.ask(HELLO));
      expect(status).to.equal('incomplete');
      responseOf(await speaker.ask({ ...HELLO, previous_response_id: id }));
      expect(messagesOf(1)).to.have.lengthOf(3);
    });

    it('is refused where all of it would be larger than a body may be', async () => {
      const speaker = await scene.open({ MAX_BODY_BYTES: '2000' });
      const long = { model: 'm', input: 'x'.repeat(1000) };
      const { id } = responseOf(await speaker.ask(long));
      const told = refusalOf(await speaker.ask({ ...long, previous_response_id: id }));
      expect(told).to.deep.equal([413, 'payload_too_large', 'previous_response_id']);
    });

    it('names the fields of its own input in an error', async () => {
      const speaker = await scene.open();
      const { id } = responseOf(await speaker.ask(HELLO));
      const input = [
        { role: 'user', content: 'And?' },
        { role: 'user', content: 7 },
      ];
      const { status, error } = (await speaker.ask({ model: 'm', input, previous_response_id: id })) as {
        status: number;
        error: { param: string; message: string };
      };
      expect([status, error.param]).to.deep.equal([400, 'input[1].content']);
      expect(error.message).to.match(/^input\[1\]\.content /);
    });

    it('counts what is remembered among the estimated input', async () => {
      const speaker = await scene.open();
      scene.backend.always(answer('one', 'stop', null));
      const { id } = responseOf(await speaker.ask({ model: 'm', input: 'x'.repeat(4000) }));
      const second = responseOf(await speaker.ask({ ...HELLO, previous_response_id: id }));
      const record = await callerOf(scene.gateway.url).final(second.id);
      expect(record.usage?.input_tokens).to.be.above(500);
    });
  });

  describe('a warm-up', () => {
    it('asks nothing of the backend, leaves no record, and can be continued', async () => {
      const speaker = await scene.open();
      const warm = responseOf(await speaker.ask({ ...HELLO, generate: false }));
      expect(warm).to.deep.include({ status: 'completed', output: [], output_text: '', model: 'm' });
      expect(warm.usage).to.include({ input_tokens: 0, output_tokens: 0, total_tokens: 0 });
      expect(scene.backend.requests.length).to.equal(0);
      const caller = callerOf(scene.gateway.url);
      expect((await caller.get(`/api/v1/requests/${warm.id}`)).status).to.equal(404);

      const next = { model: 'm', input: [], previous_response_id: warm.id };
      responseOf(await speaker.ask(next));
      expect(messagesOf(0)).to.deep.equal([{ role: 'user', content: 'Hello' }]);
    });

    it('may come before there is any input', async () => {
      const speaker = await scene.open();
      for (const input of [undefined, []]) {
        const warm = responseOf(await speaker.ask({ model: 'm', generate: false, input }));
        responseOf(await speaker.ask({ ...HELLO, previous_response_id: warm.id }));
        expect(scene.backend.requests.at(-1)?.body).to.have.deep.property('messages', [
          { role: 'user', content: 'Hello' },
        ]);
      }
    });

    it('is refused as the request would be', async () => {
      const speaker = await scene.open();
      const told = refusalOf(await speaker.ask({ ...HELLO, generate: false, tools: [{ type: 'function' }] }));
      expect(told).to.deep.equal([400, 'missing_required_parameter', 'tools[0].name']);
    });
  });
});
