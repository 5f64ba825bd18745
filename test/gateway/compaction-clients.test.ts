/** Compaction as those use it who did not write it: the official SDK, and whoever stays on a WebSocket. */

import { expect } from 'chai';
import OpenAI from 'openai';
import { toResponseInputItems } from 'openai/lib/responses/ResponseInputItems';
import type { ResponseInputItem, ResponseStreamEvent } from 'openai/resources/responses/responses';
import type { ResponseResource } from '../../src/contract/types.ts';
import { answer } from '../records/chunks.ts';
import { startScriptedBackend, type ScriptedBackend } from '../support/backend.ts';
import { openGateway, TEST_KEY, type TestGateway } from '../support/gateway.ts';
import { useRealSockets } from '../support/real-sockets.ts';
import { speakTo, type Answer } from '../support/web-socket.ts';

const HISTORY: ResponseInputItem[] = [
  { role: 'user', content: 'Find the cat.' },
  { role: 'assistant', content: `Not yet. ${'I look. '.repeat(1000)}` },
  { role: 'user', content: 'And now?' },
  { role: 'assistant', content: 'Still not.' },
  { role: 'user', content: 'Go on.' },
];
const SUMMARY = 'It looked in one room.';
const management = [{ type: 'compaction', compact_threshold: 1000 }];

describe('compaction', () => {
  useRealSockets();

  let backend: ScriptedBackend;
  let gateway: TestGateway;
  let client: OpenAI;

  beforeEach(async () => {
    backend = await startScriptedBackend();
    gateway = await openGateway({ UPSTREAM_BASE_URL: backend.baseUrl });
    client = new OpenAI({ baseURL: `${gateway.url}/api/v1`, apiKey: TEST_KEY, maxRetries: 0 });
  });

  afterEach(async () => {
    await gateway.close();
    await backend.close();
  });

  const told = (index: number) => JSON.stringify(backend.requests[index]?.body);

  describe('by the official SDK', () => {
    it('makes a window that the next request begins with', async () => {
      backend.reply(answer(SUMMARY), answer('In the kitchen.'));
      const compacted = await client.responses.compact({ model: 'm', input: HISTORY, instructions: 'Be kind.' });
      expect(compacted.object).to.equal('response.compaction');
      expect(compacted.output.at(-1)?.type).to.equal('compaction');
      expect(compacted.usage.total_tokens).to.equal(18);
      expect(compacted).to.have.property('_request_id', compacted.id.replace('resp_', 'req_'));

      const next = [...toResponseInputItems(compacted.output), { role: 'user', content: 'Where?' } as const];
      const response = await client.responses.create({ model: 'm', input: next });
      expect(response.output_text).to.equal('In the kitchen.');
      expect(told(1)).to.include(SUMMARY).and.to.include('Find the cat.').and.not.to.include('I look.');
    });

    it('is followed on the way in a stream, whose output goes into the next input', async () => {
      backend.reply(answer(SUMMARY), answer('In the kitchen.'), answer('By the door.'));
      const stream = client.responses.stream({ model: 'm', input: HISTORY, context_management: management });
      const types: ResponseStreamEvent['type'][] = [];
      for await (const event of stream) types.push(event.type);
      const response = await stream.finalResponse();
      expect(types.slice(2, 5)).to.deep.equal([
        'response.output_item.added',
        'response.output_item.done',
        'response.output_item.added',
      ]);
      expect(response.output.map(({ type }) => type)).to.deep.equal(['compaction', 'message']);
      const next = [...HISTORY, ...toResponseInputItems(response.output), { role: 'user', content: 'Where?' } as const];
      await client.responses.create({ model: 'm', input: next, context_management: management });
      expect(told(2)).to.include(SUMMARY).and.to.include('In the kitchen.').and.not.to.include('I look.');
    });

    it('is asked for by an item', async () => {
      backend.reply(answer(SUMMARY));
      const response = await client.responses.create({
        model: 'm',
        input: [...HISTORY, { type: 'compaction_trigger' }],
      });
      expect(response.output.map(({ type }) => type)).to.deep.equal(['compaction']);
    });

    it('goes on after a compaction of somebody else', async () => {
      backend.reply(answer('I cannot read it.'));
      const input: ResponseInputItem[] = [{ type: 'compaction', encrypted_content: 'gAAAAABodHRwczovL2V4' }];
      await client.responses.create({ model: 'm', input });
      expect(told(0)).to.include('compacted elsewhere and cannot be read');
    });
  });

  it('can be continued on a WebSocket that asked for it', async () => {
    backend.reply(answer(SUMMARY), answer('In the kitchen.'));
    const speaker = await speakTo(gateway.url);
    const compacted = lastOf(await speaker.ask({ model: 'm', input: [...HISTORY, { type: 'compaction_trigger' }] }));
    expect(compacted.output.map(({ type }) => type)).to.deep.equal(['compaction']);
    const next = lastOf(await speaker.ask({ model: 'm', input: 'Where?', previous_response_id: compacted.id }));
    expect(next.output_text).to.equal('In the kitchen.');
    expect(told(1)).to.include(SUMMARY).and.to.include('Where?').and.not.to.include('I look.');
    speaker.close();
    await speaker.closed;
  });

  it('is followed on the way on a WebSocket', async () => {
    backend.reply(answer(SUMMARY), answer('In the kitchen.'));
    const speaker = await speakTo(gateway.url);
    const response = lastOf(await speaker.ask({ model: 'm', input: HISTORY, context_management: management }));
    expect(response.output.map(({ type }) => type)).to.deep.equal(['compaction', 'message']);
    speaker.close();
    await speaker.closed;
  });
});

function lastOf(frames: Answer): ResponseResource {
  const last = 'at' in frames ? frames.at(-1) : undefined;
  if (last?.type !== 'response.completed') throw new Error(`it did not end well: ${JSON.stringify(frames)}`);
  return last.response;
}
