import { expect } from 'chai';
import { chunkFromCompletion } from '../../src/core/reply/completion.ts';
import type { ChatChunk, ChatMessage } from '../../src/core/chat.ts';
import { isDialectName, type DialectName } from '../../src/core/dialects.ts';
import { ApiError } from '../../src/core/errors.ts';
import type { CreateResponse, OutputItem, ResponseResource } from '../../src/contract/types.ts';
import type { ReasoningOutput } from '../../src/contract/settings-types.ts';
import { askedOf, goOn } from '../support/conversation.ts';
import { translate, type Answer } from '../support/machine.ts';
import { mergeChunks } from '../support/merge-chunks.ts';
import { readAnswer } from '../support/read-answer.ts';
import { loadRecordings, readRecordedAnswer, type Recording, type RecordedAnswer } from '../support/recordings.ts';
import { expectWellFormed } from '../support/well-formed.ts';

describe('the translator and recorded answers', () => {
  const recordings = loadRecordings().filter(({ status }) => status === 200);
  const streams = recordings.filter(({ contentType }) => contentType === 'text/event-stream');

  it('are read where they are found beside the repository', () => {
    console.log(`\n  ${recordings.length} recordings found for the translator, ${streams.length} of them streams`);
    expect(streams.length > 0).to.equal(recordings.length > 0);
  });

  for (const recording of recordings) {
    const said = readRecordedAnswer(recording.body);

    it(`says what ${recording.name} says, however reasoning is shown`, () => {
      const answer = toAnswer(recording, said);
      for (const reasoningOutput of ['summary', 'content', 'hidden'] as const) {
        const response = expectWellFormed(translate(answer, toRequest(recording), { reasoningOutput, seals: false }));
        expectSaid(response, said, reasoningOutput);
      }
    });
  }

  it('attach nothing that the tests below would not miss', () => {
    const NAMED_LIKE_STATE = /"(\w*(?:blocks|details|encrypt|extra|opaque|sign|specific|state)\w*)"\s*:/g;
    // `thought_signature` beside `extra_content` is the same one.
    const KNOWN = new Set(['extra_content', 'reasoning_details', 'signature', 'thought_signature']);
    const OF_USAGE = /token|cost|server_tool|trace/;
    const names = recordings.flatMap(({ body }) => [...body.toString().matchAll(NAMED_LIKE_STATE)]);
    const unknown = names.map(([, name = '']) => name).filter((name) => !KNOWN.has(name) && !OF_USAGE.test(name));
    expect(unknown).to.deep.equal([]);
  });

  for (const recording of recordings) {
    const said = readRecordedAnswer(recording.body);
    const { attached, calls } = said;
    const isAttached = Object.keys(attached).length > 0 || calls.some((call) => call.extra_content !== undefined);
    if (!isAttached) continue;

    it(`gives all back that ${recording.name} attached, with the next request`, () => {
      for (const dialect of dialectsOf(recording)) {
        for (const reasoningOutput of ['summary', 'content', 'hidden'] as const) {
          for (const include of [[], ['reasoning.encrypted_content'] as const]) {
            const settings = { dialect, reasoningOutput };
            const request: CreateResponse = { ...toRequest(recording), include: [...include] };
            const { output } = expectWellFormed(translate(toAnswer(recording, said), request, settings));
            for (const replayed of [output, output.toSorted(byReasoning)]) {
              const { messages } = askedOf(goOn(request, replayed), settings);
              const told = messages.find((message) => message.role === 'assistant');
              expect(attachedTo(told), `${dialect}, ${reasoningOutput}, include: ${include.length}`).to.deep.equal({
                ...attached,
                calls: calls.map((call) => call.extra_content),
              });
            }
          }
        }
      }
    });
  }

  for (const recording of streams) {
    const { name, body } = recording;

    it(`completes ${name} in no place but its end`, () => {
      const { chunks } = readAnswer(body);
      for (let length = 0; length < chunks.length; length += Math.ceil(chunks.length / 25)) {
        const beginning = chunks.slice(0, length);
        const response = expectWellFormed(translate({ chunks: beginning, done: false }, toRequest(recording)));
        const stopped = beginning.some((chunk) => finishReasonsOf(chunk).some(Boolean));
        expect(response.status === 'failed', `after ${length} chunks`).to.equal(!stopped);
      }
    });

    const answer = readAnswer(body);
    const completion = answer.failure === undefined ? mergeChunks(answer) : undefined;
    if (completion === undefined) continue;
    it(`gives the response of ${name} for one completion that says the same`, () => {
      const request = toRequest(recording);
      const streamed = expectWellFormed(translate(answer, request));
      const whole = expectWellFormed(translate({ chunks: [chunkFromCompletion(completion)], done: true }, request));
      expect(whole).to.deep.equal(streamed);
    });
  }
});

