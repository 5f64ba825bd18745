import { expect } from 'chai';
import { ApiError } from '../../../src/core/errors.ts';
import { DIALECTS, type DialectName } from '../../../src/core/dialects.ts';
import { maxCallsOf } from '../../../src/core/request/tool-choice.ts';
import { planTools } from '../../../src/core/request/tools.ts';
import type { CreateResponse, ToolParam } from '../../../src/contract/types.ts';
import { exchange, type BackendCall } from '../../support/conversation.ts';
import { openMachine } from '../../support/machine.ts';

type ToolFields = Pick<CreateResponse, 'tools' | 'tool_choice'>;

const look: ToolParam = { type: 'function', name: 'look' };
const see: ToolParam = { type: 'function', name: 'see' };
const webSearch: ToolParam = { type: 'web_search' };

function refusal(request: ToolFields): { code: string; param: string } {
  try {
    planTools({ input: '', ...request }, 'drop');
  } catch (error) {
    if (error instanceof ApiError) return { code: error.code, param: error.param };
    throw error;
  }
  throw new Error('the tools were accepted');
}

describe('tool_choice', () => {
  const cases: { name: string; request: ToolFields; offered: string[]; choice: unknown }[] = [
    { name: 'absent', request: { tools: [look, see] }, offered: ['look', 'see'], choice: undefined },
    { name: 'none', request: { tools: [look], tool_choice: 'none' }, offered: ['look'], choice: 'none' },
    { name: 'auto', request: { tools: [look], tool_choice: 'auto' }, offered: ['look'], choice: 'auto' },
    { name: 'required', request: { tools: [look], tool_choice: 'required' }, offered: ['look'], choice: 'required' },
    {
      name: 'one function',
      request: { tools: [look, see], tool_choice: { type: 'function', name: 'see' } },
      offered: ['look', 'see'],
      choice: { type: 'function', function: { name: 'see' } },
    },
    {
      name: 'one function whose name no backend takes',
      request: { tools: [{ type: 'function', name: 'a.b' }], tool_choice: { type: 'function', name: 'a.b' } },
      offered: ['a_b'],
      choice: { type: 'function', function: { name: 'a_b' } },
    },
    {
      name: 'allowed tools, of which the model may call any',
      request: {
        tools: [look, see],
        tool_choice: { type: 'allowed_tools', tools: [{ type: 'function', name: 'see' }], mode: 'auto' },
      },
      offered: ['see'],
      choice: 'auto',
    },
    {
      name: 'allowed tools, of which it has to call one',
      request: {
        tools: [look, see],
        tool_choice: { type: 'allowed_tools', tools: [{ type: 'function', name: 'see' }], mode: 'required' },
      },
      offered: ['see'],
      choice: 'required',
    },
    {
      name: 'allowed tools without a mode',
      request: {
        tools: [look, see],
        tool_choice: { type: 'allowed_tools', tools: [{ type: 'function', name: 'look' }] },
      },
      offered: ['look'],
      choice: 'auto',
    },
    {
      name: 'allowed tools that are all hosted',
      request: { tools: [look, webSearch], tool_choice: { type: 'allowed_tools', tools: [{ type: 'web_search' }] } },
      offered: [],
      choice: undefined,
    },
    { name: 'auto without tools', request: { tools: [], tool_choice: 'auto' }, offered: [], choice: undefined },
    { name: 'none without tools', request: { tool_choice: 'none' }, offered: [], choice: undefined },
  ];
  for (const { name, request, offered, choice } of cases) {
    it(`is passed on: ${name}`, () => {
      const plan = planTools({ input: '', ...request }, 'drop');
      expect(plan.offered.map((tool) => tool.function.name)).to.deep.equal(offered);
      expect(plan.choice).to.deep.equal(choice);
      expect('choice' in plan, 'a choice that is not there is absent').to.equal(choice !== undefined);
    });
  }

  const refused: { name: string; request: ToolFields; code: string; param: string }[] = [
    {
      name: 'required without tools',
      request: { tool_choice: 'required' },
      code: 'invalid_request',
      param: 'tool_choice',
    },
    {
      name: 'required with hosted tools only',
      request: { tools: [webSearch], tool_choice: 'required' },
      code: 'invalid_request',
      param: 'tool_choice',
    },
    {
      name: 'a function that is not there',
      request: { tools: [look], tool_choice: { type: 'function', name: 'see' } },
      code: 'invalid_request',
      param: 'tool_choice.name',
    },
    {
      name: 'a hosted tool',
      request: { tools: [look, webSearch], tool_choice: { type: 'web_search' } },
      code: 'unsupported_tool',
      param: 'tool_choice.type',
    },
    {
      name: 'a tool of a type not known',
      request: { tools: [look], tool_choice: { type: 'teleport' } },
      code: 'unsupported_tool',
      param: 'tool_choice.type',
    },
    {
      name: 'a word in an object',
      request: { tools: [look], tool_choice: { type: 'auto' } },
      code: 'invalid_request',
      param: 'tool_choice',
    },
    {
      name: 'a custom tool without a name',
      request: { tools: [look], tool_choice: { type: 'custom' } },
      code: 'invalid_request',
      param: 'tool_choice.name',
    },
    {
      name: 'an allowed function that is not there',
      request: {
        tools: [look],
        tool_choice: {
          type: 'allowed_tools',
          tools: [
            { type: 'function', name: 'look' },
            { type: 'function', name: 'see' },
          ],
        },
      },
      code: 'invalid_request',
      param: 'tool_choice.tools[1].name',
    },
    {
      name: 'an allowed function without a name',
      request: { tools: [look], tool_choice: { type: 'allowed_tools', tools: [{ type: 'function' }] } },
      code: 'invalid_request',
      param: 'tool_choice.tools[0].name',
    },
    {
      name: 'one of allowed tools when only hosted ones are allowed',
      request: {
        tools: [look, webSearch],
        tool_choice: { type: 'allowed_tools', mode: 'required', tools: [{ type: 'web_search' }] },
      },
      code: 'invalid_request',
      param: 'tool_choice',
    },
  ];
  for (const { name, request, code, param } of refused) {
    it(`is refused: ${name}`, () => {
      expect(refusal(request)).to.deep.equal({ code, param });
    });
  }

  for (const [type, word] of Object.entries({ auto: 'auto', none: 'none', required: 'required', any: 'required' })) {
    it(`names the word to write for an object of the type ${type}`, () => {
      const request: CreateResponse = { model: 'm', input: 'Go.', tools: [look], tool_choice: { type } };
      expect(() => planTools(request, 'drop')).to.throw(ApiError, `write "tool_choice": "${word}"`);
    });
  }

  describe('of one function', () => {
    const request: CreateResponse = {
      model: 'm',
      input: 'Go.',
      tools: [look, see],
      tool_choice: { type: 'function', name: 'see' },
    };
    const named = { offered: ['look', 'see'], choice: { type: 'function', function: { name: 'see' } } };
    const alone = { offered: ['see'], choice: 'required' };
    const sent: Record<DialectName, object> = {
      generic: alone,
      openai: named,
      azure: alone,
      vllm: named,
      sglang: named,
      llamacpp: alone,
      ollama: alone,
      lmstudio: alone,
      deepseek: named,
      moonshot: alone,
      google: alone,
      mistral: named,
      groq: named,
      openrouter: named,
      together: named,
    };
    for (const [dialect, expected] of Object.entries(sent)) {
      it(`goes out to ${dialect} as it holds it`, () => {
        const { tools = [], tool_choice: choice } = openMachine(request, { dialect: dialect as DialectName }).chat;
        expect({ offered: tools.map((tool) => tool.function.name), choice }).to.deep.equal(expected);
      });
    }
  });

  describe('of allowed tools', () => {
    const allowed: ToolParam[] = [see, { type: 'function', name: 'listen' }, webSearch];
    const request: CreateResponse = {
      model: 'm',
      input: 'Go.',
      tools: [look, see, { type: 'function', name: 'listen' }],
      tool_choice: { type: 'allowed_tools', mode: 'required', tools: allowed },
    };
    const toNamed = (name: string) => ({ type: 'function', function: { name } });

    for (const dialect of Object.keys(DIALECTS) as DialectName[]) {
      it(`goes out to ${dialect} ${dialect === 'openai' ? 'as a list' : 'as those alone'}`, () => {
        const { tools = [], tool_choice: choice } = openMachine(request, { dialect }).chat;
        expect({ offered: tools.map((tool) => tool.function.name), choice }).to.deep.equal(
          dialect === 'openai'
            ? {
                offered: ['look', 'see', 'listen'],
                choice: {
                  type: 'allowed_tools',
                  allowed_tools: { mode: 'required', tools: ['see', 'listen'].map(toNamed) },
                },
              }
            : { offered: ['see', 'listen'], choice: 'required' },
        );
      });
    }

    it('goes out as words where none of them is offered', () => {
      const none: CreateResponse = { ...request, tool_choice: { type: 'allowed_tools', tools: [webSearch] } };
      expect(openMachine(none, { dialect: 'openai' }).chat).to.not.have.any.keys('tools', 'tool_choice');
    });
  });

  describe('none', () => {
    const request: CreateResponse = { model: 'm', input: 'Go.', tools: [look], tool_choice: 'none' };

    for (const dialect of Object.keys(DIALECTS) as DialectName[]) {
      it(`offers ${dialect} ${dialect === 'ollama' ? 'nothing' : 'what it offers else'}`, () => {
        const { chat } = openMachine(request, { dialect });
        if (dialect === 'ollama') expect(chat).to.not.have.any.keys('tools', 'tool_choice');
        else expect(chat).to.include({ tool_choice: 'none' }).and.to.have.property('tools').with.length(1);
      });
    }
  });
});

