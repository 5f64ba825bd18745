/** What backends do to answers that mean the same, and to answers that are broken. */

import {
  callCountOf,
  callsIn,
  choicesIn,
  chunkLike,
  deltasIn,
  eachDelta,
  endIn,
  functionOf,
  isObject,
  isStream,
  messageOf,
  remove,
  saysMoreThan,
  set,
  textOf,
  withoutSaying,
  type AnswerOddity,
  type Json,
  type SameOddity,
} from './answer.ts';
import { CALLS } from './call-oddities.ts';
import { BROKEN, FINISH_REASONS, USAGES } from './end-oddities.ts';

/** Texts shorter than this may be real where more of them comes in each chunk. */
const LONG = 12;

const TEXTS: readonly SameOddity[] = [
  ...splits(),
  {
    name: 'all that is said in a row in one chunk',
    source: '`--stream-interval` of vLLM',
    takes: ['text form', 'thoughts form'],
    apply: (chunks) => joined(chunks),
  },
  {
    name: 'the role in every delta',
    source: 'recorded of Ollama and OpenRouter',
    takes: [],
    apply: (chunks) => eachDelta(chunks, (delta) => set(delta, 'role', 'assistant')),
  },
  {
    name: 'an empty role',
    source: 'cline/cline#12282',
    takes: [],
    apply: (chunks) => eachDelta(chunks, (delta) => set(delta, 'role', '')),
  },
  {
    name: 'no role',
    source: 'recorded of llama.cpp and GPUStack',
    takes: [],
    apply: (chunks) => eachDelta(chunks, (delta) => remove(delta, 'role')),
  },
  {
    name: 'null in every field that a delta may have',
    source: 'MiniMax-AI/MiniMax-M2.5#2',
    takes: [],
    apply: (chunks) =>
      eachDelta(chunks, (delta) => {
        for (const name of [
          'content',
          'refusal',
          'reasoning_content',
          'reasoning',
          'tool_calls',
          'function_call',
          'audio',
        ])
          delta[name] ??= null;
        return true;
      }),
  },
  {
    name: 'empty values in every field that a delta may have',
    source: 'farion1231/cc-switch#4111',
    takes: [],
    apply: (chunks) =>
      eachDelta(chunks, (delta) => {
        for (const name of ['content', 'refusal', 'reasoning_content', 'reasoning']) delta[name] ??= '';
        for (const name of ['tool_calls', 'annotations', 'reasoning_details']) delta[name] ??= [];
        return true;
      }),
  },
  {
    name: 'text as a list of parts',
    source: 'docs.mistral.ai/capabilities/reasoning',
    takes: ['text form'],
    apply: (chunks) =>
      eachDelta(chunks, (delta) => {
        if (typeof delta['content'] !== 'string' || delta['content'] === '') return false;
        delta['content'] = [{ type: 'text', text: delta['content'] }];
        return true;
      }),
  },
  {
    name: 'all text so far in each chunk',
    source: 'QwenLM/qwen-code PR#3896',
    takes: ['text form'],
    apply: (chunks) => soFar(chunks, 'content'),
  },
  {
    name: 'all thoughts so far in each chunk',
    source: 'QwenLM/qwen-code PR#3896',
    takes: ['thoughts form'],
    apply: (chunks) => soFar(chunks, 'reasoning_content') ?? soFar(chunks, 'reasoning'),
  },
  {
    name: 'the whole message again beside the finish reason',
    source: 'langchain4j/langchain4j#4931',
    takes: ['end', 'text form', 'thoughts form', 'arguments form'],
    apply: wholeMessageAtTheEnd,
  },
  {
    name: 'thoughts in `reasoning`',
    source: 'openrouter.ai/docs/use-cases/reasoning-tokens',
    takes: ['thoughts form'],
    apply: (chunks) => rename(chunks, 'reasoning_content', 'reasoning'),
  },
  {
    name: 'thoughts in `reasoning_content`',
    source: 'api-docs.deepseek.com/guides/reasoning_model',
    takes: ['thoughts form'],
    apply: (chunks) => rename(chunks, 'reasoning', 'reasoning_content'),
  },
  {
    name: 'thoughts in `reasoning_text`',
    source: 'Copilot, earendil-works/pi PR#1502',
    takes: ['thoughts form'],
    apply: (chunks) => rename(chunks, 'reasoning_content', 'reasoning_text'),
  },
  {
    name: 'thoughts in an object',
    source: 'envoyproxy/ai-gateway PR#1222',
    takes: ['thoughts form'],
    apply: (chunks) =>
      eachDelta(chunks, (delta) => {
        const thought = delta['reasoning_content'];
        return typeof thought === 'string' && thought !== '' && set(delta, 'reasoning_content', { text: thought });
      }),
  },
  {
    name: 'thoughts in two fields at once',
    source: 'field-wise proxies in front of vLLM (BerriAI/litellm#20246)',
    takes: ['thoughts form'],
    apply: (chunks) =>
      eachDelta(chunks, (delta) => {
        const thought = delta['reasoning_content'] ?? delta['reasoning'];
        if (typeof thought !== 'string' || thought === '') return false;
        delta['reasoning'] = thought;
        delta['reasoning_content'] = thought;
        return true;
      }),
  },
  ...(
    [
      ['thinking', 'thinking', 'docs.mistral.ai/capabilities/reasoning'],
      ['reasoning', 'summary', 'Databricks, tidyverse/ellmer#822'],
    ] as const
  ).map(([type, field, source]) => ({
    name: `thoughts as parts of the content of the type ${type}`,
    source,
    takes: ['thoughts form', 'text form'] as const,
    apply: (chunks: Json[]) =>
      eachDelta(chunks, (delta) => {
        const thought = delta['reasoning_content'] ?? delta['reasoning'];
        const { content } = delta;
        if (typeof thought !== 'string' || thought === '' || Array.isArray(content)) return false;
        if (delta['reasoning_details'] !== undefined) return false;
        delete delta['reasoning_content'];
        delete delta['reasoning'];
        const text = typeof content === 'string' && content !== '' ? [{ type: 'text', text: content }] : [];
        delta['content'] = [{ type, [field]: [{ type: 'text', text: thought }] }, ...text];
        return true;
      }),
  })),
  ...['<think>', '[THINK]', '<seed:think>', '◁think▷'].map((tag) => ({
    name: `thoughts between tags ${tag}`,
    source: 'waybarrios/vllm-mlx PR#599',
    takes: ['thoughts form', 'text form'] as const,
    settings: { thinkTags: true as const },
    apply: (chunks: Json[]) => thoughtsInTags(chunks, tag),
  })),
  {
    name: 'a chunk that says nothing after each',
    source: 'Azure content filters: learn.microsoft.com/azure/ai-services/openai/concepts/content-streaming',
    takes: [],
    apply: (chunks) =>
      isStream(chunks) ? chunks.flatMap((chunk) => [chunk, { ...withoutSaying(chunk), choices: [] }]) : undefined,
  },
  {
    name: 'an empty delta after each chunk before the end',
    source: 'recorded of Writer',
    takes: [],
    apply: (chunks) =>
      isStream(chunks)
        ? chunks.flatMap((chunk, at) => (at < endIn(chunks) ? [chunk, chunkLike(withoutSaying(chunk), {})] : [chunk]))
        : undefined,
  },
  {
    name: 'choices that are null where there are none',
    source: 'NousResearch/hermes-agent#65631',
    takes: [],
    apply: (chunks) => {
      const empty = chunks.filter((chunk) => Array.isArray(chunk['choices']) && choicesIn(chunk).length === 0);
      for (const chunk of empty) chunk['choices'] = null;
      return empty.length > 0 ? chunks : undefined;
    },
  },
  ...choiceIndexes(),
  {
    name: 'no envelope',
    source: 'home-made servers',
    takes: [],
    apply: (chunks) => {
      for (const chunk of chunks) for (const name of ['id', 'object', 'created', 'model']) delete chunk[name];
      return chunks;
    },
  },
  {
    name: 'another id and time in each chunk',
    source: 'BerriAI/litellm#32607',
    takes: [],
    apply: (chunks) => {
      for (const [at, chunk] of chunks.entries()) Object.assign(chunk, { id: `chatcmpl-${at}`, created: at });
      return chunks;
    },
  },
  {
    name: 'fields that nobody knows, everywhere',
    source: '`obfuscation` of OpenAI',
    takes: [],
    apply: (chunks) => {
      for (const chunk of chunks) {
        chunk['obfuscation'] = 'aGVsbG8';
        chunk['provider'] = { name: 'x' };
        for (const choice of choicesIn(chunk)) Object.assign(choice, { native_finish_reason: null, token_ids: null });
        for (const delta of deltasIn(chunk)) delta['obfuscated'] = { x: [1, null] };
      }
      return chunks;
    },
  },
];