function toRequest({ tools }: Recording): CreateResponse {
  return { model: 'test-model', input: 'Hello', tools: [...tools] as NonNullable<CreateResponse['tools']> };
}

/** As the backend's side would hand it over: an error in place of an answer is its to see. */
function toAnswer({ body, contentType }: Recording, said: RecordedAnswer): Answer {
  if (contentType === 'text/event-stream') return readAnswer(body);
  const completion = JSON.parse(body.toString()) as ChatChunk;
  const failure = said.error ? new ApiError('upstream_error') : undefined;
  return { chunks: said.error ? [] : [chunkFromCompletion(completion)], done: true, failure };
}

function expectSaid(response: ResponseResource, said: RecordedAnswer, reasoningOutput: ReasoningOutput): void {
  const expected = expectedEnd(said);
  expect({ status: response.status, incomplete_details: response.incomplete_details }).to.deep.equal(expected);
  if (said.usage !== null) expect(response.usage).to.deep.equal(said.usage);
  if (expected.status === 'failed') return;

  // The blank lines after a thought are no part of the text.
  expect(response.output_text).to.equal(said.reasoning === '' ? said.text : said.text.replace(/^\s*\n/, ''));
  expect(textOf(response, 'refusal')).to.equal(said.refusal);
  const shown = reasoningOutput === 'hidden' ? '' : said.reasoning;
  expect(textOf(response, 'reasoning')).to.equal(shown);
  const types = response.output.map((item) => item.type);
  expect(types.includes('reasoning')).to.equal(shown !== '');

  const calls = response.output.filter((item) => item.type === 'function_call');
  expect(calls.map((call) => ({ name: call.name, arguments: call.arguments }))).to.deep.equal(
    said.calls.map((call) => ({ name: call.name, arguments: call.arguments })),
  );
  const ids = said.calls.map((call) => call.id);
  for (const [index, call] of calls.entries()) {
    const own = ids[index] ?? '';
    if (own !== '' && ids.indexOf(own) === index) expect(call.call_id).to.equal(own);
    else expect(call.call_id).to.match(/^call_[0-9a-f]{36}$/);
  }
}

/** The one of which nothing is known, and its own where there is one. */
function dialectsOf({ provider }: Recording): DialectName[] {
  return isDialectName(provider) ? ['generic', provider] : ['generic'];
}

/** Some clients replay what is sealed before all else. */
function byReasoning(a: OutputItem, b: OutputItem): number {
  return Number(b.type === 'reasoning') - Number(a.type === 'reasoning');
}

/** In the words of `Said`. */
function attachedTo(message: ChatMessage | undefined): object {
  if (message?.role !== 'assistant') return {};
  const { role: _role, content, refusal: _refusal, tool_calls: calls = [], ...attached } = message;
  const thoughts = Array.isArray(content) ? content.filter((part) => part.type === 'thinking') : [];
  const thinking = thoughts.flatMap((part) => part.thinking).map((part) => part.text);
  return {
    ...attached,
    ...(thinking.length > 0 && { thinking: thinking.join('') }),
    calls: calls.map((call) => call.extra_content),
  };
}

function expectedEnd({
  finishReason,
  done,
  error,
}: RecordedAnswer): Pick<ResponseResource, 'status' | 'incomplete_details'> {
  if (error) return { status: 'failed', incomplete_details: null };
  switch (finishReason) {
    case undefined:
      return { status: done ? 'completed' : 'failed', incomplete_details: null };
    case 'length':
      return { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } };
    case 'content_filter':
      return { status: 'incomplete', incomplete_details: { reason: 'content_filter' } };
    default:
      return { status: 'completed', incomplete_details: null };
  }
}

function textOf({ output }: ResponseResource, kind: 'refusal' | 'reasoning'): string {
  let text = '';
  for (const item of output) {
    if (item.type === 'message' && kind === 'refusal') {
      for (const part of item.content) if (part.type === 'refusal') text += part.refusal;
    } else if (item.type === 'reasoning' && kind === 'reasoning') {
      for (const part of [...item.summary, ...(item.content ?? [])]) text += part.text;
    }
  }
  return text;
}

function finishReasonsOf(chunk: ChatChunk): unknown[] {
  const choices = (chunk['choices'] ?? []) as { readonly index?: number; readonly finish_reason?: unknown }[];
  return choices.filter(({ index = 0 }) => index === 0).map((choice) => choice.finish_reason);
}
