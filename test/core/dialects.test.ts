import { expect } from 'chai';
import { DIALECTS, type DialectName } from '../../src/core/dialects.ts';
import { toChatRequest } from '../../src/core/request/request.ts';
import dialects from '../../schemas/dialects.json' with { type: 'json' };
import settings from '../../schemas/settings.json' with { type: 'json' };
import type { CreateResponse } from '../../src/contract/types.ts';
import { chunkOf, translate } from '../support/machine.ts';

/** One request that touches everything in which backends differ. */
const REQUEST: CreateResponse = {
  model: 'm',
  stream: true,
  instructions: 'One',
  input: [
    { type: 'message', role: 'user', content: 'Hi' },
    { type: 'reasoning', summary: [{ type: 'summary_text', text: 'Hmm.' }] },
    { type: 'message', role: 'assistant', content: [{ type: 'refusal', refusal: 'No.' }] },
    { type: 'message', role: 'developer', content: 'Two' },
  ],
  max_output_tokens: 9,
  reasoning: { effort: 'low' },
  text: { verbosity: 'low' },
  service_tier: 'flex',
  prompt_cache_key: 'k',
  safety_identifier: 's',
  user: 'u',
};

const FIRST = [{ role: 'system', content: 'One' }];
const LAST = [{ role: 'system', content: 'Two' }];
const TOLD = [
  {
    role: 'user',
    content: '[Message of the developer, which is not from the user:]\n\nTwo\n\n[End of the message of the developer.]',
  },
];
const HI = { role: 'user', content: 'Hi' };
const NO = { role: 'assistant', content: 'No.' };
const USAGE = { stream_options: { include_usage: true } };
const EFFORT = { reasoning_effort: 'low' };

