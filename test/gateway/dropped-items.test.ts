/** Items of the input that the model cannot be told of: a history that another server began goes on here. */

import { expect } from 'chai';
import { createLogger } from '../../src/telemetry/log.ts';
import type { CompactionResource, InputTokens } from '../../src/contract/types.ts';
import { callerOf, readError } from '../records/caller.ts';
import { answer } from '../records/chunks.ts';
import { FOREIGN_ITEMS, HOSTED_CALLS } from '../support/foreign-items.ts';
import { openManagedGateway } from '../support/managed.ts';
import { useRealSockets } from '../support/real-sockets.ts';
import { responseOf, useScene } from '../support/web-socket-scene.ts';
import { parseEvents } from '../support/well-formed.ts';
import type { TestSettings } from '../support/settings.ts';

const HEADER = 'x-dropped-items';
const user = (content: string) => ({ type: 'message', role: 'user', content });
const call = (id: string) => ({ type: 'function_call', call_id: id, name: 'look', arguments: '{}' });
const output = (id: string, text: string) => ({ type: 'function_call_output', call_id: id, output: text });
const update = { type: 'configuration_update', reasoning: { effort: 'low' } };
const [toolList] = FOREIGN_ITEMS;

/** A tool loop with two calls at once. What is given stands everywhere in it. */
const loopWith = (...items: readonly unknown[]) => [
  ...items,
  user('Look twice.'),
  ...items,
  { type: 'reasoning', summary: [{ type: 'summary_text', text: 'Twice, then.' }] },
  ...items,
  call('call_1'),
  ...items,
  call('call_2'),
  ...items,
  output('call_2', 'sun'),
  ...items,
  output('call_1', 'rain'),
  ...items,
];

