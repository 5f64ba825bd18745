import { expect } from 'chai';
import * as fc from 'fast-check';
import type { ChatChunk } from '../../../src/core/chat.ts';
import { ApiError } from '../../../src/core/errors.ts';
import type { CreateResponse, ResponseEvent } from '../../../src/contract/types.ts';
import { loadFixtures } from '../../support/fixtures.ts';
import { cutAt } from '../../support/cut.ts';
import { chunkOf, openMachine, translate } from '../../support/machine.ts';
import { runs } from '../../support/property.ts';
import { readAnswer } from '../../support/read-answer.ts';
import { compileSchema } from '../../support/schemas.ts';
import { expectWellFormed } from '../../support/well-formed.ts';

type Machine = ReturnType<typeof openMachine>;

const WAYS_OUT: Record<string, (machine: Machine) => readonly ResponseEvent[]> = {
  end: (machine) => machine.end(true),
  'end without [DONE]': (machine) => machine.end(false),
  failure: (machine) => machine.fail(new ApiError('upstream_error')),
  'our failure': (machine) => machine.fail(new ApiError('gateway_interrupted')),
  cancel: (machine) => machine.cancel(),
  'an end that is revoked': (machine) => machine.revoke(machine.end(true), new ApiError('request_cancelled')),
  'a failure that is revoked': (machine) =>
    machine.revoke(machine.fail(new ApiError('upstream_error')), new ApiError('gateway_interrupted')),
};

const answers = new Map(
  loadFixtures().map(({ name, request, settings, sse }) => [name, { request, settings, ...readAnswer(sse) }]),
);
/** By its name, which says more in the message of a failure than its bytes. */
const anyAnswer = fc.constantFrom(...answers.keys());
const anyWayOut = fc.constantFrom(...Object.keys(WAYS_OUT));
const anyReasoningOutput = fc.constantFrom('summary', 'content', 'hidden');

/** What JSON can hold and a backend should not send. */
const weird = fc.oneof(
  fc.jsonValue({ maxDepth: 3 }),
  fc.constantFrom<unknown>(null, true, '', 'x', 0, -1, 1.5, 1e300, Infinity, -0, [], {}, [[]], [null], { a: null }),
  fc.constantFrom<unknown>(
    'look',
    'shell',
    'apply_patch',
    'local_shell',
    'tool_search',
    '{"input":"a',
    '{"commands":["ls"]}',
  ),
  fc.constantFrom<unknown>('__proto__', '\u{d800}', '</think>', '<think>', '{"a":1}', '[1][2]', '{', '}'),
);

/** With a tool of every kind, since each has an item type of its own. */
const REQUEST: CreateResponse = {
  model: 'm',
  input: '',
  top_logprobs: 1,
  tools: [
    { type: 'custom', name: 'look' },
    { type: 'shell' },
    { type: 'local_shell' },
    { type: 'apply_patch' },
    { type: 'tool_search', execution: 'client' },
  ],
};

const KNOWN_FIELDS = [
  'choices',
  'usage',
  'x_groq',
  'citations',
  'search_results',
  'service_tier',
  'delta',
  'message',
  'finish_reason',
  'logprobs',
  'index',
  'content',
  'refusal',
  'reasoning',
  'reasoning_content',
  'reasoning_details',
  'tool_calls',
  'function_call',
  'function',
  'annotations',
  'url_citation',
  'id',
  'name',
  'arguments',
  'text',
  'thinking',
  'token',
  'top_logprobs',
  'bytes',
  'prompt_tokens',
  'completion_tokens',
  'prompt_tokens_details',
  'url',
  'title',
];

/** Objects of known fields with anything in them, each as likely to be what it should be as something else. */
const { chunk: wildChunk } = fc.letrec<{ chunk: ChatChunk; node: unknown }>((tie) => ({
  chunk: fc.dictionary(fc.constantFrom(...KNOWN_FIELDS), tie('node'), { maxKeys: 6 }),
  node: fc.oneof({ maxDepth: 5 }, weird, fc.array(tie('node'), { maxLength: 3 }), tie('chunk')),
}));

/** A chunk that gets past the first checks, with anything in the choice. */
const wildChoice = fc
  .record({ delta: fc.oneof(wildChunk, weird), rest: fc.oneof(wildChunk, fc.constant({})) })
  .map(({ delta, rest }): ChatChunk => ({ choices: [{ ...rest, index: 0, delta }] }));