export const GROUPS = {
  'text and thoughts': TEXTS.map(isSame),
  calls: CALLS.map(isSame),
  'finish reasons': FINISH_REASONS.map(isSame),
  usage: USAGES.map(isSame),
  'broken answers': BROKEN.map((oddity): AnswerOddity => ({ ...oddity, means: 'broken' })),
} as const;

export const ODDITIES: readonly AnswerOddity[] = Object.values(GROUPS).flat();

function isSame(oddity: SameOddity): AnswerOddity {
  return { ...oddity, means: 'same' };
}

/** The texts of all chunks again, cut in other places. */
function splits(): SameOddity[] {
  const ways: readonly (readonly [name: string, source: string, cut: (text: string) => string[]])[] = [
    ['each character in a chunk of its own', 'servers that send a chunk for each token', (text) => Array.from(text)],
    [
      'surrogates in two chunks',
      'elizaOS/eliza#30904',
      (text) => (text.match(/[\ud800-\udbff]/) ? text.split('') : [text]),
    ],
    [
      'texts in two halves',
      'TCP and proxies cut where they like',
      (text) => [text.slice(0, text.length / 2), text.slice(text.length / 2)].filter(Boolean),
    ],
  ];
  return ways.map(([name, source, cut]) => ({
    name,
    source,
    takes: ['text form', 'thoughts form', 'arguments form'],
    apply: (chunks) => (isStream(chunks) ? chunks.flatMap((chunk) => cutUp(chunk, cut)) : undefined),
  }));
}