/** What each backend is sent of it, and whether its answers may begin with a think block. */
const EXPECTED: Record<DialectName, { chat: object; thinkTags: boolean }> = {
  generic: {
    chat: {
      messages: [...FIRST, HI, NO, ...TOLD],
      ...USAGE,
      max_tokens: 9,
      ...EFFORT,
      user: 'u',
    },
    thinkTags: false,
  },
  openai: {
    chat: {
      messages: [
        ...FIRST,
        HI,
        { role: 'assistant', content: null, refusal: 'No.' },
        { role: 'developer', content: 'Two' },
      ],
      stream_options: { include_usage: true, include_obfuscation: false },
      max_completion_tokens: 9,
      ...EFFORT,
      verbosity: 'low',
      service_tier: 'flex',
      prompt_cache_key: 'k',
      safety_identifier: 's',
      user: 'u',
    },
    thinkTags: false,
  },
  azure: {
    chat: {
      messages: [
        ...FIRST,
        HI,
        { role: 'assistant', content: null, refusal: 'No.' },
        { role: 'developer', content: 'Two' },
      ],
      ...USAGE,
      max_completion_tokens: 9,
      ...EFFORT,
      verbosity: 'low',
      user: 'u',
    },
    thinkTags: false,
  },
  vllm: {
    chat: {
      messages: [...FIRST, HI, { ...NO, reasoning: 'Hmm.' }, ...TOLD],
      ...USAGE,
      max_tokens: 9,
      ...EFFORT,
      user: 'u',
    },
    thinkTags: true,
  },
  sglang: {
    chat: {
      messages: [...FIRST, HI, { ...NO, reasoning_content: 'Hmm.' }, ...TOLD],
      ...USAGE,
      max_tokens: 9,
      ...EFFORT,
      user: 'u',
    },
    thinkTags: true,
  },
  llamacpp: {
    chat: {
      messages: [...FIRST, HI, { ...NO, reasoning_content: 'Hmm.' }, ...TOLD],
      ...USAGE,
      max_tokens: 9,
      ...EFFORT,
      user: 'u',
    },
    thinkTags: true,
  },
  ollama: {
    chat: {
      messages: [...FIRST, HI, { ...NO, reasoning: 'Hmm.' }, ...TOLD],
      ...USAGE,
      max_tokens: 9,
      ...EFFORT,
      user: 'u',
    },
    thinkTags: true,
  },
  lmstudio: {
    chat: {
      messages: [...FIRST, HI, NO, ...TOLD],
      ...USAGE,
      max_tokens: 9,
      ...EFFORT,
      user: 'u',
    },
    thinkTags: true,
  },
  deepseek: {
    chat: {
      messages: [...FIRST, HI, { ...NO, reasoning_content: 'Hmm.' }, ...LAST],
      ...USAGE,
      max_tokens: 9,
      ...EFFORT,
      user: 'u',
    },
    thinkTags: false,
  },
  moonshot: {
    chat: {
      messages: [...FIRST, HI, { ...NO, reasoning_content: 'Hmm.' }, ...TOLD],
      ...USAGE,
      max_tokens: 9,
      ...EFFORT,
      user: 'u',
    },
    thinkTags: false,
  },
  google: {
    chat: {
      messages: [...FIRST, HI, NO, ...TOLD],
      ...USAGE,
      max_tokens: 9,
      ...EFFORT,
      user: 'u',
    },
    thinkTags: false,
  },
  mistral: {
    chat: {
      messages: [
        ...FIRST,
        HI,
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: [{ type: 'text', text: 'Hmm.' }] },
            { type: 'text', text: 'No.' },
          ],
        },
        ...TOLD,
      ],
      max_tokens: 9,
      reasoning_effort: 'high',
      prompt_cache_key: 'k',
    },
    thinkTags: false,
  },
  groq: {
    chat: {
      messages: [...FIRST, HI, { ...NO, reasoning: 'Hmm.' }, ...LAST],
      ...USAGE,
      max_completion_tokens: 9,
      ...EFFORT,
      service_tier: 'flex',
      user: 'u',
    },
    thinkTags: false,
  },
  openrouter: {
    chat: {
      messages: [...FIRST, HI, { ...NO, reasoning: 'Hmm.' }, ...LAST],
      ...USAGE,
      max_tokens: 9,
      ...EFFORT,
      verbosity: 'low',
      user: 'u',
    },
    thinkTags: false,
  },
  together: {
    chat: { messages: [...FIRST, HI, NO, ...TOLD], ...USAGE, max_tokens: 9, ...EFFORT, user: 'u' },
    thinkTags: true,
  },
};

const names = Object.keys(EXPECTED) as DialectName[];

describe('DIALECTS', () => {
  it('are those that an own dialect can extend, and that the settings name', () => {
    expect(dialects.$defs.OwnDialect.properties.extends.enum).to.deep.equal(Object.keys(DIALECTS));
    const { description } = settings.properties.UPSTREAM_DIALECT;
    expect(/one of (.*), or one/.exec(description)?.[1]?.split(', ')).to.deep.equal(Object.keys(DIALECTS));
  });

  for (const name of names) {
    const { chat: expected, thinkTags } = EXPECTED[name];

    it(`ask ${name} in its own way`, () => {
      const { chat } = toChatRequest(REQUEST, {
        dialect: DIALECTS[name],
        modelAliases: new Map(),
        hostedTools: 'drop',
        upstreamDialect: name,
      });
      expect(chat).to.deep.equal({ model: 'm', stream: true, ...expected });
    });

    it(`${thinkTags ? 'take' : 'do not take'} a think block from ${name} for reasoning`, () => {
      const chunks = [chunkOf({ content: '<think>Hmm.</think>Hi' }, 'stop')];
      const types = translate({ chunks, done: true }, { model: 'm', input: '' }, { dialect: name }).flatMap((event) =>
        event.type === 'response.output_item.added' ? [event.item.type] : [],
      );
      expect(types).to.deep.equal(thinkTags ? ['reasoning', 'message'] : ['message']);
    });
  }
});