describe('the translator', () => {
  const isEvent = compileSchema('event.json');

  it('makes a well-formed stream of any beginning of an answer, however it ends', () => {
    fc.assert(
      fc.property(anyAnswer, fc.nat(), anyWayOut, anyReasoningOutput, (name, cut, wayOut, reasoningOutput) => {
        const { chunks, request, settings } = answerOf(name);
        const machine = openMachine(request, { ...settings, reasoningOutput });
        const beginning = chunks.slice(0, cut % (chunks.length + 1));
        const batches = [
          machine.start(),
          ...beginning.map((chunk) => machine.feed([chunk])),
          WAYS_OUT[wayOut]?.(machine),
        ];
        expectWellFormed(batches.flatMap((batch) => batch ?? []));
      }),
      runs(1000),
    );
  });

  it('may say in_progress again at any place', () => {
    fc.assert(
      fc.property(anyAnswer, fc.infiniteStream(fc.boolean()), (name, again) => {
        const { chunks, request, settings } = answerOf(name);
        const machine = openMachine(request, settings);
        const events = [machine.start()];
        for (const chunk of chunks) events.push(machine.feed([chunk]), again.next().value ? machine.keepAlive() : []);
        events.push(machine.end(true));
        expectWellFormed(events.flat());
      }),
      runs(300),
    );
  });

  it('takes any JSON for chunks, and still makes a well-formed stream', () => {
    const chunks = fc.array(fc.oneof(wildChunk, wildChoice, fc.dictionary(fc.string(), fc.jsonValue())), {
      maxLength: 8,
    });
    fc.assert(
      fc.property(chunks, anyWayOut, fc.constantFrom('openai', 'ollama'), (chunks, wayOut, dialect) => {
        expectSound(chunks, wayOut, openMachine(REQUEST, { dialect }));
      }),
      runs(1000),
    );
  });

  it('takes real chunks with anything in the place of any of their values', () => {
    const changes = fc.array(fc.record({ chunk: fc.nat(), place: fc.nat(), value: weird }), {
      minLength: 1,
      maxLength: 3,
    });
    fc.assert(
      fc.property(anyAnswer, changes, anyWayOut, (name, changes, wayOut) => {
        const { chunks, request, settings } = answerOf(name);
        const changed = structuredClone([...chunks]);
        for (const { chunk, place, value } of changes) replaceIn(changed[chunk % changed.length], place, value);
        expectSound(changed, wayOut, openMachine({ ...request, top_logprobs: 1 }, settings));
      }),
      runs(2000),
    );
  });

  it('takes the chunks of any two answers mixed', () => {
    fc.assert(
      fc.property(anyAnswer, anyAnswer, fc.infiniteStream(fc.boolean()), anyWayOut, (one, other, fromOne, wayOut) => {
        const { request, settings, chunks } = answerOf(one);
        const left = [...chunks];
        const right = [...answerOf(other).chunks];
        const mixed: ChatChunk[] = [];
        while (left.length + right.length > 0) {
          const chunk = (fromOne.next().value === true ? left : right).shift();
          if (chunk !== undefined) mixed.push(chunk);
        }
        expectSound(mixed, wayOut, openMachine(request, settings));
      }),
      runs(1000),
    );
  });

  it('says of an answer in pieces what it says of the whole one, wherever its words and arguments are cut', () => {
    const anyWords = fc.array(fc.constantFrom('the', ' the', ' end', '\n', 'ha', 'l', '1', '{"a":', '😀', ' of it.'), {
      maxLength: 30,
    });
    const anyArguments = fc.dictionary(fc.constantFrom('a', '{"a":'), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 2 });
    const anyCuts = fc.infiniteStream(fc.array(fc.nat(), { maxLength: 6 }));
    fc.assert(
      fc.property(
        anyWords,
        anyWords,
        fc.array(anyArguments, { maxLength: 3 }),
        anyCuts,
        (thought, text, given, cuts) => {
          const said = { reasoning_content: `Hm ${thought.join('')}`, content: `So ${text.join('')}` };
          const calls = given.map((value, index) => ({
            index,
            id: `call_${index}`,
            name: 'f',
            json: JSON.stringify(value),
          }));
          const message = {
            ...said,
            tool_calls: calls.map(({ index, id, name, json }) => ({ index, id, function: { name, arguments: json } })),
          };
          const pieces = [
            ...Object.entries(said).flatMap(([field, all]) =>
              cutAt(all, cuts.next().value).map((piece) => chunkOf({ [field]: piece })),
            ),
            ...calls.flatMap(({ index, id, name, json }) => [
              chunkOf({ tool_calls: [{ index, id, function: { name } }] }),
              ...cutAt(json, cuts.next().value).map((piece) =>
                chunkOf({ tool_calls: [{ index, function: { arguments: piece } }] }),
              ),
            ]),
            chunkOf({}, 'stop'),
          ];
          const whole = translate({ chunks: [chunkOf(message, 'stop')], done: true });
          expect(expectWellFormed(translate({ chunks: pieces, done: true }))).to.deep.equal(expectWellFormed(whole));
        },
      ),
      runs(2000),
    );
  });

  /** Nothing throws, the stream is well-formed, and what goes over the wire is as the schema says. */
  function expectSound(chunks: readonly ChatChunk[], wayOut: string, machine: Machine): void {
    const batches = [
      machine.start(),
      ...chunks.map((chunk) => machine.feed([chunk])),
      WAYS_OUT[wayOut]?.(machine) ?? [],
    ];
    const events = batches.flat();
    expectWellFormed(events);
    for (const event of JSON.parse(JSON.stringify(events)) as ResponseEvent[]) {
      expect(isEvent(event), `${JSON.stringify(event)} ${JSON.stringify(isEvent.errors)}`).to.equal(true);
    }
  }
});

function answerOf(name: string) {
  const answer = answers.get(name);
  if (answer === undefined) throw new Error(`there is no answer ${name}`);
  return answer;
}

/** Puts the value in the place of the one that is found by walking down the tree, `place` choosing the way. */
function replaceIn(tree: unknown, place: number, value: unknown): void {
  let node = (tree ?? {}) as Record<string, unknown>;
  for (let way = place; ; way = Math.floor(way / 3)) {
    const keys = Object.keys(node);
    const key = keys[way % keys.length];
    if (key === undefined) return;
    const child = node[key];
    const goesOn = typeof child === 'object' && child !== null && Object.keys(child).length > 0 && way > 2;
    if (!goesOn) {
      node[key] = value;
      return;
    }
    node = child as Record<string, unknown>;
  }
}
