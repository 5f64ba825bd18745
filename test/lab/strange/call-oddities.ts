/** What backends do to calls, and still mean the same. */

import { readJson } from '../../../src/core/json.ts';
import {
  callCountOf,
  callsIn,
  choicesIn,
  chunkLike,
  deltasIn,
  eachCall,
  eachDelta,
  functionOf,
  hasOwnIds,
  hasOwnIndexes,
  isObject,
  isStream,
  messageOf,
  remove,
  set,
  textOf,
  withoutSaying,
  type Json,
  type SameOddity,
} from './answer.ts';

export const CALLS: readonly SameOddity[] = [
  {
    name: 'calls in another choice',
    source: 'ericc-ch/copilot-api PR#81',
    takes: ['order'],
    apply: (chunks) => {
      if (!isStream(chunks)) return undefined;
      return eachDelta(chunks, (delta, chunk) => {
        if (callsIn(delta).length === 0) return false;
        for (const choice of choicesIn(chunk)) choice['index'] = 1;
        return true;
      });
    },
  },
  {
    name: 'the id of a call in each of its pieces',
    source: 'THU-MAIC/OpenMAIC#1556',
    takes: ['id'],
    apply: (chunks) => repeated(chunks, 'id', (call) => call),
  },
  {
    name: 'the name of a call in each of its pieces',
    source: 'NousResearch/hermes-agent#8259',
    takes: ['name'],
    apply: (chunks) => repeated(chunks, 'name', functionOf),
  },
  ...[null, ''].map((none) => ({
    name: `an id and a name of ${JSON.stringify(none)} where a call goes on`,
    source: 'farion1231/cc-switch#3893',
    takes: ['id'] as const,
    apply: (chunks: Json[]) =>
      eachCall(chunks, (call) => {
        if (functionOf(call)['name']) return false;
        call['id'] ??= none;
        functionOf(call)['name'] ??= none;
        return true;
      }),
  })),
  {
    name: 'no type of a call',
    source: 'AstrBotDevs/AstrBot#6661',
    takes: [],
    apply: (chunks) => eachCall(chunks, (call) => remove(call, 'type')),
  },
  {
    name: 'the name of a call in two pieces',
    source: 'continuedev/continue PR#5849',
    takes: ['arguments form', 'name', 'index'],
    apply: (chunks) => (isStream(chunks) && hasOwnIds(chunks) ? namesInPieces(chunks) : undefined),
  },
  {
    name: 'an index of -1',
    source: 'zai-org/GLM-4.5#17',
    takes: ['index'],
    apply: (chunks) => (callCountOf(chunks) === 1 ? eachCall(chunks, (call) => set(call, 'index', -1)) : undefined),
  },
  {
    name: 'no ids of calls',
    source: 'ai.google.dev/gemini-api/docs/openai',
    takes: ['id'],
    apply: (chunks) => eachCall(chunks, (call) => remove(call, 'id')),
  },
  {
    name: 'no indexes of calls',
    source: 'openai/openai-python#2806',
    takes: ['index'],
    apply: (chunks) => (interleaves(chunks) ? undefined : eachCall(chunks, (call) => remove(call, 'index'))),
  },
  {
    name: 'indexes of calls that are strings',
    source: 'microsoft/autogen#4878',
    takes: ['index'],
    apply: (chunks) =>
      eachCall(chunks, (call) => {
        if (indexOf(call) === undefined) return false;
        return set(call, 'index', String(call['index']));
      }),
  },
  {
    name: 'indexes of calls that begin at 1',
    source: 'router-for-me/CLIProxyAPI#5229',
    takes: ['index'],
    apply: (chunks) =>
      eachCall(chunks, (call) => {
        const index = indexOf(call);
        return index === undefined ? false : set(call, 'index', index + 1);
      }),
  },
  {
    name: 'one index for all calls',
    source: 'ollama/ollama#15457',
    takes: ['index'],
    apply: (chunks) =>
      interleaves(chunks) || callCountOf(chunks) < 2 || !hasOwnIds(chunks)
        ? undefined
        : eachCall(chunks, (call) => set(call, 'index', 0)),
  },
  {
    name: 'an index that counts the pieces',
    source: 'mudler/LocalAI#9722',
    takes: ['index', 'arguments form'],
    apply: (chunks) => {
      if (!isStream(chunks) || callCountOf(chunks) !== 1) return undefined;
      let count = 0;
      return eachCall(chunks, (call) => set(call, 'index', count++));
    },
  },
  {
    name: 'one call as `function_call`',
    source: 'platform.openai.com/docs/api-reference/chat (deprecated)',
    takes: ['id', 'index', 'arguments form', 'order'],
    apply: (chunks) => {
      if (callCountOf(chunks) !== 1 || JSON.stringify(chunks).includes('extra_content')) return undefined;
      return eachDelta(chunks, (delta) => {
        const [call] = callsIn(delta);
        if (call === undefined) return false;
        delete delta['tool_calls'];
        return set(delta, 'function_call', functionOf(call));
      });
    },
  },
  {
    name: 'whole calls in one chunk',
    source: 'recorded of Groq, Mistral and xAI',
    takes: ['arguments form'],
    apply: wholeCalls,
  },
  {
    name: 'all arguments so far in each chunk',
    source: 'NousResearch/hermes-agent#35592',
    takes: ['arguments form'],
    apply: argumentsSoFar,
  },
  {
    name: 'arguments as an object',
    source: 'ollama/ollama: api/types.go',
    takes: ['arguments form'],
    apply: (chunks) =>
      eachCall(chunks, (call) => {
        const value = readJson(textOf(functionOf(call)['arguments']));
        if (!isObject(value)) return false;
        functionOf(call)['arguments'] = value;
        return true;
      }),
  },
  {
    name: 'arguments in a string in a string',
    source: 'quarkiverse/quarkus-langchain4j PR#2642',
    takes: ['arguments form'],
    apply: (chunks) =>
      eachCall(chunks, (call) => {
        const given = textOf(functionOf(call)['arguments']);
        if (!isObject(readJson(given))) return false;
        functionOf(call)['arguments'] = JSON.stringify(given);
        return true;
      }),
  },
  {
    name: 'arguments that are null before the first',
    source: 'unslothai/unsloth#10275',
    takes: ['arguments form'],
    apply: (chunks) =>
      eachCall(chunks, (call) => {
        if (functionOf(call)['arguments'] !== '') return false;
        functionOf(call)['arguments'] = null;
        return true;
      }),
  },
  {
    name: 'a placeholder for arguments before the first',
    source: 'openai/openai-agents-js PR#712',
    takes: ['arguments form'],
    apply: (chunks) =>
      isStream(chunks)
        ? eachCall(chunks, (call) => {
            if (functionOf(call)['arguments'] !== '' || !functionOf(call)['name']) return false;
            functionOf(call)['arguments'] = '{}';
            return true;
          })
        : undefined,
  },
  {
    name: 'each call again at the end, whole',
    source: 'farion1231/cc-switch#3893',
    takes: ['arguments form', 'order'],
    apply: (chunks) => callsAgain(chunks, 0),
  },
  {
    name: 'each call again at another index, whole',
    source: 'mudler/LocalAI#9722',
    takes: ['arguments form', 'order', 'index', 'id'],
    apply: (chunks) => callsAgain(chunks, 7),
  },
];

