/** Items that change what the request asks for, as Codex and the AI SDK send them, whatever the request came over. */

import { expect } from 'chai';
import type { InputTokens, ResponseResource } from '../../src/contract/types.ts';
import { callerOf } from '../records/caller.ts';
import { answer } from '../records/chunks.ts';
import { useRealSockets } from '../support/real-sockets.ts';
import { responseOf, useScene } from '../support/web-socket-scene.ts';

const user = (content: string) => ({ type: 'message', role: 'user', content });
const effort = (to: string) => ({ type: 'configuration_update', id: null, reasoning: { effort: to } });
const text = (format: object) => ({ type: 'configuration_update', text: { format } });
const CITY = {
  type: 'json_schema',
  name: 'city',
  schema: { type: 'object', properties: { city: { type: 'string' } } },
};

describe('a configuration update', () => {
  useRealSockets();

  const scene = useScene();

  const sent = (index: number) => scene.backend.requests[index]?.body as Readonly<Record<string, unknown>>;

  it('holds in the place of the effort of the request, and is shown', async () => {
    await scene.open();
    const input = [effort('low'), user('Look.'), effort('high'), user('Now.')];
    const reply = await callerOf(scene.gateway.url).create({ model: 'm', input, reasoning: { effort: 'medium' } });
    expect(reply.headers.get('x-dropped-items')).to.equal(null);
    expect(((await reply.json()) as ResponseResource).reasoning).to.deep.equal({ effort: 'high', summary: null });
    expect(sent(0)['reasoning_effort']).to.equal('high');
    expect(sent(0)['messages']).to.deep.equal([{ role: 'user', content: 'Look.\n\nNow.' }]);
  });

  it('holds in the place of the text format of the request, and is shown', async () => {
    await scene.open();
    const input = [user('Look.'), text({ type: 'text' }), user('Which city?'), text(CITY)];
    const reply = await callerOf(scene.gateway.url).create({ model: 'm', input });
    expect(((await reply.json()) as ResponseResource).text.format).to.deep.include(CITY);
    const { name, schema } = CITY;
    expect(sent(0)['response_format']).to.deep.equal({ type: 'json_schema', json_schema: { name, schema } });
  });

  it('holds over a WebSocket until the next one, though a frame does not repeat it', async () => {
    const speaker = await scene.open();
    let previous = responseOf(await speaker.ask({ model: 'm', input: [user('One'), effort('low')] }));
    for (const input of [[user('Two')], [effort('high'), user('Three')]]) {
      previous = responseOf(await speaker.ask({ model: 'm', input, previous_response_id: previous.id }));
    }
    expect([0, 1, 2].map((index) => sent(index)['reasoning_effort'])).to.deep.equal(['low', 'low', 'high']);
    expect(previous.reasoning?.effort).to.equal('high');
  });

  it('holds for a compaction', async () => {
    await scene.open();
    scene.backend.reply(answer('They greeted.'));
    const caller = callerOf(scene.gateway.url);
    const request = { model: 'm', input: [user('Hi'), effort('low')], reasoning: { effort: 'high' } };
    expect((await caller.compact(request)).status).to.equal(200);
    expect(sent(0)['reasoning_effort']).to.equal('low');
  });

  it('is in the count of input tokens', async () => {
    await scene.open();
    const count = async (...input: readonly object[]) => {
      const reply = await fetch(`${scene.gateway.url}/api/v1/responses/input_tokens`, {
        method: 'POST',
        headers: { authorization: 'Bearer k', 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'gpt-4o', input }),
      });
      return ((await reply.json()) as InputTokens).input_tokens;
    };
    expect(await count(user('Hi'), text(CITY))).to.be.above((await count(user('Hi'))) + 10);
  });
});
