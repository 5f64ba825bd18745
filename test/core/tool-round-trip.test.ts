import { expect } from 'chai';
import * as fc from 'fast-check';
import type { ChatToolCall } from '../../src/core/chat.ts';
import type { CreateResponse, OutputItem, ToolParam } from '../../src/contract/types.ts';
import {
  askedOf,
  callMessagesOf,
  exchange,
  goOn,
  toolText,
  type BackendAnswer,
  type BackendCall,
} from '../support/conversation.ts';
import { runs } from '../support/property.ts';

/** A tool as the client knows it, in the fields that a call of it has beside its arguments. */
interface ClientTool {
  readonly kind: Kind;
  readonly name?: string;
  readonly namespace?: string;
}

type Kind = 'function' | 'custom' | 'tool_search' | 'local_shell' | 'shell' | 'apply_patch';

interface Call {
  readonly tool: ClientTool;
  /** Which of the offered tools it is for. */
  readonly index: number;
  readonly id: string;
  readonly arguments: string;
}

interface Turn {
  readonly calls: readonly Call[];
  readonly content?: string;
  readonly as: BackendAnswer['as'];
}

interface Conversation {
  readonly tools: ToolParam[];
  readonly turns: readonly Turn[];
}

describe('the round trip of tool calls', () => {
  it('leaves every call as the backend made it, whatever the tools, their names and the arguments', () => {
    fc.assert(
      fc.property(conversation(), ({ tools, turns }) => {
        let request: CreateResponse = { model: 'test-model', input: 'Hello', tools };
        const names = offeredNames(request);
        expect(names, 'every tool is offered').to.have.length(flat(tools).length);
        expect(names).to.satisfy(areNamesOfBackends);
        for (const [turn, { calls, ...rest }] of turns.entries()) {
          const { output } = exchange(request, { ...rest, calls: calls.map((call) => named(call, names)) });
          const made = output.filter((item) => item.type !== 'message');
          expect(made.map(toClientTool)).to.deep.equal(calls.map(({ tool }) => tool));
          expect(made.map((item) => item.status)).to.deep.equal(calls.map(() => 'completed'));
          request = goOn(request, output);
          const shown = callMessagesOf(askedOf(request).messages).slice(turn);
          expect(shown.map((message) => message.tool_calls?.map(comparableTo(calls)))).to.deep.equal([
            calls
              .map((call) => named(call, names))
              .map(toToolCall)
              .map(comparableTo(calls)),
          ]);
        }
      }),
      runs(300),
    );
  });

  it('shows the backend the output of each call directly behind it, in the order of the calls', () => {
    fc.assert(
      fc.property(conversation(), ({ tools, turns: [turn] }) => {
        if (turn === undefined) return;
        const request: CreateResponse = { model: 'test-model', input: 'Hello', tools };
        const calls = turn.calls.map((call) => named(call, offeredNames(request)));
        const { messages } = askedOf(goOn(request, exchange(request, { ...turn, calls }).output));
        const at = messages.findIndex((message) => message.role === 'assistant');
        for (const [index, call] of calls.entries()) {
          const message = messages[at + 1 + index];
          if (message?.role !== 'tool') throw new Error('a tool message is missing');
          expect(message.tool_call_id).to.equal(call.id);
          expect(message.content).to.include(call.id);
        }
        expect(messages.length).to.equal(at + 1 + calls.length);
      }),
      runs(150),
    );
  });

  it('keeps the calls of two turns apart which have one id', () => {
    const tools: ToolParam[] = [{ type: 'function', name: 'look' }, { type: 'shell' }];
    let request: CreateResponse = { model: 'test-model', input: 'Hello', tools };
    for (const call of [
      { id: 'call_0', name: 'look', arguments: '{"turn":1}' },
      { id: 'call_0', name: 'shell', arguments: '{"commands":["turn 2"]}' },
      { id: 'call_0', name: 'look', arguments: '{"turn":3}' },
    ]) {
      request = goOn(request, exchange(request, { calls: [call], as: 'completion' }).output);
    }
    const { messages } = askedOf(request);
    const calls = callMessagesOf(messages).flatMap((message) => message.tool_calls ?? []);
    expect(calls.map((call) => call.function.arguments)).to.deep.equal([
      '{"turn":1}',
      '{"commands":["turn 2"]}',
      '{"turn":3}',
    ]);
    expect(new Set(calls.map((call) => call.id)).size, 'ids').to.equal(3);
    for (const { id } of calls) {
      const found = messages.filter((message) => message.role === 'tool' && message.tool_call_id === id);
      expect(found).to.have.length(1);
      expect(JSON.stringify(found)).to.include(toolText(id));
    }
  });
});

