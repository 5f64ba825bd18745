import { expect } from 'chai';
import type { RawReply } from '../../src/doctor/inquiry.ts';
import { readAnswer, refusalIn } from '../../src/doctor/answer.ts';
import { recognise } from '../../src/doctor/dialect-signs.ts';
import { ApiError } from '../../src/core/errors.ts';
import { loadRecordings, readRecordedAnswer, type Recording } from '../support/recordings.ts';

const toReply = ({ body, status, contentType }: Recording): RawReply => ({
  status,
  headers: { 'content-type': contentType },
  text: body.toString(),
});

describe('readAnswer', () => {
  const recordings = loadRecordings().filter(({ status, body }) => status === 200 && !readRecordedAnswer(body).error);

  // In addition, where the folder is found: what is ours is tested below in any case.
  const ofRecordings = (name: string, test: () => void): void => {
    if (recordings.length > 0) it(name, test);
  };

  before(() => console.log(`\n  ${recordings.length} recordings found for the doctor`));

  ofRecordings('reads of every recording what it says', () => {
    for (const recording of recordings) {
      const said = readAnswer(toReply(recording), []);
      const expected = readRecordedAnswer(recording.body);
      const thought = said.reasoningIn.includes('<think>');
      if (!thought) expect(said.text, recording.name).to.equal(expected.text);
      expect(said.finishReason, recording.name).to.equal(expected.finishReason);
      expect(said.usage ?? null, recording.name).to.deep.equal(expected.usage);
      expect(said.isDone, recording.name).to.equal(expected.done);
      expect(said.reasoningIn.length > 0, recording.name).to.equal(thought || expected.reasoning !== '');
      expect(
        said.calls.map((call) => [call.name, call.arguments || '{}']),
        recording.name,
      ).to.deep.equal(expected.calls.map((call) => [call.name, call.arguments]));
    }
  });

  ofRecordings('recognises the backends of the recordings, and takes none for another', () => {
    const kinds: readonly (readonly [provider: RegExp, dialect: string])[] = [
      [/^azure/, 'azure'],
      [/^(?:derived-)?openai(?!-client-proxy)/, 'openai'],
      [/^openai-client-proxy|^openrouter/, 'openrouter'],
      [/^(?:deepseek|groq|llamacpp|mistral|ollama|together|vllm)/, ''],
    ];
    const recognised = new Set<string>();
    for (const recording of recordings) {
      const [best, ...others] = recognise({
        headers: {},
        models: [],
        answers: readAnswer(toReply(recording), []).chunks,
      });
      const kind = kinds.find(([provider]) => provider.test(recording.provider));
      const expected = kind && (kind[1] || /^[a-z]+/.exec(recording.provider)?.[0]);
      if (best === undefined || expected === undefined) continue;
      recognised.add(expected);
      expect([best.dialect, ...others], recording.name).to.deep.equal([expected]);
    }
    expect([...recognised].toSorted()).to.deep.equal([
      'azure',
      'deepseek',
      'groq',
      'llamacpp',
      'mistral',
      'ollama',
      'openai',
      'openrouter',
      'together',
      'vllm',
    ]);
  });

  it('tells calls apart by their ids where a stream gives no index', () => {
    const piece = (id: string, args: string): string =>
      `data: ${JSON.stringify({ choices: [{ delta: { tool_calls: [{ id, function: { name: 'f', arguments: args } }] } }] })}\n\n`;
    const text = piece('a', '{"x"') + piece('a', ':1}') + piece('b', '{}') + piece('b', '{}');
    const { calls } = readAnswer({ status: 200, headers: { 'content-type': 'text/event-stream' }, text }, []);
    expect(calls.map((call) => call.arguments)).to.deep.equal(['{"x":1}', '{}']);
  });

  it('throws what a 200 says of a failure, without secrets', () => {
    const reply = { status: 200, headers: {}, text: '{"error": {"message": "no sk-canary-canary here"}}' };
    expect(() => readAnswer(reply, ['sk-canary-canary'])).to.throw(ApiError, 'no [redacted] here');
  });

  it('throws where it is no completion', () => {
    expect(() => readAnswer({ status: 200, headers: {}, text: 'OK' }, [])).to.throw(ApiError, 'not a chat completion');
  });
});

describe('refusalIn', () => {
  const reply = (status: number): RawReply => ({
    status,
    headers: {},
    text: '{"error": {"message": "not with other-canary"}}',
  });

  it('finds none in a 2xx', () => {
    expect(refusalIn(reply(200), [])).to.equal(undefined);
    expect(refusalIn(reply(299), [])).to.equal(undefined);
  });

  it('gives the words of the backend, without secrets', () => {
    expect(refusalIn(reply(400), ['other-canary'])?.message).to.equal('not with [redacted]');
  });
});
