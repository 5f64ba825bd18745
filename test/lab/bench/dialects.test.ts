import { expect } from 'chai';
import { createStreamReader, toRequest, type Dialect } from './dialects.ts';

const CHAT_END = ['data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\n', 'data: [DONE]\n\n'];
const streams: Record<Dialect, readonly string[]> = {
  chat: [1, 2, 3].map((time) => `data: {"choices":[{"delta":{"content":" @${time}.5"}}]}\n\n`).concat(CHAT_END),
  responses: [1, 2, 3]
    .map((time) => `event: response.output_text.delta\ndata: {"delta":" @${time}.5"}\n\n`)
    .concat('event: response.completed\ndata: {"text":" @1.5 @2.5 @3.5"}\n\n', 'data: [DONE]\n\n'),
};

for (const [name, events] of Object.entries(streams)) {
  const dialect = name as Dialect;
  const read = (pieces: readonly string[], deltas: number) => {
    const reader = createStreamReader(dialect);
    const stamps = pieces.flatMap((piece) => reader.read(Buffer.from(piece)));
    reader.expectWhole(deltas);
    return stamps;
  };

  describe(`the bench, reading a stream of ${dialect}`, () => {
    it('finds every delta once, wherever the stream is cut', () => {
      const text = events.join('');
      for (let at = 0; at <= text.length; at += 1) {
        expect(read([text.slice(0, at), text.slice(at)], 3), `cut at ${at}`).to.deep.equal([1.5, 2.5, 3.5]);
      }
    });

    const broken = [
      { name: 'a delta is missing', pieces: events.slice(1), message: '2 deltas instead of 3' },
      { name: 'a delta comes twice', pieces: [...events.slice(0, 1), ...events], message: '4 deltas instead of 3' },
      { name: 'nothing says how it ended', pieces: events.toSpliced(3, 1), message: 'no terminal event' },
      { name: 'it stops before its end', pieces: events.slice(0, -1), message: 'did not end' },
      { name: 'it goes on after its end', pieces: [...events, 'data'], message: 'did not end' },
    ];
    for (const { name, pieces, message } of broken) {
      it(`fails when ${name}`, () => {
        expect(() => read(pieces, 3)).to.throw(message);
      });
    }
  });
}

describe('the bench, counting deltas', () => {
  const streams: Record<Dialect, readonly string[]> = {
    chat: [
      '{"choices":[{"delta":{"role":"assistant","content":""}}]}',
      '{"choices":[{"delta":{"reasoning_content":"a"}}]}',
      '{"choices":[{"delta":{"tool_calls":[{"function":{"arguments":"a"}}]}}]}',
      '{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}',
      '[DONE]',
    ].map((data) => `data: ${data}\n\n`),
    responses: [
      'event: response.reasoning_summary_text.delta\ndata: {"type":"response.reasoning_summary_text.delta"}\n\n',
      'event: response.function_call_arguments.delta\ndata: {}\n\n',
      'event: response.completed\ndata: {}\n\n',
      'data: [DONE]\n\n',
    ],
  };
  for (const [name, events] of Object.entries(streams)) {
    it(`of ${name} counts those of reasoning and arguments, and not the first chunk`, () => {
      const reader = createStreamReader(name as Dialect);
      reader.read(Buffer.from(events.join('')));
      expect(() => reader.expectWhole(2)).not.to.throw();
    });
  }
});

describe('a request of the bench', () => {
  it('says how long its body is in bytes', () => {
    const messages = [{ role: 'user', content: 'ä' }];
    const request = toRequest(
      { dialect: 'chat', apiKey: 'a key' },
      { script: 'json', body: { chat: { messages }, responses: {} } },
    ).toString('latin1');
    const [head = '', body = ''] = request.split('\r\n\r\n');
    expect(head).to.include('authorization: Bearer a key\r\n');
    expect(head).to.include(`content-length: ${body.length}`);
  });
});