/** Tools, and turns in each of which the backend calls some of those that it is offered. */
function conversation(): fc.Arbitrary<Conversation> {
  return givenTools().chain((tools) => {
    const call: fc.Arbitrary<Call> = fc.constantFrom(...flat(tools).entries()).chain(([index, tool]) =>
      fc.record({
        tool: fc.constant(tool),
        index: fc.constant(index),
        // The id says which call this is, among all of the conversation.
        id: fc.noShrink(fc.uuid()).map((id) => `call_${id}`),
        arguments: ARGUMENTS[tool.kind],
      }),
    );
    const turn: fc.Arbitrary<Turn> = fc.record(
      {
        calls: fc.array(call, { minLength: 1, maxLength: 4 }),
        content: fc.string({ unit: 'grapheme', minLength: 1, maxLength: 8 }),
        as: fc.oneof(
          fc.constant('completion' as const),
          fc.record({ pieces: fc.array(fc.nat(500), { maxLength: 6 }) }),
        ),
      },
      { requiredKeys: ['calls', 'as'] },
    );
    return fc.record({ tools: fc.constant(tools), turns: fc.array(turn, { minLength: 1, maxLength: 3 }) });
  });
}

/** The tools in the order in which they are offered: those of a namespace in its place. */
function flat(tools: readonly ToolParam[], namespace?: string): ClientTool[] {
  return tools.flatMap((tool): ClientTool[] => {
    if (tool.type === 'namespace' && 'tools' in tool) return flat(tool.tools, tool.name);
    const kind = tool.type as Kind;
    return 'name' in tool ? [{ kind, name: tool.name, ...(namespace !== undefined && { namespace }) }] : [{ kind }];
  });
}

/** What a call in the output says of its tool. */
function toClientTool(item: OutputItem): ClientTool {
  const kind = item.type.replace(/_call$/, '').replace('custom_tool', 'custom') as Kind;
  if (item.type !== 'function_call' && item.type !== 'custom_tool_call') return { kind };
  return { kind, name: item.name, ...(item.namespace !== undefined && { namespace: item.namespace }) };
}

function offeredNames(request: CreateResponse): string[] {
  return (askedOf(request).tools ?? []).map((tool) => tool.function.name);
}

function named({ id, index, arguments: args }: Call, names: readonly string[]): BackendCall {
  return { id, name: names[index] ?? '', arguments: args };
}

function givenTools(): fc.Arbitrary<ToolParam[]> {
  const named = fc.uniqueArray(fc.record({ type: fc.constantFrom('function', 'custom'), name: toolName() }), {
    selector: ({ type, name }) => `${type} ${name}`,
    maxLength: 5,
  });
  const namespaces = fc.uniqueArray(fc.record({ type: fc.constant('namespace'), name: toolName(), tools: named }), {
    selector: ({ name }) => name,
    maxLength: 3,
  });
  const builtIn = fc.subarray<ToolParam>([
    { type: 'tool_search', execution: 'client' },
    { type: 'local_shell' },
    { type: 'shell', environment: { type: 'local' } },
    { type: 'apply_patch' },
  ]);
  return fc
    .tuple(named, namespaces, builtIn)
    .map(([own, spaces, kinds]) => [...kinds, ...spaces, ...own])
    .filter((tools) => tools.some((tool) => !('tools' in tool) || tool.tools.length > 0));
}

