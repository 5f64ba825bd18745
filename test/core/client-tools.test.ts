import { expect } from 'chai';
import { ApiError } from '../../src/core/errors.ts';
import { planTools } from '../../src/core/request/tools.ts';
import type { CreateResponse, InputItem, OutputItem, ResponseEvent, ToolParam } from '../../src/contract/types.ts';
import { askedOf, exchange, goOn } from '../support/conversation.ts';
import { chunkOf, translate } from '../support/machine.ts';

const LARK = 'start: "*** Begin Patch" LF\nLF: /\\n/';

interface Case {
  readonly tool: ToolParam;
  /** As the backend is offered it. */
  readonly name: string;
  readonly description?: RegExp;
  readonly parameters: readonly string[];
  readonly required: readonly string[];
  /** As the backend calls it. */
  readonly arguments: string;
  /** As the client gets the call, but for its ids. */
  readonly call: object;
  /** As the client answers it. */
  readonly output: InputItem;
  /** As the backend gets the answer. */
  readonly content: string;
  /** The types of the events that tell the arguments; none for an item which is told as a whole. */
  readonly deltas?: ResponseEvent['type'];
}

const CASES: Readonly<Record<string, Case>> = {
  function: {
    tool: { type: 'function', name: 'look', parameters: { type: 'object', properties: { at: {} }, required: ['at'] } },
    name: 'look',
    parameters: ['at'],
    required: ['at'],
    arguments: '{ "at": "the \\u0073ky" }',
    call: { type: 'function_call', name: 'look', arguments: '{ "at": "the \\u0073ky" }' },
    output: { type: 'function_call_output', call_id: 'call_a', output: 'rain' },
    content: 'rain',
    deltas: 'response.function_call_arguments.delta',
  },
  custom: {
    tool: { type: 'custom', name: 'run', description: 'Runs it.' },
    name: 'run',
    description: /^Runs it\.$/,
    parameters: ['input'],
    required: ['input'],
    arguments: '{"input":"print(\\"hé\\")\\n"}',
    call: { type: 'custom_tool_call', name: 'run', input: 'print("hé")\n' },
    output: { type: 'custom_tool_call_output', call_id: 'call_a', output: [{ type: 'input_text', text: 'hé' }] },
    content: 'hé',
    deltas: 'response.custom_tool_call_input.delta',
  },
  'custom with a grammar': {
    tool: {
      type: 'custom',
      name: 'apply_patch',
      description: 'Edits files.',
      format: { type: 'grammar', syntax: 'lark', definition: LARK },
    },
    name: 'apply_patch',
    description:
      /^Edits files\.\n\nThe input must match this lark grammar:\nstart: "\*\*\* Begin Patch" LF\nLF: \/\\n\/$/,
    parameters: ['input'],
    required: ['input'],
    arguments: '{"input":"*** Begin Patch\\n"}',
    call: { type: 'custom_tool_call', name: 'apply_patch', input: '*** Begin Patch\n' },
    output: { type: 'custom_tool_call_output', call_id: 'call_a', output: 'Done!' },
    content: 'Done!',
    deltas: 'response.custom_tool_call_input.delta',
  },
  'a function in a namespace': {
    tool: {
      type: 'namespace',
      name: 'mcp__probe',
      description: 'Probes things.',
      tools: [{ type: 'function', name: 'ns_probe', description: 'Probes.', parameters: { type: 'object' } }],
    },
    name: 'mcp__probe__ns_probe',
    description: /^Probes\.\n\nAbout all tools of mcp__probe: Probes things\.$/,
    parameters: [],
    required: [],
    arguments: '{"word":"hi"}',
    call: { type: 'function_call', name: 'ns_probe', namespace: 'mcp__probe', arguments: '{"word":"hi"}' },
    output: { type: 'function_call_output', call_id: 'call_a', output: 'heard hi' },
    content: 'heard hi',
    deltas: 'response.function_call_arguments.delta',
  },
  'a custom tool in a namespace': {
    tool: { type: 'namespace', name: 'functions', tools: [{ type: 'custom', name: 'exec' }] },
    name: 'functions__exec',
    parameters: ['input'],
    required: ['input'],
    arguments: '{"input":"await 1"}',
    call: { type: 'custom_tool_call', name: 'exec', namespace: 'functions', input: 'await 1' },
    output: { type: 'custom_tool_call_output', call_id: 'call_a', output: '1' },
    content: '1',
    deltas: 'response.custom_tool_call_input.delta',
  },
  tool_search: {
    tool: { type: 'tool_search', execution: 'client' },
    name: 'tool_search',
    description: /tools/,
    parameters: ['query'],
    required: ['query'],
    arguments: '{"query":"weather","limit":null}',
    call: { type: 'tool_search_call', execution: 'client', arguments: { query: 'weather', limit: null } },
    output: {
      type: 'tool_search_output',
      call_id: 'call_a',
      tools: [
        { type: 'function', name: 'rain' },
        { type: 'namespace', name: 'sky', tools: [{ type: 'function', name: 'look' }, { type: 'web_search' }] },
      ],
    },
    content: 'Found, and ready to be called: rain, sky__look',
  },
  'tool_search with words of its own': {
    tool: {
      type: 'tool_search',
      execution: 'client',
      description: 'Finds apps.',
      parameters: { type: 'object', properties: { app: { type: 'string' } }, required: [] },
    },
    name: 'tool_search',
    description: /^Finds apps\.$/,
    parameters: ['app'],
    required: [],
    arguments: '{"app":"x"}',
    call: { type: 'tool_search_call', execution: 'client', arguments: { app: 'x' } },
    output: { type: 'tool_search_output', call_id: 'call_a', execution: 'client', tools: [] },
    content: 'No tool was found.',
  },
  local_shell: {
    tool: { type: 'local_shell' },
    name: 'local_shell',
    description: /command/,
    parameters: ['command', 'working_directory', 'timeout_ms'],
    required: ['command'],
    arguments: '{"command":["ls","-l"],"working_directory":"/tmp","timeout_ms":1000}',
    call: {
      type: 'local_shell_call',
      action: { type: 'exec', command: ['ls', '-l'], env: {}, working_directory: '/tmp', timeout_ms: 1000 },
    },
    output: { type: 'local_shell_call_output', call_id: 'call_a', output: 'total 0' },
    content: 'total 0',
  },
  shell: {
    tool: { type: 'shell' },
    name: 'shell',
    description: /commands/,
    parameters: ['commands', 'timeout_ms', 'max_output_length'],
    required: ['commands'],
    arguments: '{"commands":["ls -l","pwd"],"max_output_length":100}',
    call: {
      type: 'shell_call',
      action: { commands: ['ls -l', 'pwd'], timeout_ms: null, max_output_length: 100 },
      environment: { type: 'local' },
    },
    output: {
      type: 'shell_call_output',
      call_id: 'call_a',
      output: [{ stdout: '/', stderr: '', outcome: { type: 'exit', exit_code: 0 } }],
    },
    content: '[{"stdout":"/","stderr":"","outcome":{"type":"exit","exit_code":0}}]',
  },
  apply_patch: {
    tool: { type: 'apply_patch' },
    name: 'apply_patch',
    description: /file/,
    parameters: ['type', 'path', 'diff'],
    required: ['type', 'path'],
    arguments: '{"type":"update_file","path":"a.txt","diff":"@@\\n-a\\n+b"}',
    call: { type: 'apply_patch_call', operation: { type: 'update_file', path: 'a.txt', diff: '@@\n-a\n+b' } },
    output: { type: 'apply_patch_call_output', call_id: 'call_a', status: 'failed', output: 'no such line' },
    content: 'The patch could not be applied.\nno such line',
  },
};

