/**
 * What clients send, and the chat request that one would write by hand for it. The requests of real clients lie beside the
 * repository, with long texts cut; those in `own` are of their kind. What is expected was written for the generic dialect,
 * and is changed by hand, after reading the contract.
 */

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { expect } from 'chai';
import { DIALECTS, type DialectName } from '../../src/core/dialects.ts';
import { toBody } from '../../src/backend/chat.ts';
import type { ChatRequest } from '../../src/core/chat.ts';
import { ApiError } from '../../src/core/errors.ts';
import { toChatRequest } from '../../src/core/request/request.ts';
import { createPromptTurns } from '../../src/requests/prompt-turns.ts';
import { validateCreateResponse } from '../../src/requests/preparation/validate.ts';
import { expectLonger } from '../support/chat-prefix.ts';
import { USAGE } from '../support/records.ts';

const RECORDED = join(import.meta.dirname, '../../../shared/research/client-requests');
const GOLDEN = join(import.meta.dirname, 'golden');
const OWN = join(import.meta.dirname, 'own');

/** What a gateway that keeps nothing has to refuse, and how it says what to do instead. */
const REFUSED: Readonly<Record<string, { readonly param: string; readonly message: RegExp }>> = {
  'ai-openai-default-store-item-reference': { param: 'input[3]', message: /"store": false.*AI SDK.*store: false/ },
};

type Json = Readonly<Record<string, unknown>>;

describe('requests of clients', () => {
  const sessions = recordedSessions();

  describe(`as they were recorded (${recordedNames().length} found)`, () => {
    for (const name of recordedNames()) {
      const { body } = readJson(join(RECORDED, `${name}.json`)) as { body: Json };
      const refused = REFUSED[name];
      if (refused === undefined) {
        it(`${name} becomes the chat request written for it`, () => {
          expect(translate(body)).to.deep.equal(readJson(join(GOLDEN, `${name}.chat.json`)));
        });
      } else {
        it(`${name} is refused with words that help`, () => {
          expect(() => translate(body))
            .to.throw(ApiError, refused.message)
            .with.property('param', refused.param);
        });
      }
    }
  });

  describe('of our own', () => {
    for (const file of readdirSync(OWN)) {
      const { request, chat } = readJson(join(OWN, file)) as { request: Json; chat: Json };
      it(`${file} becomes the chat request written for it`, () => {
        expect(translate(request)).to.deep.equal(chat);
      });
    }
  });

  describe(`keep the prefix of the turn before (${sessions.length} sessions of ${turnsIn(sessions)} turns found)`, () => {
    for (const { name, turns } of sessions) {
      it(`in the session of ${name}, in all dialects`, () => {
        for (const dialect of Object.keys(DIALECTS) as DialectName[]) {
          const chats = turns.map((body) => toChat(body, dialect));
          for (const [index, chat] of chats.slice(1).entries()) expectLonger(chat, chats[index], dialect);
          expect(watched(turns, dialect), dialect).to.deep.equal(
            chats.map(({ tools }, index) => {
              if (index === 0) return { turn: 'first' };
              // A client that has searched for tools offers more of them.
              return tools?.length === chats[index - 1]?.tools?.length ? { turn: 'extended' } : brokenAt('tools');
            }),
          );
        }
      });

      it(`and name the place where ${name} breaks it`, () => {
        const [before = {}, after = {}] = turns.slice(-2);
        const {
          instructions = '',
          tools = [],
          input,
        } = after as { instructions?: string; tools?: Json[]; input: Json[] };
        const turnOf = (change: Json): unknown =>
          watched([before, { ...after, tools: before['tools'], ...change }], 'generic')[1];
        expect(turnOf({ instructions: `It is noon. ${instructions}` })).to.deep.equal(brokenAt('instructions'));
        const [offered, others] = [tools, tools.toReversed()].map(
          (tools) => toChat({ ...after, tools }, 'generic').tools,
        );
        const hasOrder = !isDeepStrictEqual(offered, others);
        if (hasOrder) expect(turnOf({ tools: tools.toReversed() })).to.deep.equal(brokenAt('tools'));
        const at = (before['input'] as Json[]).findIndex(isEditable);
        if (at < 0) return;
        const field = input[at]?.['role'] === undefined ? 'output' : 'content';
        const edited = input.with(at, { ...input[at], [field]: 'Edited.' });
        const [known, changed] = [before, { ...after, input: edited }].map((body) => toChat(body, 'generic').messages);
        const place = known?.findIndex((message, index) => !isDeepStrictEqual(message, changed?.[index])) ?? -1;
        expect(turnOf({ input: edited })).to.deep.equal(brokenAt(`message ${place + 1} of ${known?.length}`));
      });
    }
  });

  it('are all named that have an expectation', () => {
    if (!existsSync(RECORDED)) return;
    const expected = readdirSync(GOLDEN).map((file) => file.replace('.chat.json', ''));
    expect([...expected, ...Object.keys(REFUSED)]).to.have.members(recordedNames());
  });
});