/** Names as clients and MCP servers have them, names that get in each other's way, and any text at all. */
function toolName(): fc.Arbitrary<string> {
  return fc.oneof(
    {
      weight: 4,
      arbitrary: fc.constantFrom('a.b', 'a b', 'a_b', 'a_b_2', 'a__b', 'a', 'b', 'ab', 'shell', 'apply_patch'),
    },
    fc.constantFrom('__proto__', 'constructor', 'toString'),
    fc.constantFrom('n'.repeat(64), `${'n'.repeat(64)}x`, `${'n'.repeat(250)}y`),
    fc.string({ unit: 'grapheme', minLength: 1, maxLength: 60 }).filter((name) => name.length <= 256),
    fc.string({ unit: 'binary', minLength: 1, maxLength: 80 }),
  );
}

const anyText = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 30 }),
  fc.string({ unit: 'binary', maxLength: 30 }),
  fc.constantFrom('', '*** Begin Patch\n+"x"\\n\n*** End Patch', '\u2028', '😀'),
);
const count = fc.integer({ min: 0, max: 600_000 });

/** Arguments as a model writes them that keeps to the schema of the tool. */
const ARGUMENTS: Readonly<Record<Kind, fc.Arbitrary<string>>> = {
  function: fc.oneof(
    fc.dictionary(anyText, fc.jsonValue(), { maxKeys: 3 }).map((value) => JSON.stringify(value)),
    fc.dictionary(anyText, anyText, { maxKeys: 3 }).map((value) => JSON.stringify(value, null, 2)),
    fc.constantFrom('', '{}', ' { "a" : 1.0e5 }', String.raw`{"a":"\u0041\/"}`),
  ),
  custom: anyText.chain((text) => fc.constantFrom(JSON.stringify({ input: text }), `{ "input" : ${escaped(text)}}`)),
  tool_search: fc.dictionary(anyText, fc.jsonValue(), { maxKeys: 3 }).map((value) => JSON.stringify(value)),
  local_shell: fc
    .record(
      { command: fc.array(anyText, { maxLength: 3 }), working_directory: anyText, timeout_ms: count },
      { requiredKeys: ['command'] },
    )
    .map((value) => JSON.stringify(value)),
  shell: fc
    .record(
      { commands: fc.array(anyText, { maxLength: 3 }), timeout_ms: count, max_output_length: count },
      { requiredKeys: ['commands'] },
    )
    .map((value) => JSON.stringify(value)),
  apply_patch: fc
    .oneof(
      fc.record({ type: fc.constantFrom('create_file', 'update_file'), path: somePath(), diff: anyText }),
      fc.record({ type: fc.constant('delete_file'), path: somePath() }),
    )
    .map((value) => JSON.stringify(value)),
};

function somePath(): fc.Arbitrary<string> {
  return fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20 });
}

/** Every code unit by its number. */
function escaped(text: string): string {
  return `"${text
    .split('')
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('')}"`;
}

function areNamesOfBackends(names: readonly string[]): boolean {
  return new Set(names).size === names.length && names.every((name) => /^[a-zA-Z0-9_-]{1,64}$/.test(name));
}

function toToolCall({ id, name, arguments: args }: BackendCall): ChatToolCall {
  return { id, type: 'function', function: { name, arguments: args } };
}

/** Functions get their arguments back as the very text; the other tools have items of their own, so their JSON value counts. */
function comparableTo(calls: readonly Call[]): (call: ChatToolCall) => unknown {
  const kinds = new Map(calls.map((call) => [call.id, call.tool.kind]));
  return ({ id, function: { name, arguments: args } }) => {
    const exact = kinds.get(id) === 'function';
    // Nothing at all is no JSON, and clients parse it.
    return { id, name, arguments: exact ? args || '{}' : JSON.parse(args) };
  };
}