const request = (...tools: ToolParam[]): CreateResponse => ({ model: 'test-model', input: 'Go.', tools });

/** Without what is an id or its status. */
function bare(item: OutputItem): object {
  const { id: _id, status: _status, ...rest } = item;
  if (!('call_id' in rest)) return rest;
  const { call_id: _callId, ...said } = rest;
  return said;
}

describe('tools that the client executes', () => {
  for (const [
    kind,
    { tool, name, description, parameters, required, arguments: args, call, output, content, deltas },
  ] of Object.entries(CASES)) {
    describe(`${kind}:`, () => {
      const calls = [{ id: 'call_a', name, arguments: args }];

      it('is offered as a function', () => {
        const { tools } = askedOf(request(tool));
        expect(tools).to.have.length(1);
        const offered = tools?.[0]?.function;
        expect(offered?.name).to.equal(name);
        if (description === undefined) expect(offered).not.to.have.property('description');
        else expect(offered?.description).to.match(description);
        expect(offered?.parameters?.['type']).to.equal('object');
        expect(Object.keys(offered?.parameters?.['properties'] ?? {})).to.deep.equal(parameters);
        expect(offered?.parameters?.['required'] ?? []).to.deep.equal(required);
      });

      it('is called in its own item type, in pieces as in JSON', () => {
        const whole = exchange(request(tool), { calls, as: 'completion' });
        const pieces = exchange(request(tool), { calls, as: { pieces: args.split('').map((_, index) => index) } });
        expect(whole.output.map(bare)).to.deep.equal([call]);
        expect(whole.output[0]).to.include({ call_id: 'call_a', status: 'completed' });
        expect(pieces.output).to.deep.equal(whole.output);
      });

      it(deltas === undefined ? 'is told as a whole' : 'is told as its arguments come', () => {
        const { events } = exchange(request(tool), { calls, as: { pieces: args.split('').map((_, index) => index) } });
        const types = new Set(events.map((event) => event.type));
        types.delete('response.created');
        types.delete('response.in_progress');
        types.delete('response.completed');
        const inPieces = deltas === undefined ? [] : [deltas, deltas.replace(/delta$/, 'done')];
        expect([...types]).to.deep.equal(['response.output_item.added', ...inPieces, 'response.output_item.done']);
      });

      it('is shown to the backend again, with what it brought', () => {
        const { output: items } = exchange(request(tool), { calls, as: 'completion' });
        const next = goOn(request(tool), items);
        const input = [...(next.input as InputItem[]).slice(0, -1), output];
        const asked = askedOf({ ...next, input });
        expect(asked.messages.slice(1)).to.deep.equal([
          {
            role: 'assistant',
            content: null,
            tool_calls: [{ id: 'call_a', type: 'function', function: { name, arguments: canonical(kind, args) } }],
          },
          { role: 'tool', tool_call_id: 'call_a', content },
        ]);
      });

      it('is shown in the response as it was given', () => {
        const { events } = exchange(request(tool), { calls: [], content: 'Hi', as: 'completion' });
        const [created] = events;
        const echo = created?.type === 'response.created' ? created.response.tools : [];
        expect(echo).to.deep.equal([tool.type === 'function' ? { ...tool, description: null, strict: null } : tool]);
      });

      it('can be the only tool that is allowed', () => {
        if (tool.type === 'namespace') return;
        const chosen = 'name' in tool ? { type: tool.type, name: tool.name } : { type: tool.type };
        const other: ToolParam = { type: 'function', name: 'other' };
        const allowed: CreateResponse = {
          ...request(other, tool),
          tool_choice: { type: 'allowed_tools', mode: 'required', tools: [chosen] },
        };
        const asked = askedOf(allowed);
        expect(asked.tools?.map((offered) => offered.function.name)).to.deep.equal([name]);
        expect(asked.tool_choice).to.equal('required');
        const answer = [...calls, { id: 'call_b', name: 'other', arguments: '{}' }];
        expect(exchange(allowed, { calls: answer, as: 'completion' }).output.map(bare)).to.deep.equal([call]);
      });

      it('can be forced', () => {
        const inNamespace = tool.type === 'namespace' && 'tools' in tool;
        const forced = inNamespace ? { ...tool.tools[0], namespace: tool.name } : tool;
        const choice = forced as CreateResponse['tool_choice'] & object;
        const asked = askedOf({ ...request(tool), tool_choice: choice }, { dialect: 'openai' });
        expect(asked.tool_choice).to.deep.equal({ type: 'function', function: { name } });
      });
    });
  }

  /** JSON as this side writes it; the arguments of functions stay what they are. */
  function canonical(kind: string, args: string): string {
    return kind.includes('function') ? args : JSON.stringify(JSON.parse(args));
  }

  it('come in several kinds in one reply, in the order of the calls', () => {
    const cases = Object.entries(CASES).filter(([kind]) => kind !== 'custom with a grammar' && !kind.includes('words'));
    const calls = cases.map(([, { name, arguments: args }], index) => ({ id: `call_${index}`, name, arguments: args }));
    const tools = cases.map(([, { tool }]) => tool);
    for (const as of ['completion', { pieces: [1, 2, 5, 9] }] as const) {
      const { output } = exchange(request(...tools), { calls, content: 'On it.', as });
      expect(output.slice(1).map(bare)).to.deep.equal(cases.map(([, { call }]) => call));
      expect(output.slice(1).map((item) => 'call_id' in item && item.call_id)).to.deep.equal(calls.map(({ id }) => id));
    }
  });

  describe('when the model does not keep to what a tool takes', () => {
    const cases: { name: string; tool: ToolParam; arguments: string; expected: object }[] = [
      {
        name: 'broken JSON for a built-in tool is a function call that the client can refuse',
        tool: { type: 'shell' },
        arguments: '{"commands":["ls"',
        expected: { type: 'function_call', name: 'shell', arguments: '{"commands":["ls"' },
      },
      {
        name: 'a built-in tool without what it needs is a function call',
        tool: { type: 'local_shell' },
        arguments: '{"cmd":"ls"}',
        expected: { type: 'function_call', name: 'local_shell', arguments: '{"cmd":"ls"}' },
      },
      {
        name: 'a command that is no list of texts is a function call',
        tool: { type: 'shell' },
        arguments: '{"commands":["ls",1]}',
        expected: { type: 'function_call', name: 'shell', arguments: '{"commands":["ls",1]}' },
      },
      {
        name: 'a patch of a kind that does not exist is a function call',
        tool: { type: 'apply_patch' },
        arguments: '{"type":"move_file","path":"a"}',
        expected: { type: 'function_call', name: 'apply_patch', arguments: '{"type":"move_file","path":"a"}' },
      },
      {
        name: 'a patch without a path is a function call',
        tool: { type: 'apply_patch' },
        arguments: '{"type":"delete_file","path":""}',
        expected: { type: 'function_call', name: 'apply_patch', arguments: '{"type":"delete_file","path":""}' },
      },
      {
        name: 'a list in place of an object is a function call',
        tool: { type: 'tool_search', execution: 'client' },
        arguments: '["weather"]',
        expected: { type: 'function_call', name: 'tool_search', arguments: '["weather"]' },
      },
      {
        name: 'a search without arguments is a search for anything',
        tool: { type: 'tool_search', execution: 'client' },
        arguments: '',
        expected: { type: 'tool_search_call', execution: 'client', arguments: {} },
      },
      {
        name: 'a command as one text is a list of one',
        tool: { type: 'shell' },
        arguments: '{"commands":"ls -l","timeout_ms":"soon"}',
        expected: {
          type: 'shell_call',
          action: { commands: ['ls -l'], timeout_ms: null, max_output_length: null },
          environment: { type: 'local' },
        },
      },
      {
        name: 'a line for a local shell runs in a shell',
        tool: { type: 'local_shell' },
        arguments: '{"command":"ls -l"}',
        expected: { type: 'local_shell_call', action: { type: 'exec', command: ['sh', '-c', 'ls -l'], env: {} } },
      },
      {
        name: 'what a local shell does not ask for is understood too',
        tool: { type: 'local_shell' },
        arguments: '{"command":["ls"],"env":{"A":"b","C":1},"user":"me","x":1}',
        expected: {
          type: 'local_shell_call',
          action: { type: 'exec', command: ['ls'], env: { A: 'b' }, user: 'me' },
        },
      },
      {
        name: 'a file without its content is created empty',
        tool: { type: 'apply_patch' },
        arguments: '{"type":"create_file","path":"a"}',
        expected: { type: 'apply_patch_call', operation: { type: 'create_file', path: 'a', diff: '' } },
      },
      {
        name: 'a file is deleted without a diff',
        tool: { type: 'apply_patch' },
        arguments: '{"type":"delete_file","path":"a"}',
        expected: { type: 'apply_patch_call', operation: { type: 'delete_file', path: 'a' } },
      },
      {
        name: 'bare text is the input of a custom tool',
        tool: { type: 'custom', name: 'run' },
        arguments: 'print(1)',
        expected: { type: 'custom_tool_call', name: 'run', input: 'print(1)' },
      },
    ];
    for (const { name, tool, arguments: args, expected } of cases) {
      it(`${name}, in pieces as in JSON`, () => {
        const calls = [{ id: 'call_a', name: 'name' in tool ? tool.name : tool.type, arguments: args }];
        for (const as of ['completion', { pieces: [3, 7] }] as const) {
          expect(exchange(request(tool), { calls, as }).output.map(bare)).to.deep.equal([expected]);
        }
      });
    }

    for (const [name, text] of [
      ['of more than 1 Mi characters', `{"query":"${'x'.repeat(1024 * 1024)}"}`],
      ['with more than 100,000 lists', `{"a":[${'[],'.repeat(120_000)}[]]}`],
    ] as const) {
      it(`arguments ${name} are those of a function call`, () => {
        const chunks = [
          chunkOf({ tool_calls: [{ index: 0, id: 'a', function: { name: 'tool_search', arguments: text } }] }),
          chunkOf({}, 'stop'),
        ];
        const tools: ToolParam[] = [{ type: 'tool_search', execution: 'client' }];
        const last = translate({ chunks, done: true }, { model: 'm', input: 'x', tools }).at(-1);
        const item = last !== undefined && 'response' in last ? last.response.output[0] : undefined;
        expect(item?.type === 'function_call' && [item.name, item.arguments === text]).to.deep.equal([
          'tool_search',
          true,
        ]);
      });
    }

    it('the refused call is shown to the backend as a call of that tool', () => {
      const calls = [{ id: 'call_a', name: 'shell', arguments: '{"cmd":1}' }];
      const { output } = exchange(request({ type: 'shell' }), { calls, as: 'completion' });
      const { messages } = askedOf(goOn(request({ type: 'shell' }), output));
      expect(messages[1]).to.deep.equal({
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'call_a', type: 'function', function: { name: 'shell', arguments: '{"cmd":1}' } }],
      });
    });

    it('an earlier call of a function of that name in a namespace stays what it was', () => {
      const input: InputItem[] = [
        { type: 'function_call', call_id: 'call_a', name: 'shell', namespace: 'remote', arguments: '{}' },
      ];
      expect(JSON.stringify(askedOf({ ...request({ type: 'shell' }), input }).messages)).to.include(
        '"name":"remote__shell"',
      );
    });

    it('a function of the name of a built-in tool keeps its calls', () => {
      const both = request({ type: 'shell' }, { type: 'function', name: 'shell' });
      const [first = '', second = ''] = (askedOf(both).tools ?? []).map((tool) => tool.function.name);
      const calls = [{ id: 'call_a', name: second, arguments: '{"commands":["ls"]}' }];
      const { output } = exchange(both, { calls, as: 'completion' });
      expect(output[0]).to.include({ type: 'function_call', name: 'shell' });
      const asked = askedOf(goOn(both, output)).messages[1];
      expect(JSON.stringify(asked)).to.include(`"name":"${second}"`);
      expect(first).not.to.equal(second);
    });
  });

  describe('a call that is cut by the length of the answer', () => {
    const cases: { name: string; tool: ToolParam; arguments: string; expected: object }[] = [
      {
        name: 'of a custom tool keeps what was said of its input',
        tool: { type: 'custom', name: 'run' },
        arguments: '{"input":"print(1',
        expected: { type: 'custom_tool_call', name: 'run', input: 'print(1' },
      },
      {
        name: 'of a built-in tool is the function call that it was',
        tool: { type: 'shell' },
        arguments: '{"commands":["rm -rf /tmp',
        expected: { type: 'function_call', name: 'shell', arguments: '{"commands":["rm -rf /tmp' },
      },
    ];
    for (const { name, tool, arguments: args, expected } of cases) {
      it(name, () => {
        const calls = [{ id: 'call_a', name: 'name' in tool ? tool.name : tool.type, arguments: args }];
        const { output } = exchange(request(tool), { calls, as: 'completion', finishReason: 'length' });
        expect(output.map(bare)).to.deep.equal([expected]);
        expect(output[0]?.status).to.equal('incomplete');
      });
    }
  });
});