function indexOf(call: Json): number | undefined {
  return typeof call['index'] === 'number' ? call['index'] : undefined;
}

function repeated(chunks: Json[], field: string, partOf: (call: Json) => Json): Json[] | undefined {
  const known = new Map<number, unknown>();
  return eachCall(chunks, (call) => {
    const [index, part] = [indexOf(call), partOf(call)];
    if (index === undefined) return false;
    if (part[field]) known.set(index, part[field]);
    return !part[field] && known.has(index) && set(part, field, known.get(index));
  });
}

function namesInPieces(chunks: Json[]): Json[] | undefined {
  let hasChanged = false;
  const changed = chunks.flatMap((chunk) => {
    const [call, ...others] = deltasIn(chunk).flatMap(callsIn);
    if (call === undefined || others.length > 0) return [chunk];
    const called = functionOf(call);
    const name = called['name'];
    if (typeof name !== 'string' || name.length < 4 || call['index'] === undefined) return [chunk];
    hasChanged = true;
    const first = chunkLike(withoutSaying(chunk), {
      tool_calls: [{ ...call, extra_content: undefined, function: { name: name.slice(0, 3), arguments: '' } }],
    });
    called['name'] = name.slice(3);
    delete call['id'];
    return [first, chunk];
  });
  return hasChanged ? changed : undefined;
}

/** Whether pieces of one call come after those of another, which only an index tells. */
function interleaves(chunks: Json[]): boolean {
  const order = chunks
    .flatMap(deltasIn)
    .flatMap(callsIn)
    .map((call) => call['index']);
  return order.some((index, at) => order.indexOf(index) < at && order[at - 1] !== index);
}

function wholeCalls(chunks: Json[]): Json[] | undefined {
  if (!isStream(chunks) || !hasOwnIndexes(chunks)) return undefined;
  const whole = new Map(callsIn(messageOf(chunks)).map((call) => [call['index'], functionOf(call)['arguments']]));
  return eachDelta(chunks, (delta) => {
    const pieces = callsIn(delta);
    const first = pieces.filter(({ index }) => whole.has(index));
    for (const call of first) {
      functionOf(call)['arguments'] = whole.get(call['index']);
      whole.delete(call['index']);
    }
    if (first.length > 0) delta['tool_calls'] = first;
    else delete delta['tool_calls'];
    return first.length < pieces.length;
  });
}

function argumentsSoFar(chunks: Json[]): Json[] | undefined {
  if (!isStream(chunks) || !hasOwnIndexes(chunks)) return undefined;
  const texts = new Map<unknown, string>();
  let pieces = 0;
  const changed = eachCall(chunks, (call) => {
    const called = functionOf(call);
    if (typeof called['arguments'] !== 'string') return false;
    const text = (texts.get(call['index']) ?? '') + called['arguments'];
    if (called['arguments'] !== '') pieces += 1;
    texts.set(call['index'], text);
    return set(called, 'arguments', text);
  });
  return pieces > texts.size ? changed : undefined;
}

function callsAgain(chunks: Json[], fartherBy: number): Json[] | undefined {
  const end = chunks.findLastIndex((chunk) => deltasIn(chunk).some((delta) => callsIn(delta).length > 0)) + 1;
  if (!isStream(chunks) || !hasOwnIds(chunks) || !hasOwnIndexes(chunks)) return undefined;
  const whole = callsIn(messageOf(chunks)).map(({ index, ...call }): Json => ({
    ...call,
    ...(index !== undefined && { index: Number(index) + fartherBy }),
  }));
  if (whole.length === 0 || whole.some((call) => textOf(functionOf(call)['arguments']).length < 3)) return undefined;
  const last = chunks[end - 1] ?? {};
  return [...chunks.slice(0, end), chunkLike(withoutSaying(last), { tool_calls: whole }), ...chunks.slice(end)];
}
