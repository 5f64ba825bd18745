import { expect } from 'chai';
import type { Usage } from '../../src/contract/types.ts';
import type { PromptReading } from '../../src/telemetry/facts.ts';
import { createPromptTurns, type PromptTurns } from '../../src/requests/prompt-turns.ts';
import { digestOf } from '../../src/identity/identities.ts';
import { USAGE } from '../support/records.ts';

interface Asked {
  readonly turns: PromptTurns;
  readonly messages: readonly object[];
  readonly caller?: string;
  readonly session?: string;
  readonly backend?: string;
  /** Of a replica. */
  readonly address?: string;
  readonly dialect?: string;
  readonly leftOut?: readonly string[];
  readonly input?: readonly unknown[];
  /** On a WebSocket. */
  readonly continues?: object;
  readonly isCompacted?: boolean;
  /** As the backend gets them. */
  readonly tools?: readonly string[];
  readonly usage?: Usage;
}

const HOUR_MS = 3_600_000;
const system = { role: 'system', content: 'You are an agent.' };
const user = (content: string) => ({ role: 'user', content });
const assistant = (content: string) => ({ role: 'assistant', content });
const FIRST = [system, user('Hello')];
const SECOND = [...FIRST, assistant('Hello!'), user('Look.')];

describe('the turns of a conversation', () => {
  let atMs: number;
  let turns: PromptTurns;

  beforeEach(() => {
    atMs = 1_000_000;
    turns = open();
  });

  function open(maxConversations?: number): PromptTurns {
    return createPromptTurns({ secret: 'a secret', nowMs: () => atMs, ...(maxConversations && { maxConversations }) });
  }

  function ask(asked: Omit<Asked, 'turns'> & { turns?: PromptTurns }): PromptReading | undefined {
    const { messages, caller = 'Ada', session = 'a session', dialect = 'generic', leftOut = [] } = asked;
    const { backend = 'a', address = '10.0.0.1' } = asked;
    const body = Buffer.from(JSON.stringify({ model: 'm', input: asked.input ?? messages }));
    const prompt = (asked.turns ?? turns).open(
      {
        caller: { identity: [caller] } as never,
        body: { bytes: body },
        ...(asked.continues && { continues: asked.continues }),
      },
      {
        endpoint: 'responses',
        model: 'm',
        conversation: digestOf(session),
        ...(asked.isCompacted === true && { compaction: {} }),
      },
    );
    prompt.asked({ name: backend, address, upstreamDialect: dialect });
    prompt.sent(Buffer.from(JSON.stringify({ model: 'm', messages, tools: asked.tools })), { model: 'm', leftOut });
    return prompt.end(asked.usage ?? USAGE);
  }

  const turnOf = (asked: Parameters<typeof ask>[0]) => ask(asked)?.turn;

  it('goes on from the one of its own branch where agents share a session', () => {
    const other = [{ ...system, content: 'You name conversations.' }, user('Name it.')];
    expect(turnOf({ messages: FIRST })).to.deep.equal({ turn: 'first' });
    expect(turnOf({ messages: other })).to.deep.equal({ turn: 'first' });
    expect(turnOf({ messages: SECOND })).to.deep.equal({ turn: 'extended' });
    expect(turnOf({ messages: [...other, assistant('Hello'), user('Shorter.')] })).to.deep.equal({ turn: 'extended' });
  });

  it('is the gateway that broke it where neither the client nor the settings changed anything', () => {
    const input = [...SECOND, assistant('I see.')];
    ask({ messages: [...SECOND, assistant('I see.')], input });
    const messages = [...FIRST, assistant('Changed on the way'), user('Look.'), assistant('I see.'), user('Go on.')];
    const at = 'message 3 of 5';
    const longer = [...input, user('Go on.')];
    expect(turnOf({ messages, input: longer })).to.deep.equal({ turn: 'broken', at, by: 'gateway' });
  });

  it('is not the client that broke it where it sends no more than what is new', () => {
    ask({ messages: [...SECOND, assistant('I see.')], input: FIRST });
    const messages = [...FIRST, assistant('Changed on the way'), user('Look.'), assistant('I see.'), user('Go on.')];
    const broken = turnOf({ messages, input: [user('Go on.')], continues: {} });
    expect(broken).to.include({ turn: 'broken', by: 'gateway' });
  });

  it('is the client that broke it where it asks for a shorter history', () => {
    ask({ messages: [...SECOND, assistant('I see.')], input: SECOND });
    const messages = [...FIRST, assistant('All in one'), user('Go on.')];
    const input = [...SECOND, user('Go on.')];
    expect(turnOf({ messages, input, isCompacted: true })).to.include({ turn: 'broken', by: 'client' });
  });

  it('is the client that broke it where a search of its own has found more tools', () => {
    const turns = [['look'], ['look', 'write'], ['write', 'look'], ['write']].map((tools, at) =>
      turnOf({ messages: [...SECOND, user(`Search ${at}`)], input: SECOND, tools }),
    );
    expect(turns.slice(1)).to.deep.equal(
      ['client', 'gateway', 'gateway'].map((by) => ({ turn: 'broken', at: 'tools', by })),
    );
  });

  it('is the settings that broke it where another dialect or a refused field explains it', () => {
    for (const change of [{ dialect: 'openai' }, { leftOut: ['messages.reasoning_content'] }]) {
      turns = open();
      ask({ messages: [...SECOND, assistant('I see.')], input: SECOND });
      const messages = [...FIRST, assistant('Told otherwise'), user('Look.'), assistant('I see.'), user('Go on.')];
      const input = [...SECOND, user('Go on.')];
      expect(turnOf({ messages, input, ...change })).to.include({ turn: 'broken', by: 'settings' });
    }
  });

  it('knows what a backend could have read from its cache, and whether it was another one', () => {
    ask({ messages: FIRST, usage: { ...USAGE, input_tokens: 2000 } });
    const usage = { ...USAGE, input_tokens: 3000 };
    expect(ask({ messages: SECOND, usage })).to.include({ reachableTokens: 2000, changedBackend: false });
    const third = [...SECOND, assistant('I see.'), user('Write.')];
    expect(ask({ messages: third, usage, backend: 'b' })).to.include({ reachableTokens: 3000, changedBackend: true });
    const elsewhere = { messages: third, usage, backend: 'b', address: '10.0.0.2' };
    expect(ask(elsewhere)).to.include({ reachableTokens: 3000, changedBackend: true });
    expect(ask(elsewhere)).to.include({ changedBackend: false });
  });

  it('is forgotten after an hour, and belongs to its caller', () => {
    ask({ messages: FIRST });
    expect(turnOf({ messages: SECOND, caller: 'Bob' })).to.deep.equal({ turn: 'first' });
    atMs += HOUR_MS;
    expect(turnOf({ messages: SECOND })).to.deep.equal({ turn: 'extended' });
    atMs += HOUR_MS + 1;
    expect(turnOf({ messages: SECOND })).to.deep.equal({ turn: 'first' });
  });

  it('costs a caller with many conversations its own oldest one', () => {
    turns = open(40);
    ask({ messages: FIRST, caller: 'Bob' });
    for (let at = 0; at < 20; at += 1) ask({ messages: FIRST, session: `session ${at}` });
    expect(turnOf({ messages: SECOND, caller: 'Bob' })).to.deep.equal({ turn: 'extended' });
    expect(turnOf({ messages: SECOND, session: 'session 0' })).to.deep.equal({ turn: 'first' });
    expect(turnOf({ messages: SECOND, session: 'session 19' })).to.deep.equal({ turn: 'extended' });
  });

  it('costs the caller whose last turn is the longest ago its oldest one where there are too many', () => {
    turns = open(40);
    for (let at = 0; at < 41; at += 1) ask({ messages: FIRST, caller: `caller ${at}` });
    expect(turnOf({ messages: SECOND, caller: 'caller 40' })).to.deep.equal({ turn: 'extended' });
    expect(turnOf({ messages: SECOND, caller: 'caller 0' })).to.deep.equal({ turn: 'first' });
  });

  it('names where a long conversation parts from the one before, and how much is remembered of it', () => {
    const long = Array.from({ length: 400 }, (_, at) =>
      at % 2 === 0 ? user(`Question ${at}`) : assistant(`Answer ${at}`),
    );
    ask({ messages: long });
    expect(turnOf({ messages: long.with(99, assistant('Edited')) })).to.deep.include({ at: 'message 100 of 400' });
    expect(turnOf({ messages: long.with(100, user('Edited')) })).to.deep.include({ at: 'message 100 of 400' });
    turns = open();
    ask({ messages: long });
    const late = turnOf({ messages: long.with(300, user('Edited')) });
    expect(late).to.deep.include({ at: 'message 201 of 400 or later' });
  });
});