describe('namespaces', () => {
  const look: ToolParam = { type: 'function', name: 'look' };
  const namespace = (name: string, ...tools: ToolParam[]): ToolParam => ({ type: 'namespace', name, tools });

  it('keep tools of one name apart, and from functions that are named like them', () => {
    const tools = [
      namespace('a', look),
      namespace('b', look, { type: 'custom', name: 'look' }),
      look,
      { type: 'function', name: 'a__look' },
      { type: 'function', name: 'alook' },
    ];
    const asked = askedOf(request(...tools));
    const names = asked.tools?.map((tool) => tool.function.name) ?? [];
    expect(names).to.deep.equal(['a__look_2', 'b__look', 'b__look_2', 'look', 'a__look', 'alook']);
    const calls = names.map((name, index) => ({ id: `call_${index}`, name, arguments: '{"input":"x"}' }));
    const { output } = exchange(request(...tools), { calls, as: 'completion' });
    expect(output.map(bare)).to.deep.equal([
      { type: 'function_call', name: 'look', namespace: 'a', arguments: '{"input":"x"}' },
      { type: 'function_call', name: 'look', namespace: 'b', arguments: '{"input":"x"}' },
      { type: 'custom_tool_call', name: 'look', namespace: 'b', input: 'x' },
      { type: 'function_call', name: 'look', arguments: '{"input":"x"}' },
      { type: 'function_call', name: 'a__look', arguments: '{"input":"x"}' },
      { type: 'function_call', name: 'alook', arguments: '{"input":"x"}' },
    ]);
  });

  it('give way where name and namespace are longer than 64 together, so that the name stays readable', () => {
    const server = 'mcp__a_server_with_a_name_that_is_longer_than_it_has_to_be_by_far';
    const tools = namespace(server, look, { type: 'function', name: 'create_pull_request' });
    const names = askedOf(request(tools)).tools?.map((tool) => tool.function.name) ?? [];
    expect(names).to.deep.equal([`${server.slice(0, 50)}__look`, `${server.slice(0, 35)}__create_pull_request`]);
  });

  it('leave something of themselves where the name alone is almost too long', () => {
    const name = 'n'.repeat(60);
    const [offered] = askedOf(request(namespace('mcp__server', { type: 'function', name }))).tools ?? [];
    expect(offered?.function.name)
      .to.match(/^mcp__ser__n+_2$/)
      .and.to.have.length(58);
  });

  it('stay apart where they are cut alike', () => {
    const long = 'n'.repeat(70);
    const names = askedOf(request(namespace(`${long}a`, look), namespace(`${long}b`, look))).tools?.map(
      (tool) => tool.function.name,
    );
    expect(new Set(names).size).to.equal(2);
    expect(names).to.satisfy((names: string[]) => names.every((name) => /^[\w-]{1,64}$/.test(name)));
  });

  it('name what is hosted inside them, and do not show it', () => {
    const tools = [namespace('web', look, { type: 'web_search' }, namespace('inner', look)), namespace('empty')];
    const plan = planTools({ input: '', tools }, 'drop');
    expect(plan.dropped).to.deep.equal(['web_search', 'namespace']);
    expect(plan.offered.map((tool) => tool.function.name)).to.deep.equal(['web__look']);
    expect(plan.echo).to.deep.equal([namespace('web', look), namespace('empty')]);
  });

  it('are not described where there is nothing to say', () => {
    const [offered] = askedOf(request({ type: 'namespace', name: 'sky', description: '', tools: [look] })).tools ?? [];
    expect(offered?.function).not.to.have.property('description');
  });

  it('are described once, by the first tool that is offered', () => {
    const tools: ToolParam = {
      type: 'namespace',
      name: 'sky',
      description: 'About the sky.',
      tools: [{ type: 'web_search' }, look, { type: 'function', name: 'see', description: 'Sees.' }],
    };
    expect(askedOf(request(tools)).tools?.map((tool) => tool.function.description)).to.deep.equal([
      'About all tools of sky: About the sky.',
      'Sees.',
    ]);
  });
});