describe('items that cannot be told to the model', () => {
  useRealSockets();

  const scene = useScene();
  let lines: Readonly<Record<string, unknown>>[];

  beforeEach(() => {
    lines = [];
  });

  async function open(settings: TestSettings = {}) {
    const log = createLogger('info', { write: (line) => void lines.push(JSON.parse(line)) });
    const speaker = await scene.open({ UPSTREAM_DIALECT: 'vllm', ...settings }, { log });
    return { speaker, caller: callerOf(scene.gateway.url) };
  }

  const messagesOf = (index: number) => {
    const { messages } = (scene.backend.requests.at(index)?.body ?? {}) as { messages?: unknown };
    return messages;
  };

  it('are left out and named, and the calls around them stay whole', async () => {
    const { caller } = await open();
    expect((await caller.create({ model: 'm', input: loopWith() })).headers.get(HEADER)).to.equal(null);
    expect(JSON.stringify(messagesOf(0))).to.match(/"Look twice\.".*call_1.*call_2.*"rain".*"sun"/);
    for (const item of FOREIGN_ITEMS) {
      const reply = await caller.create({ model: 'm', input: loopWith(item) });
      expect([reply.status, reply.headers.get(HEADER)], await reply.text()).to.deep.equal([200, item.type]);
      expect(messagesOf(-1), item.type).to.deep.equal(messagesOf(0));
    }
  });

  describe('are images that nobody can show', () => {
    const noImages: readonly object[] = [
      { image_url: '' },
      { image_url: null },
      {},
      { file_id: 'file-1' },
      ...['sandbox:/mnt/a.png', '/files/a.png', 'a.png', 'file:///files/a.png', 'iVBORw0KGgo='].map((url) => ({
        image_url: url,
      })),
    ];
    const picture = (fields: object) => ({ type: 'input_image', ...fields });
    const said = { type: 'input_text', text: 'rain' };
    for (const type of ['function_call_output', 'custom_tool_call_output']) {
      it(`in a ${type}`, async () => {
        const { caller } = await open();
        const loop = (...parts: unknown[]) => [
          user('Look.'),
          type === 'function_call_output'
            ? call('c')
            : { type: 'custom_tool_call', call_id: 'c', name: 'look', input: '' },
          { type, call_id: 'c', output: [said, ...parts] },
        ];
        await caller.create({ model: 'm', input: loop() });
        for (const fields of noImages) {
          const reply = await caller.create({ model: 'm', input: loop(picture(fields)) });
          expect([reply.status, reply.headers.get(HEADER)], await reply.text()).to.deep.equal([200, 'input_image']);
          expect(messagesOf(-1), JSON.stringify(fields)).to.deep.equal(messagesOf(0));
        }
      });
    }

    it('in a message that has been answered', async () => {
      const { caller } = await open();
      for (const fields of noImages.slice(0, 4)) {
        const input = [
          user('Look.'),
          { role: 'assistant', content: 'At what?' },
          { role: 'user', content: [picture(fields)] },
          { role: 'assistant', content: 'I see.' },
          user('And?'),
        ];
        const reply = await caller.create({ model: 'm', input });
        expect([reply.status, reply.headers.get(HEADER)], await reply.text()).to.deep.equal([200, 'input_image']);
        expect(JSON.stringify(messagesOf(-1)))
          .to.include('And?')
          .and.not.include('input_image')
          .and.not.include('""');
      }
    });

    const unshown = [
      picture({ image_url: 'https://example.com/a.png' }),
      { type: 'input_file', filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERi0=' },
      { type: 'input_file', file_id: 'file-1' },
    ];
    for (const part of unshown) {
      it(`to this backend, once it has answered: ${JSON.stringify(part)}`, async () => {
        const { caller } = await open({ UPSTREAM_DIALECT: 'ollama' });
        const shown = (...parts: object[]) => [
          { role: 'user', content: [said, ...parts] },
          call('c'),
          { type: 'function_call_output', call_id: 'c', output: [said, ...parts] },
        ];
        const answered = [{ role: 'assistant', content: 'I see.' }, user('And?')];
        expect((await caller.create({ model: 'm', input: shown(part) })).status).to.equal(400);
        const reply = await caller.create({ model: 'm', input: [...shown(part), ...answered] });
        expect(reply.status, await reply.text()).to.equal(200);
        expect(reply.headers.get(HEADER)).to.equal(part.type);
        await caller.create({ model: 'm', input: [...shown(), ...answered] });
        expect(JSON.stringify(messagesOf(0))).to.not.include(part.type);
      });
    }

    it('and are refused where HISTORY is reject', async () => {
      const { caller } = await open({ HISTORY: 'reject' });
      const input = [
        user('Look.'),
        call('c'),
        { type: 'function_call_output', call_id: 'c', output: [picture({ image_url: '' })] },
      ];
      expect(await readError(await caller.create({ model: 'm', input }))).to.include({ param: 'input[2]' });
    });

    it('and others in an output are shown, or refused as before', async () => {
      const { caller } = await open({ IMAGE_URLS: 'data' });
      const shown = (url: string) => [
        user('Look.'),
        call('c'),
        { type: 'function_call_output', call_id: 'c', output: [picture({ image_url: url })] },
      ];
      expect((await caller.create({ model: 'm', input: shown('DATA:image/png;base64,iVBORw0KGgo=') })).status).to.equal(
        200,
      );
      expect(JSON.stringify(messagesOf(0))).to.include('DATA:image/png');
      expect((await caller.create({ model: 'm', input: shown('https://example.com/a.png') })).status).to.equal(400);
    });
  });

  it('are all named in the header of a stream, in the order of the input and each once', async () => {
    const { caller } = await open();
    const reply = await caller.create({ model: 'm', input: loopWith(...FOREIGN_ITEMS), stream: true });
    expect(reply.headers.get(HEADER)).to.equal(FOREIGN_ITEMS.map(({ type }) => type).join(', '));
    expect(parseEvents(await reply.text()).at(-1)?.type).to.equal('response.completed');
  });

  it('are named beside tools that are left out', async () => {
    const { caller } = await open();
    const input = [user('Hi'), toolList];
    const { headers } = await caller.create({ model: 'm', input, tools: [{ type: 'mcp', server_label: 'cats' }] });
    expect([headers.get('x-dropped-tools'), headers.get(HEADER)]).to.deep.equal(['mcp', 'mcp_list_tools']);
  });

  it('bring nothing into the header but the first 64 characters of a name', async () => {
    const { caller } = await open();
    const types = [`x\r\nset-cookie: ü=1${'_'.repeat(100)}`, 'x'.repeat(65), 'x'.repeat(64)];
    const reply = await caller.create({ model: 'm', input: [user('Hi'), ...types.map((type) => ({ type }))] });
    expect(reply.headers.get(HEADER)).to.equal(`x__set-cookie:___1${'_'.repeat(46)}, ${'x'.repeat(64)}`);
  });

  it('are named in the log line, which a WebSocket has nothing else for', async () => {
    const { speaker } = await open();
    responseOf(await speaker.ask({ model: 'first', input: [user('Hi'), toolList] }));
    // The next answer on the connection comes when all is over with this one.
    responseOf(await speaker.ask({ model: 'second', input: 'Hi' }));
    expect(lines.find(({ model }) => model === 'first')?.['leftOut']).to.deep.equal({ [HEADER]: 'mcp_list_tools' });
    expect(lines.find(({ model }) => model === 'second') ?? {}).to.not.have.property('leftOut');
  });

  it('need no call in the conversation of a WebSocket', async () => {
    const { speaker } = await open();
    const { id } = responseOf(await speaker.ask({ model: 'm', input: [user('Hi'), toolList] }));
    const outputs = FOREIGN_ITEMS.filter(({ type }) => type.endsWith('_output'));
    responseOf(await speaker.ask({ model: 'm', input: [...outputs, user('And?')], previous_response_id: id }));
    expect(messagesOf(1)).to.deep.equal([
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: 'Hello' },
      { role: 'user', content: 'And?' },
    ]);
  });

  it('are named by the count of input tokens, and not estimated', async () => {
    await open();
    const large = { type: 'program_output', result: 'A'.repeat(100_000) };
    const reply = await fetch(`${scene.gateway.url}/api/v1/responses/input_tokens`, {
      method: 'POST',
      headers: { authorization: 'Bearer k', 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'm', input: [user('Hi'), large] }),
    });
    expect(reply.headers.get(HEADER)).to.equal('program_output');
    expect(((await reply.json()) as InputTokens).input_tokens).to.be.below(50);
  });

  it('are named by a compaction, and are nothing to begin one for', async () => {
    const { caller } = await open();
    scene.backend.reply(answer('They greeted.'));
    const reply = await caller.compact({ model: 'm', input: [user('Hi'), toolList] });
    expect(reply.headers.get(HEADER)).to.equal('mcp_list_tools');
    const { output: kept } = (await reply.json()) as CompactionResource;
    expect(kept.map(({ type }) => type)).to.deep.equal(['message', 'compaction']);
    const alone = await caller.compact({ model: 'm', input: [toolList] });
    expect(await readError(alone)).to.include({ code: 'invalid_request', param: 'input' });
  });

  it('are a 400 where the operator wants no gaps in a history', async () => {
    const { caller } = await open({ HISTORY: 'reject' });
    const reply = await caller.create({ model: 'm', input: [user('Hi'), toolList] });
    expect(reply.status).to.equal(400);
    expect(await readError(reply)).to.include({ code: 'invalid_request', param: 'input[1]' });
    expect((await caller.create({ model: 'm', input: [user('Hi'), update, ...HOSTED_CALLS] })).status).to.equal(200);
  });

  it('may be parts that only another server can read', async () => {
    const { caller } = await open();
    const secret = { type: 'encrypted_content', encrypted_content: 'gAAAAABo' };
    const text = { type: 'input_text', text: 'rain' };
    const input = [
      user('Hi'),
      call('a'),
      { ...output('a', ''), output: [secret, text] },
      { role: 'user', content: [secret, text] },
    ];
    const reply = await caller.create({ model: 'm', input });
    expect(reply.status, await reply.text()).to.equal(200);
    expect(reply.headers.get(HEADER)).to.equal('encrypted_content');
    expect(JSON.stringify(messagesOf(0)))
      .to.contain('"rain"')
      .and.not.to.contain('gAAAA');
  });

  it('may be all of the input of a warm-up', async () => {
    const { speaker } = await open();
    const input = [{ type: 'additional_tools', tools: [{ type: 'function', name: 'look' }] }];
    const { id } = responseOf(await speaker.ask({ model: 'm', input, generate: false }));
    responseOf(await speaker.ask({ model: 'm', input: [user('Hi')], previous_response_id: id }));
    expect(messagesOf(0)).to.deep.equal([{ role: 'user', content: 'Hi' }]);
  });

  it('cost a key with credits nothing', async () => {
    const managed = await openManagedGateway({ UPSTREAM_BASE_URL: scene.backend.baseUrl });
    try {
      const { secret } = await managed.issue({ creditsMicro: 10_000 });
      const large = { type: 'program_output', result: 'A'.repeat(100_000) };
      const request = { model: 'm', input: [user('Hi'), large], max_output_tokens: 10 };
      const reply = await callerOf(managed.url, secret).create(request);
      expect(reply.status, await reply.text()).to.equal(200);
    } finally {
      await managed.close();
    }
  });

  const added = { type: 'additional_tools', tools: [{ type: 'function', name: 'look' }] };
  const refused: readonly { name: string; input: readonly unknown[]; param: string; instructions?: string }[] = [
    { name: 'nothing but them', input: FOREIGN_ITEMS, param: 'input' },
    { name: 'nothing but them and instructions', input: FOREIGN_ITEMS, instructions: 'Be brief.', param: 'input' },
    { name: 'nothing but reasoning without a word', input: [{ type: 'reasoning' }], param: 'input' },
    { name: 'nothing but tools', input: [added], param: 'input' },
    { name: 'nothing but an update', input: [update], param: 'input' },
    { name: 'nothing but an empty word of the model', input: [{ role: 'assistant', content: '' }], param: 'input' },
    { name: 'nothing but an empty word of the system', input: [{ role: 'system', content: '' }], param: 'input' },
    { name: 'an update of another shape', input: [{ ...update, reasoning: 'low' }], param: 'input[0].reasoning' },
    { name: 'an empty type', input: [user('Hi'), { type: '' }], param: 'input[1].type' },
  ];
  for (const { name, param, ...request } of refused) {
    it(`do not make good what is a 400: ${name}`, async () => {
      const { caller } = await open();
      const reply = await caller.create({ model: 'm', ...request });
      expect(reply.status).to.equal(400);
      expect((await readError(reply)).param).to.equal(param);
      expect(scene.backend.requests).to.have.length(0);
    });
  }
});
