/** Large requests through the whole gateway: a thread prepares them, and nobody can tell. */

import { expect } from 'chai';
import { startScriptedBackend, type ScriptedBackend } from '../../support/backend.ts';
import type { ResponseCompletedEvent, ResponseEvent } from '../../../src/contract/types.ts';
import { openGateway, type TestGateway } from '../../support/gateway.ts';
import { useRealSockets } from '../../support/real-sockets.ts';
import { speakTo } from '../../support/web-socket.ts';

const CHUNKS = [
  { choices: [{ index: 0, delta: { role: 'assistant', content: 'Hello' }, finish_reason: null }] },
  { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
  { choices: [], usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 } },
];
const COMPLETION = {
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hello' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 },
};
const TOOL = { type: 'function', name: 'look up', description: 'Looks up.', parameters: { type: 'object' } };
const LONG = 'word '.repeat(450_000);

describe('a large request', () => {
  useRealSockets();

  let backend: ScriptedBackend;
  let gateway: TestGateway;

  before(async () => {
    backend = await startScriptedBackend();
    gateway = await openGateway({ UPSTREAM_BASE_URL: backend.baseUrl });
  });

  after(async () => {
    await gateway.close();
    await backend.close();
  });

  /** Replaces what differs from one request to the next, and the text. */
  function told(text: string): string {
    return text
      .replaceAll(LONG, 'Hello')
      .replaceAll(/"[a-z]+_[0-9a-f]{16,}[^"]*"/g, '"an id"')
      .replaceAll(/"(created_at|completed_at)":\d+/g, '"$1":0')
      .replaceAll(/"encrypted_content":"[^"]*"/g, '"encrypted_content":"sealed"');
  }

  for (const stream of [false, true]) {
    it(`has the ${stream ? 'events' : 'JSON'} and the chat request of a small one`, async () => {
      const seen: { reply: string; asked: unknown }[] = [];
      for (const text of ['Hello', LONG]) {
        backend.reply(stream ? { sse: CHUNKS } : { json: COMPLETION });
        const input = [{ role: 'user', content: text }];
        const reply = await gateway.create({ model: 'm', stream, instructions: 'Hi.', input, tools: [TOOL] });
        expect(reply.status).to.equal(200);
        seen.push({
          reply: told(await reply.text()),
          asked: JSON.parse(told(JSON.stringify(backend.requests.at(-1)?.body))),
        });
      }
      expect(seen[1]).to.deep.equal(seen[0]);
    });
  }

  it('has the events and the chat request of a small one over a WebSocket, and in the next turn', async () => {
    const seen: { answers: string; asked: unknown[] }[] = [];
    for (const text of ['Hello', LONG]) {
      const speaker = await speakTo(gateway.url);
      backend.reply({ sse: CHUNKS }, { sse: CHUNKS });
      const first = await speaker.ask({ model: 'm', instructions: 'Hi.', input: text, tools: [TOOL] });
      const { response } = (first as readonly ResponseEvent[]).at(-1) as ResponseCompletedEvent;
      const second = await speaker.ask({ model: 'm', input: 'And then?', previous_response_id: response.id });
      speaker.close();
      const asked = backend.requests.slice(-2).map(({ body }) => JSON.parse(told(JSON.stringify(body))) as unknown);
      seen.push({ answers: told(JSON.stringify([first, second])), asked });
    }
    expect(seen[1]).to.deep.equal(seen[0]);
    expect(JSON.stringify(seen[1]?.asked[1])).to.include('And then?').and.to.include('"role":"assistant"');
  });

  it('is summarized first where it is too long, and then goes on', async () => {
    backend.reply({ sse: CHUNKS }, { json: COMPLETION });
    const reply = await gateway.create({
      model: 'm',
      input: [
        { role: 'user', content: LONG },
        { role: 'assistant', content: LONG },
        { role: 'user', content: 'Go on.' },
      ],
      context_management: [{ type: 'compaction', compact_threshold: 1000 }],
    });
    const { output } = (await reply.json()) as { output: { type: string }[] };
    expect(output.map(({ type }) => type)).to.deep.equal(['compaction', 'message']);
    const asked = JSON.stringify(backend.requests.at(-1)?.body);
    expect(asked).to.include('Go on.');
    expect(asked.length).to.be.below(2 * LONG.length);
  });
});