describe('tools that come with the input', () => {
  const additional: InputItem = {
    type: 'additional_tools',
    role: 'developer',
    tools: [
      { type: 'namespace', name: 'functions', tools: [{ type: 'custom', name: 'exec' }] },
      { type: 'tool_search', execution: 'client' },
      { type: 'web_search' },
    ],
  };
  const user: InputItem = { type: 'message', role: 'user', content: 'Go.' };

  it('are offered like others, and say nothing themselves', () => {
    const asked = askedOf({ model: 'test-model', input: [additional, user] });
    expect(asked.tools?.map((tool) => tool.function.name)).to.deep.equal(['functions__exec', 'tool_search']);
    expect(asked.messages).to.deep.equal([{ role: 'user', content: 'Go.' }]);
  });

  it('are named where they are hosted', () => {
    expect(planTools({ input: [additional] }, 'drop').dropped).to.deep.equal(['web_search']);
    expect(refusal({ input: [user, additional] }, 'reject')).to.deep.equal({
      code: 'unsupported_tool',
      param: 'input[1].tools[2].type',
    });
  });

  it('can be called when a search has found them', () => {
    const search: CreateResponse = { ...request({ type: 'tool_search', execution: 'client' }), input: [user] };
    const calls = [{ id: 'call_a', name: 'tool_search', arguments: '{"query":"x"}' }];
    const next = goOn(search, exchange(search, { calls, as: 'completion' }).output);
    const asked = askedOf(next);
    expect(asked.tools?.map((tool) => tool.function.name)).to.deep.equal(['tool_search', 'found_by_call_a']);
    const found = [{ id: 'call_b', name: 'found_by_call_a', arguments: '{}' }];
    expect(exchange(next, { calls: found, as: 'completion' }).output.map(bare)).to.deep.equal([
      { type: 'function_call', name: 'found_by_call_a', arguments: '{}' },
    ]);
  });

  it('are offered once, however often they are given, as they were given last', () => {
    const before: ToolParam = { type: 'function', name: 'look', description: 'Old.' };
    const after: InputItem = {
      type: 'additional_tools',
      tools: [{ type: 'function', name: 'look', description: 'New.' }],
    };
    const asked = askedOf({ ...request(before), input: [after, user] });
    expect(asked.tools?.map((tool) => tool.function.description)).to.deep.equal(['New.']);
  });
});

