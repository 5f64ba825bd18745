/**
 * What clients send, and the chat request that one would write by hand for it. The requests of real clients lie beside the
 * repository, with long texts cut; those in `own` are of their kind. What is expected was written for the generic dialect,
 * and is changed by hand, after reading the contract.
 */

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { DIALECTS } from '../../src/core/dialects.ts';
import { ApiError } from '../../src/core/errors.ts';
import { toChatRequest } from '../../src/core/request/request.ts';
import { validateCreateResponse } from '../../src/requests/preparation/validate.ts';

const RECORDED = join(import.meta.dirname, '../../../shared/research/client-requests');
const GOLDEN = join(import.meta.dirname, 'golden');
const OWN = join(import.meta.dirname, 'own');

/** What a gateway that keeps nothing has to refuse, and how it says what to do instead. */
const REFUSED: Readonly<Record<string, { readonly param: string; readonly message: RegExp }>> = {
  'ai-openai-default-store-item-reference': { param: 'input[3]', message: /"store": false.*AI SDK.*store: false/ },
};

type Json = Readonly<Record<string, unknown>>;

describe('requests of clients', () => {
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

  it('are all named that have an expectation', () => {
    if (!existsSync(RECORDED)) return;
    const expected = readdirSync(GOLDEN).map((file) => file.replace('.chat.json', ''));
    expect([...expected, ...Object.keys(REFUSED)]).to.have.members(recordedNames());
  });
});

function recordedNames(): string[] {
  const files = existsSync(RECORDED) ? readdirSync(RECORDED) : [];
  return files.filter((file) => file.endsWith('.json')).map((file) => file.replace(/\.json$/, ''));
}

function translate(body: Json): unknown {
  const request = validateCreateResponse(withProperties(body));
  const { chat } = toChatRequest(request, {
    dialect: DIALECTS.generic,
    modelAliases: new Map(),
    hostedTools: 'drop',
    upstreamDialect: 'generic',
    openSeal: () => undefined,
    // Their thoughts came from this model.
    usedFields: { of: () => 'reasoning_content' },
  });
  return JSON.parse(JSON.stringify(chat));
}

/** The recorder has left the names of long `properties` only, as one text: `<path, edits>`. */
function withProperties(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withProperties);
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