/** What the gateway says of these turns. */
function watched(turns: readonly Json[], dialect: DialectName): unknown[] {
  const promptTurns = createPromptTurns({ secret: 'a secret', nowMs: () => 0 });
  return turns.map((body) => {
    const prompt = promptTurns.open(
      { caller: { identity: ['a caller'] } as never, body: { bytes: Buffer.from(JSON.stringify(body)) } },
      { endpoint: 'responses', model: 'm', conversation: new Uint8Array() },
    );
    prompt.asked({ name: 'a', upstreamDialect: dialect });
    prompt.sent(bodyOf(toChat(body, dialect)), { model: 'm', leftOut: [] });
    return prompt.end(USAGE)?.turn;
  });
}

function brokenAt(at: string) {
  return { turn: 'broken', at, by: 'client' };
}

function bodyOf(chat: ChatRequest): Buffer {
  const body = toBody(chat, []);
  return Buffer.isBuffer(body) ? body : expect.fail('it is one text');
}

interface Session {
  readonly name: string;
  readonly turns: readonly Json[];
}

/** Each recorded request holds the turns before it, and each of those was sent when the model had not yet answered. */
function recordedSessions(): Session[] {
  const names = [...recordedNames(), ...recordedNames('more').map((name) => join('more', name))];
  return names.flatMap((name) => {
    const { body } = readJson(join(RECORDED, `${name}.json`)) as { body: Json };
    const { input } = body;
    if (REFUSED[name] !== undefined || !Array.isArray(input)) return [];
    const ends = input.flatMap((item, index) =>
      index > 0 && isOfModel(item) && !isOfModel(input[index - 1]) ? [index] : [],
    );
    const turns = [...ends, input.length].map((end) => ({ ...body, input: input.slice(0, end) }));
    return turns.length > 1 ? [{ name, turns }] : [];
  });
}

function isEditable({ type, role }: Json): boolean {
  return role === 'assistant' || type === 'function_call_output' || type === 'custom_tool_call_output';
}

function turnsIn(sessions: readonly Session[]): number {
  return sessions.reduce((sum, { turns }) => sum + turns.length, 0);
}

function isOfModel({ type = 'message', role }: { readonly type?: string; readonly role?: string }): boolean {
  return type === 'message' ? role === 'assistant' : type === 'reasoning' || type.endsWith('_call');
}

function recordedNames(folder = ''): string[] {
  const path = join(RECORDED, folder);
  const files = existsSync(path) ? readdirSync(path) : [];
  return files.filter((file) => file.endsWith('.json')).map((file) => file.replace(/\.json$/, ''));
}

function translate(body: Json): unknown {
  return JSON.parse(JSON.stringify(toChat(body, 'generic')));
}

function toChat(body: Json, dialect: DialectName): ChatRequest {
  const request = validateCreateResponse(withProperties(JSON.parse(JSON.stringify(body))));
  return toChatRequest(request, {
    dialect: DIALECTS[dialect],
    modelAliases: new Map(),
    hostedTools: 'drop',
    upstreamDialect: dialect,
    openSeal: () => undefined,
    // Their thoughts came from this model.
    usedFields: { of: () => 'reasoning_content' },
  }).chat;
}

/**
 * The recorder has left the names of long `properties` only, as one text: `<path, edits>`. Another text stands for the
 * rest of a long list of tools.
 */
function withProperties(value: unknown): unknown {
  if (Array.isArray(value)) return value.filter((one) => !/^… \d+ more: /.test(String(one))).map(withProperties);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => {
      const isCut = key === 'properties' && typeof inner === 'string';
      return [key, isCut ? Object.fromEntries(namesIn(inner).map((name) => [name, {}])) : withProperties(inner)];
    }),
  );
}

function namesIn(text: string): string[] {
  return text.slice(1, -1).split(', ');
}

function readJson(path: string): unknown {
  return JSON.parse(readFileSync(path, 'utf8'));
}