describe('a reply to a request that holds its tool_choice', () => {
  const LOOK = { id: 'call_1', name: 'look', arguments: '{"at":1}' };
  const SEE = { id: 'call_2', name: 'see', arguments: '{"at":2}' };
  const CHOSEN: Partial<CreateResponse> = { tool_choice: { type: 'function', name: 'see' } };

  const cases: {
    name: string;
    request: Partial<CreateResponse>;
    calls: BackendCall[];
    content?: string;
    left: string[];
  }[] = [
    { name: 'none', request: { tool_choice: 'none' }, calls: [LOOK], left: ['""'] },
    { name: 'none, with words', request: { tool_choice: 'none' }, calls: [LOOK], content: 'Hm.', left: ['"Hm."'] },
    { name: 'none, without tools', request: { tools: [], tool_choice: 'none' }, calls: [LOOK], left: ['""'] },
    { name: 'a function that was called', request: CHOSEN, calls: [SEE], left: ['see'] },
    { name: 'a function and another call', request: CHOSEN, calls: [LOOK, SEE], left: ['see'] },
    { name: 'a function that was not called', request: CHOSEN, calls: [LOOK], left: ['""'] },
    { name: 'no parallel calls', request: { parallel_tool_calls: false }, calls: [LOOK, SEE], left: ['look'] },
    { name: 'parallel calls', request: { parallel_tool_calls: true }, calls: [LOOK, SEE], left: ['look', 'see'] },
  ];
  for (const { name, request, calls, content, left } of cases) {
    for (const as of ['completion', { pieces: [3] }] as const) {
      it(`passes on what ${name} allows, ${as === 'completion' ? 'whole' : 'in pieces'}`, () => {
        const { output, events } = exchange(
          { model: 'm', input: 'Go.', tools: [look, see], ...request },
          { calls, as, ...(content !== undefined && { content }) },
        );
        expect(events.at(-1)?.type).to.equal('response.completed');
        expect(
          output.map((item) => {
            if (item.type === 'function_call') return item.name;
            return item.type === 'message'
              ? item.content.map((part) => JSON.stringify('text' in part && part.text)).join('')
              : item.type;
          }),
        ).to.deep.equal(left);
      });
    }
  }
});

describe('maxCallsOf', () => {
  const cases: [Pick<CreateResponse, 'parallel_tool_calls' | 'max_tool_calls'>, number | null][] = [
    [{}, null],
    [{ parallel_tool_calls: true, max_tool_calls: 3 }, 3],
    [{ parallel_tool_calls: false }, 1],
    [{ parallel_tool_calls: false, max_tool_calls: 3 }, 1],
  ];
  for (const [request, expected] of cases) {
    it(`of ${JSON.stringify(request)} is ${expected}`, () => {
      expect(maxCallsOf(request)).to.equal(expected);
    });
  }
});