describe('hosted kinds of client tools', () => {
  const cases: { name: string; tool: ToolParam; hosted: boolean }[] = [
    { name: 'a search by the server', tool: { type: 'tool_search', execution: 'server' }, hosted: true },
    { name: 'a search without a word of who executes it', tool: { type: 'tool_search' }, hosted: true },
    { name: 'a shell in a container', tool: { type: 'shell', environment: { type: 'container_auto' } }, hosted: true },
    {
      name: 'a shell in a container of the caller',
      tool: { type: 'shell', environment: { type: 'container_reference' } },
      hosted: true,
    },
    { name: 'a shell on the own machine', tool: { type: 'shell', environment: { type: 'local' } }, hosted: false },
    { name: 'a shell without a word of where', tool: { type: 'shell', environment: {} }, hosted: false },
  ];
  for (const { name, tool, hosted } of cases) {
    it(`${name} is ${hosted ? 'left out, named and not shown' : 'offered'}`, () => {
      const plan = planTools({ input: '', tools: [tool] }, 'drop');
      expect(plan.dropped).to.deep.equal(hosted ? [tool.type] : []);
      expect(plan.offered).to.have.length(hosted ? 0 : 1);
      expect(plan.echo).to.deep.equal(hosted ? [] : [tool]);
      if (hosted) {
        expect(refusal({ input: '', tools: [tool] }, 'reject')).to.deep.equal({
          code: 'unsupported_tool',
          param: 'tools[0].type',
        });
      }
    });
  }

  it('cannot be forced', () => {
    const forced = { input: '', tools: [{ type: 'shell', environment: { type: 'container_auto' } }] };
    expect(refusal({ ...forced, tool_choice: { type: 'shell' } }, 'drop').param).to.equal('tool_choice.type');
  });
});

function refusal(
  request: Pick<CreateResponse, 'input' | 'tools' | 'tool_choice'>,
  hostedTools: 'drop' | 'reject',
): { code: string; param: string } {
  try {
    planTools(request, hostedTools);
  } catch (error) {
    if (error instanceof ApiError) return { code: error.code, param: error.param };
    throw error;
  }
  throw new Error('the tools were accepted');
}