/** Returns the chunk as several, if it has one text that can be cut. */
function cutUp(chunk: Json, cut: (text: string) => string[]): Json[] {
  const [choice] = choicesIn(chunk);
  const delta = choice?.['delta'];
  if (choice === undefined || !isObject(delta)) return [chunk];
  const [call, ...others] = callsIn(delta);
  for (const field of ['content', 'reasoning_content', 'reasoning']) {
    const text = delta[field];
    if (typeof text !== 'string' || text === '' || saysMoreThan(delta, field)) continue;
    const pieces = cut(text);
    return pieces.map((piece, at) => {
      const isLast = at === pieces.length - 1;
      return isLast
        ? { ...chunk, choices: [{ ...choice, delta: { ...delta, [field]: piece } }] }
        : chunkLike(withoutSaying(chunk), { ...(at === 0 && { role: delta['role'] }), [field]: piece });
    });
  }
  const given = call === undefined ? undefined : functionOf(call)['arguments'];
  if (call === undefined || others.length > 0 || typeof given !== 'string' || given === '') return [chunk];
  if (saysMoreThan(delta, 'tool_calls')) return [chunk];
  const pieces = cut(given);
  return pieces.map((piece, at) => {
    const { id: _id, type: _type, function: called, ...rest } = call;
    const { name: _name, ...unnamed } = called as Json;
    const one =
      at === 0
        ? { ...call, function: { ...(called as Json), arguments: piece } }
        : { ...rest, function: { ...unnamed, arguments: piece } };
    const isLast = at === pieces.length - 1;
    return isLast
      ? { ...chunk, choices: [{ ...choice, delta: { ...delta, tool_calls: [one] } }] }
      : chunkLike(withoutSaying(chunk), { tool_calls: [one] });
  });
}

