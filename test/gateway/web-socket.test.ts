import { expect } from 'chai';
import type { ChatRequest } from '../../src/core/chat.ts';
import type { Environment } from '../../src/settings.ts';
import type { ResponseResource } from '../../src/types/contract.ts';
import { answer, finish, text, usageChunk } from '../records/chunks.ts';
import { callerOf } from '../records/caller.ts';
import { startScriptedBackend, type ScriptedBackend } from '../support/backend.ts';
import { openGateway, type TestGateway } from '../support/gateway.ts';
import { useRealSockets } from '../support/real-sockets.ts';
import { speakTo, type Answer, type Speaker } from '../support/web-socket.ts';
import { expectWellFormed } from '../support/well-formed.ts';

const HELLO = { model: 'm', input: 'Hello' };

describe('a WebSocket', () => {
  useRealSockets();

  let backend: ScriptedBackend;
  let gateway: TestGateway;
  let speakers: Speaker[];

  beforeEach(async () => {
    backend = await startScriptedBackend();
    backend.always(answer());
    speakers = [];
  });

  afterEach(async () => {
    for (const { ws } of speakers) ws.terminate();
    await gateway.close();
    await backend.close();
  });

  async function open(settings: Environment = {}): Promise<Speaker> {
    gateway = await openGateway({ UPSTREAM_BASE_URL: backend.baseUrl, ...settings });
    return speak();
  }

  async function speak(options: Parameters<typeof speakTo>[1] = {}): Promise<Speaker> {
    const speaker = await speakTo(gateway.url, options);
    speakers.push(speaker);
    return speaker;
  }

  function messagesOf(index: number): readonly unknown[] {
    return (backend.requests[index]?.body as ChatRequest | undefined)?.messages ?? [];
  }

  describe('its turns', () => {
    it('are made one after the other, in the order of their requests', async () => {
      const speaker = await open();
      const { promise: released, resolve: release } = Promise.withResolvers<void>();
      backend.reply(async ({ start, sse, end }) => {
        start();
        await released;
        await sse(text('one'), finish('stop'), usageChunk, '[DONE]');
        end();
      }, answer('two'));
      speaker.send({ type: 'response.create', ...HELLO });
      speaker.send({ type: 'response.create', ...HELLO });
      await backend.request(1);
      // The second has been read long before this one is answered, and has not been passed on.
      await (await speak()).ask({ ...HELLO, previous_response_id: 'resp_unknown' });
      expect(backend.requests.length).to.equal(1);
      release();
      expect(responseOf(await speaker.answer()).output_text).to.equal('one');
      expect(responseOf(await speaker.answer()).output_text).to.equal('two');
    });

    it('each have a record of their own, by the id of the response', async () => {
      const speaker = await open();
      const ids = [responseOf(await speaker.ask(HELLO)).id, responseOf(await speaker.ask(HELLO)).id];
      expect(new Set(ids).size).to.equal(2);
      for (const id of ids) {
        const record = await callerOf(gateway.url).final(id);
        expect(record).to.include({ status: 'succeeded', stream: true, endpoint: 'responses', model: 'm' });
      }
    });

    it('are served at the alias too', async () => {
      await open();
      const speaker = await speak({ path: '/v1/responses?x=1' });
      expect(responseOf(await speaker.ask(HELLO)).status).to.equal('completed');
    });
  });

  describe('a continuation', () => {
    it('gives the backend the whole conversation, in order', async () => {
      const speaker = await open();
      backend.reply(answer('one'), answer('two'), answer('three'));
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
  });
});

function responseOf(given: Answer): ResponseResource {
  if ('status' in given) throw new Error(JSON.stringify(given));
  return expectWellFormed(given);
}
