import { expect } from 'chai';
import type { OutputItem } from '../../src/contract/types.ts';
import { startScriptedBackend, type Reply, type ScriptedBackend } from '../support/backend.ts';
import { openGateway, TEST_KEY, type TestGateway } from '../support/gateway.ts';
import { expectWellFormed, parseEvents } from '../support/well-formed.ts';

const look = { type: 'function', name: 'look' };
const SECRET = 'the secret of the first gateway';

/** An answer with these fields in its message. */
function answer(message: object): Reply {
  return { json: { choices: [{ index: 0, message, finish_reason: 'stop' }] } };
}

describe('tools and reasoning over HTTP', () => {
  let backend: ScriptedBackend;
  let gateway: TestGateway | undefined;

  beforeEach(async () => {
    backend = await startScriptedBackend();
    backend.always(answer({ role: 'assistant', content: 'Hi' }));
  });

  afterEach(async () => {
    await gateway?.close();
    await backend.close();
  });

  /** One at a time. */
  async function open(settings: Readonly<Record<string, string>> = {}): Promise<TestGateway> {
    await gateway?.close();
    gateway = await openGateway({ UPSTREAM_BASE_URL: backend.baseUrl, ...settings });
    return gateway;
  }

  const offered = async (count: number) => {
    const { tools = [] } = (await backend.request(count)).body as { tools?: { function: { name: string } }[] };
    return tools.map((tool) => tool.function.name);
  };

  describe('tools that a server would execute', () => {
    const hosted = [{ type: 'web_search' }, { type: 'mcp', server_label: 'x' }, { type: 'web_search' }];

    it('are left out, named in a header, and not shown', async () => {
      const opened = await open();
      const reply = await opened.create({ model: 'm', input: 'Hi', tools: [...hosted, look] });
      const { tools } = (await reply.json()) as { tools: { type: string }[] };
      expect(reply.headers.get('x-dropped-tools')).to.equal('web_search, mcp');
      expect(tools.map(({ type }) => type)).to.deep.equal(['function']);
      expect(await offered(1)).to.deep.equal(['look']);
    });

    it('are named in the header of a stream too', async () => {
      const opened = await open();
      backend.reply({ sse: [{ choices: [{ index: 0, delta: { content: 'Hi' }, finish_reason: 'stop' }] }] });
      const reply = await opened.create({ model: 'm', input: 'Hi', tools: hosted, tool_choice: 'auto', stream: true });
      expect(reply.headers.get('x-dropped-tools')).to.equal('web_search, mcp');
      expectWellFormed(parseEvents(await reply.text()));
      expect((await backend.request(1)).body).not.to.include.any.keys('tools', 'tool_choice', 'parallel_tool_calls');
    });
  });

  describe('sealed reasoning', () => {
    const settings = { UPSTREAM_DIALECT: 'deepseek', GATEWAY_SECRET: SECRET };
    const include = ['reasoning.encrypted_content'];
    const THOUGHT = 'Hmm, the user greets. 思';

    async function think(extra: Readonly<Record<string, string>> = {}): Promise<OutputItem[]> {
      const opened = await open({ ...settings, ...extra });
      backend.reply(answer({ role: 'assistant', content: 'Hello.', reasoning_content: THOUGHT }));
      const reply = await opened.create({ model: 'm', input: 'Hi', include });
      return ((await reply.json()) as { output: OutputItem[] }).output;
    }

    /** What the backend is told of the assistant when the client goes on with these items. */
    async function replay(opened: TestGateway, items: readonly object[], key = TEST_KEY): Promise<object | undefined> {
      const input = [{ role: 'user', content: 'Hi' }, ...items, { role: 'user', content: 'And?' }];
      await opened.create({ model: 'm', input }, { headers: { authorization: `Bearer ${key}` } });
      const { messages } = (await backend.request(backend.requests.length)).body as { messages: { role: string }[] };
      return messages.find((message) => message.role === 'assistant');
    }

    const withoutSummary = (items: readonly OutputItem[]) =>
      items.map((item) => (item.type === 'reasoning' ? { ...item, summary: [] } : item));

    it('comes back to the same message of the assistant', async () => {
      const items = await think();
      expect(items.map(({ type }) => type)).to.deep.equal(['reasoning', 'message']);
      expect(JSON.stringify(items[0])).to.match(/"encrypted_content":"rgw1_/);
      const told = await replay(await open(settings), withoutSummary(items));
      expect(told).to.deep.equal({ role: 'assistant', content: 'Hello.', reasoning_content: THOUGHT });
    });

    it('is there also where reasoning is hidden, and shows nothing then', async () => {
      const items = await think({ REASONING_OUTPUT: 'hidden' });
      expect(items[0]).to.deep.include({ type: 'reasoning', summary: [] });
      expect(JSON.stringify(items)).not.to.include('greets');
      expect(await replay(await open(settings), items)).to.include({ reasoning_content: THOUGHT });
    });

    it('is nothing to another caller, who keeps what stands there in clear', async () => {
      const items = await think();
      const later = await open(settings);
      expect(await replay(later, withoutSummary(items), 'other-key')).to.include({ reasoning_content: '' });
      expect(await replay(later, items, 'other-key')).to.include({ reasoning_content: THOUGHT });
    });
  });
});