function joined(chunks: Json[]): Json[] | undefined {
  if (!isStream(chunks)) return undefined;
  const result: Json[] = [];
  for (const chunk of chunks) {
    const field = onlyTextOf(chunk);
    const before = result.at(-1);
    if (field === undefined || before === undefined || onlyTextOf(before) !== field) {
      result.push(chunk);
      continue;
    }
    const [one, other] = [deltasIn(before)[0] ?? {}, deltasIn(chunk)[0] ?? {}];
    one[field] = `${String(one[field])}${String(other[field])}`;
  }
  return result.length < chunks.length ? result : undefined;
}

/** The field with the only words of the chunk. */
function onlyTextOf(chunk: Json): string | undefined {
  const [choice] = choicesIn(chunk);
  const delta = choice?.['delta'];
  if (!isObject(delta) || choice?.['finish_reason'] || choice?.['logprobs'] || chunk['usage']) return undefined;
  return ['content', 'reasoning_content', 'reasoning'].find(
    (name) => typeof delta[name] === 'string' && delta[name] !== '' && !saysMoreThan(delta, name),
  );
}

function rename(chunks: Json[], from: string, to: string): Json[] | undefined {
  return eachDelta(chunks, (delta) => {
    if (typeof delta[from] !== 'string' || delta[from] === '' || delta[to]) return false;
    delta[to] = delta[from];
    delete delta[from];
    return true;
  });
}

function soFar(chunks: Json[], field: string): Json[] | undefined {
  if (!isStream(chunks)) return undefined;
  let text = '';
  const changed = eachDelta(chunks, (delta) => {
    if (typeof delta[field] !== 'string' || delta[field] === '') return false;
    text += delta[field];
    delta[field] = text;
    return true;
  });
  return text.length < LONG || chunks.length < 6 ? undefined : changed;
}

function wholeMessageAtTheEnd(chunks: Json[]): Json[] | undefined {
  const end = endIn(chunks);
  if (!isStream(chunks) || end < 0 || callCountOf(chunks) > 0) return undefined;
  const message = messageOf(chunks);
  if (textOf(message['content']) === '') return undefined;
  const [choice] = choicesIn(chunks[end] ?? {});
  if (choice === undefined || saysMoreThan(choice['delta'] as Json, '')) return undefined;
  choice['message'] = message;
  return chunks;
}

function thoughtsInTags(chunks: Json[], open: string): Json[] | undefined {
  const close = open.includes('◁') ? '◁/think▷' : open.replace(/^(.)/, '$1/');
  let isThinking = false;
  let isOver = false;
  const changed = eachDelta(chunks, (delta) => {
    const thought = delta['reasoning_content'] ?? delta['reasoning'];
    const { content } = delta;
    if (Array.isArray(content)) return false;
    let text = '';
    if (typeof thought === 'string' && thought !== '') {
      text += isThinking ? thought : open + thought;
      isThinking = true;
      delete delta['reasoning_content'];
      delete delta['reasoning'];
    }
    const saysElse = (typeof content === 'string' && content !== '') || callsIn(delta).length > 0;
    if (isThinking && saysElse && !isOver) {
      text += close;
      isOver = true;
    }
    if (text === '') return false;
    delta['content'] = text + (typeof content === 'string' ? content : '');
    return true;
  });
  // A thought that nobody closes may be the answer.
  return isOver && !JSON.stringify(chunks).includes('reasoning_details') ? changed : undefined;
}

function choiceIndexes(): SameOddity[] {
  const ways: readonly (readonly [string, (choice: Json) => void])[] = [
    ['no index of the choice', (choice) => void delete choice['index']],
    ['an index of the choice that is null', (choice) => void (choice['index'] = null)],
    ['an index of the choice that is a string', (choice) => void (choice['index'] = '0')],
    ['one choice with the index 1', (choice) => void (choice['index'] = 1)],
  ];
  return ways.map(([name, change]) => ({
    name,
    source: 'BerriAI/litellm PR#35444',
    takes: ['order'],
    apply: (chunks) => {
      for (const choice of chunks.flatMap(choicesIn)) change(choice);
      return chunks;
    },
  }));
}
