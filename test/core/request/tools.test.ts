import { expect } from 'chai';
import { ApiError } from '../../../src/core/errors.ts';
import type { ToolRef } from '../../../src/core/request/tool-names.ts';
import { createToolFinder, planTools } from '../../../src/core/request/tools.ts';
import type { CreateResponse, ToolParam } from '../../../src/contract/types.ts';
import { cpuTimeMs } from '../../support/cpu-time.ts';

type ToolFields = Pick<CreateResponse, 'tools' | 'tool_choice'>;

const look: ToolParam = { type: 'function', name: 'look' };
const see: ToolParam = { type: 'function', name: 'see' };
const webSearch: ToolParam = { type: 'web_search' };
const toFunction = (name: string): ToolParam => ({ type: 'function', name });
const named = (name: string) => ({ kind: 'function', name }) as const;

function refusal(request: ToolFields, hostedTools: 'drop' | 'reject' = 'drop'): { code: string; param: string } {
  try {
    planTools({ input: '', ...request }, hostedTools);
  } catch (error) {
    if (error instanceof ApiError) return { code: error.code, param: error.param };
    throw error;
  }
  throw new Error('the tools were accepted');
}

describe('planTools', () => {
  it('offers a function with what the request says of it, and shows it with null for the rest', () => {
    const parameters = { type: 'object', properties: { x: { type: 'number' } } };
    const look: ToolParam = { type: 'function', name: 'look', description: 'Looks.', parameters, strict: false };
    const plan = planTools({ input: '', tools: [look, see] }, 'drop');
    expect(plan.offered).to.deep.equal([
      { type: 'function', function: { name: 'look', description: 'Looks.', parameters, strict: false } },
      {
        type: 'function',
        function: {
          name: 'see',
          parameters: { type: 'object', properties: {}, required: [], additionalProperties: false },
        },
      },
    ]);
    expect(plan.echo).to.deep.equal([
      { type: 'function', name: 'look', description: 'Looks.', parameters, strict: false },
      { type: 'function', name: 'see', description: null, parameters: null, strict: null },
    ]);
  });

  describe('the root of a schema', () => {
    const about = { $schema: 'http://json-schema.org/draft-07/schema#', $defs: { x: { type: null } } };
    const oneOf = [{ type: 'object', properties: { mode: { const: 'a' } } }, { $ref: '#/$defs/x' }];
    const empty = { type: 'object', properties: {} };
    const cases: { name: string; given: Readonly<Record<string, unknown>>; expected: object }[] = [
      { name: 'has no type', given: { ...about, oneOf }, expected: { ...about, oneOf, ...empty } },
      { name: 'has nothing', given: {}, expected: empty },
      { name: 'has no properties', given: { type: 'object' }, expected: empty },
      { name: 'has null for its type', given: { type: null, properties: {} }, expected: empty },
      { name: 'has null for its properties', given: { type: 'object', properties: null }, expected: empty },
      { name: 'has a list for its properties, as PHP writes them', given: { properties: [] }, expected: empty },
      { name: 'may be null', given: { type: ['object', 'null'], required: [] }, expected: { ...empty, required: [] } },
      { name: 'is no object', given: { type: 'array', items: {} }, expected: { ...empty, items: {} } },
      {
        name: 'is whole',
        given: { additionalProperties: null, properties: { type: {} }, type: 'object' },
        expected: { additionalProperties: null, properties: { type: {} }, type: 'object' },
      },
    ];
    for (const { name, given, expected } of cases) {
      it(`that ${name} is that of an object, wherever the tool comes from`, () => {
        const tool: ToolParam = { type: 'function', name: 'look', parameters: given };
        const plan = planTools(
          {
            tools: [
              tool,
              { type: 'namespace', name: 'n', tools: [tool] },
              { type: 'tool_search', execution: 'client', parameters: given },
            ],
            input: [
              { type: 'additional_tools', role: 'developer', tools: [{ ...tool, name: 'added' }] },
              {
                type: 'tool_search_output',
                call_id: 'c',
                tools: [{ type: 'namespace', name: 'found', tools: [tool] }],
              },
            ],
          },
          'drop',
        );
        const sent = plan.offered.map(({ function: { parameters } }) => parameters);
        expect(sent).to.deep.equal(Array.from({ length: 5 }, () => expected));
        expect(Object.keys(sent[0] ?? {}).slice(0, Object.keys(given).length)).to.deep.equal(Object.keys(given));
        expect(plan.echo[0]).to.have.property('parameters', given);
      });
    }
  });

  describe('hosted tools', () => {
    const tools = [webSearch, look, { type: 'mcp' }, { type: 'web_search' }, { type: 'teleport' }];

    it('are dropped, named once each, and not shown', () => {
      const plan = planTools({ input: '', tools }, 'drop');
      expect(plan.dropped).to.deep.equal(['web_search', 'mcp', 'teleport']);
      expect(plan.offered.map((tool) => tool.function.name)).to.deep.equal(['look']);
      expect(plan.echo.map((tool) => tool.type)).to.deep.equal(['function']);
    });

    it('alone may call a tool that excludes the model', () => {
      const tools: ToolParam[] = [['programmatic'], ['direct', 'programmatic'], []].map((callers, at) =>
        Object.assign(toFunction(`look_${at}`), { allowed_callers: callers }),
      );
      const patch = Object.assign({ type: 'apply_patch' } as const, { allowed_callers: ['programmatic'] });
      const plan = planTools({ input: '', tools: [...tools, patch, { type: 'programmatic_tool_calling' }] }, 'drop');
      expect(plan.offered.map((tool) => tool.function.name)).to.deep.equal(['look_1', 'look_2']);
      expect(plan.dropped).to.deep.equal(['programmatic_tool_calling']);
    });

    it('are refused where they are not to be dropped', () => {
      expect(refusal({ tools: [look, webSearch] }, 'reject')).to.deep.equal({
        code: 'unsupported_tool',
        param: 'tools[1].type',
      });
    });
  });

  describe('createToolFinder', () => {
    it('passes on a call to a function that was never offered', () => {
      expect(createToolFinder(planTools({ input: '', tools: [look] }, 'drop'))('see')).to.deep.equal(named('see'));
    });

    it('forbids every call that allowed_tools does not name, known or not', () => {
      const allowed: ToolFields = {
        tools: [look, see],
        tool_choice: { type: 'allowed_tools', tools: [{ type: 'function', name: 'see' }] },
      };
      const plan = planTools({ input: '', ...allowed }, 'drop');
      expect(createToolFinder(plan)('see')).to.deep.equal(named('see'));
      expect(createToolFinder(plan)('look')).to.equal(undefined);
      expect(createToolFinder(plan)('teleport')).to.equal(undefined);
    });

    describe('of a name that no tool has', () => {
      const search = { kind: 'function', namespace: 'mcp__codegraph', name: 'codegraph_search' } as const;
      const tools: ToolParam[] = [
        { type: 'namespace', name: 'mcp__codegraph', tools: [{ type: 'function', name: 'codegraph_search' }] },
        ...['mcp__one__find', 'mcp__two__find', 'exec_command', 'find_all', 'Ticket_get-by-id'].map(toFunction),
        { type: 'custom', name: 'raw' },
        { type: 'apply_patch' },
      ];
      const cases: readonly (readonly [name: string, expected: ToolRef])[] = [
        ['codegraph_search', search],
        ['codegraph__codegraph_search', search],
        ['mcp__codegraph.codegraph_search', search],
        ['mcp__codegraph/codegraph_search', search],
        ['mcp.codegraph:codegraph_search', search],
        ['functions.mcp__codegraph__codegraph_search', search],
        ['functions.exec_command', named('exec_command')],
        ['functions.exec_command:0', named('exec_command')],
        ['exec_command<|channel|>commentary', named('exec_command')],
        ['functions.exec_command<|channel|>commentary', named('exec_command')],
        ['default_api:raw', { kind: 'custom', name: 'raw' }],
        ['functions.apply_patch', { kind: 'apply_patch' }],
        ['one.find', named('mcp__one__find')],
        [' exec_command\n', named('exec_command')],
        ['exec_command" />', named('exec_command')],
        ['exec_command</tool_call>', named('exec_command')],
        ['Exec_Command', named('exec_command')],
        ['exec-command', named('exec_command')],
        ['functions.Exec-Command', named('exec_command')],
        ['ticket_get_by_id', named('Ticket_get-by-id')],
      ];
      for (const [name, expected] of cases) {
        it(`takes ${name} for the one that fits`, () => {
          expect(createToolFinder(planTools({ input: '', tools }, 'drop'))(name)).to.deep.equal(expected);
        });
      }

      for (const name of [
        'find',
        'search',
        'command',
        'exec',
        'mcp__three__find',
        'mcp__codegraph',
        '<|channel|>',
        '.',
        'FIND',
        'execcommand',
      ]) {
        it(`passes ${name} on, which fits none or several`, () => {
          expect(createToolFinder(planTools({ input: '', tools }, 'drop'))(name)).to.deep.equal(named(name));
        });
      }

      it('prefers the tool that is spelled so', () => {
        const plan = planTools({ input: '', tools: ['look', 'Look', 'x_look', 'X-look'].map(toFunction) }, 'drop');
        for (const name of ['look', 'Look', 'X-look']) expect(createToolFinder(plan)(name)).to.deep.equal(named(name));
        expect(createToolFinder(plan)('X_LOOK')).to.deep.equal(named('X_LOOK'));
      });

      it('prefers the tool that has the name without what the template left', () => {
        const plan = planTools({ input: '', tools: ['look', 'mcp__x__look'].map(toFunction) }, 'drop');
        expect(createToolFinder(plan)('look<|call|>')).to.deep.equal(named('look'));
      });

      it('passes a name on that is only in the history', () => {
        const plan = planTools({ input: '', tools: [toFunction('look')] }, 'drop');
        plan.nameTowardsBackend(named('mcp__x__look'));
        plan.nameTowardsBackend(named('mcp__x__see'));
        const find = createToolFinder(plan);
        expect(find('mcp__x__look')).to.deep.equal(named('mcp__x__look'));
        expect(find('see')).to.deep.equal(named('see'));
        expect(find('x.look')).to.deep.equal(named('look'));
      });

      it('takes the one that may be called', () => {
        const chosen: ToolFields = {
          tools: ['a__look', 'b__look'].map(toFunction),
          tool_choice: { type: 'function', name: 'b__look' },
        };
        expect(createToolFinder(planTools({ input: '', ...chosen }, 'drop'))('look')).to.deep.equal(named('b__look'));
        const none = planTools({ input: '', tools: [toFunction('a__look')], tool_choice: 'none' }, 'drop');
        expect(createToolFinder(none)('look')).to.equal(undefined);
      });
    });

    for (const name of ['constructor', '__proto__', 'toString']) {
      it(`takes ${name} for a name like any other`, () => {
        const plan = planTools({ input: '', tools: [{ type: 'function', name }] }, 'drop');
        expect(plan.offered[0]?.function.name).to.equal(name);
        expect(createToolFinder(plan)(name)).to.deep.equal(named(name));
      });
    }
  });

  describe('names towards the backend', () => {
    const long = 'n'.repeat(64);
    const cases: { name: string; given: string[]; expected: string[] }[] = [
      { name: 'stay where a backend takes them', given: ['look', 'a-b_C9', long], expected: ['look', 'a-b_C9', long] },
      {
        name: 'lose the characters that no backend takes',
        given: ['a.b', 'größe', 'a b/c'],
        expected: ['a_b', 'gr__e', 'a_b_c'],
      },
      { name: 'are cut to fit 64', given: [`${long}x`], expected: [`${'n'.repeat(56)}_2`] },
      {
        name: 'are numbered where they would be one',
        given: ['a.b', 'a b', 'a/b'],
        expected: ['a_b', 'a_b_2', 'a_b_3'],
      },
      {
        name: 'leave a name that is fine to whom it belongs, whatever the order',
        given: ['a.b', 'a_b', 'a_b_2'],
        expected: ['a_b_3', 'a_b', 'a_b_2'],
      },
      {
        name: 'are numbered within 64',
        given: [long, `${long}x`, `${long}y`],
        expected: [long, `${'n'.repeat(56)}_2`, `${'n'.repeat(56)}_3`],
      },
    ];
    for (const { name, given, expected } of cases) {
      it(`they ${name}`, () => {
        const plan = planTools({ input: '', tools: given.map((tool) => ({ type: 'function', name: tool })) }, 'drop');
        expect(plan.offered.map((tool) => tool.function.name)).to.deep.equal(expected);
        expect(expected.map((each) => createToolFinder(plan)(each))).to.deep.equal(given.map(named));
      });
    }

    it('are found for the functions of earlier calls too, which need not be offered any more', () => {
      const plan = planTools({ input: '', tools: [{ type: 'function', name: 'a.b' }] }, 'drop');
      expect(plan.nameTowardsBackend(named('a.b'))).to.equal('a_b');
      expect(plan.nameTowardsBackend(named('a_b'))).to.equal('a_b_2');
      expect(plan.nameTowardsBackend(named('c.d'))).to.equal('c_d');
      expect(plan.nameTowardsBackend(named('c.d'))).to.equal('c_d');
      expect(createToolFinder(plan)('a_b_2')).to.deep.equal(named('a_b'));
    });

    it('are found at once, however many would be one', () => {
      const plan = planTools({ input: '' }, 'drop');
      const startMs = cpuTimeMs();
      const names = Array.from({ length: 10_000 }, (_, index) => plan.nameTowardsBackend(named(`${long}${index}`)));
      expect(new Set(names).size).to.equal(10_000);
      expect(cpuTimeMs() - startMs, 'milliseconds of CPU').to.be.below(2000);
    });
  });

  it('refuses more tools than a request can mean, however the lists are cut', () => {
    const tools = Array.from({ length: 512 }, (_, index): ToolParam => ({ type: 'function', name: `t${index}` }));
    const lists = (length: number): CreateResponse['input'] =>
      Array.from({ length }, () => ({ type: 'additional_tools', role: 'developer', tools }));
    expect(planTools({ input: lists(19) }, 'drop').offered).to.have.length(512);
    expect(() => planTools({ input: lists(20) }, 'drop'))
      .to.throw(ApiError, '10000 tools')
      .that.includes({ code: 'invalid_request', param: 'input[19].tools[272]' });
  });
});
