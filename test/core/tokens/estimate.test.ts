import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { createTokenEstimator, inputSizeOf, type InputSize } from '../../../src/core/tokens/estimate.ts';
import type { Usage } from '../../../src/contract/types.ts';
import { loadRecordings, readSaid } from '../../support/recordings.ts';

const FEW_WORDS = 200;
const TEXT = { textBytes: 1000, media: 0 };

describe('inputSizeOf', () => {
  const data = 'A'.repeat(1000);
  const cases: { name: string; messages: unknown; media: number; mediaBytes: number }[] = [
    { name: 'text', messages: [{ role: 'user', content: 'Hello' }], media: 0, mediaBytes: 0 },
    {
      name: 'parts that are words',
      messages: [
        { role: 'user', content: [{ type: 'text', text: data }] },
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: [{ type: 'text', text: data }] },
            { type: 'refusal', refusal: data },
          ],
        },
      ],
      media: 0,
      mediaBytes: 0,
    },
    {
      name: 'an image',
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'x' },
            { type: 'image_url', image_url: { url: data, detail: 'low' } },
          ],
        },
      ],
      media: 1,
      mediaBytes: 1000,
    },
    {
      name: 'an image that a tool has brought',
      messages: [{ role: 'tool', tool_call_id: 'c', content: [{ type: 'image_url', image_url: { url: data } }] }],
      media: 1,
      mediaBytes: 1000,
    },
    {
      name: 'sounds and files of any form',
      messages: [
        {
          role: 'user',
          content: [
            { type: 'input_audio', input_audio: { data, format: 'wav' } },
            { type: 'input_audio', input_audio: data },
            { type: 'file', file: { filename: 'a.pdf', file_data: data } },
            { type: 'document_url', document_url: data },
          ],
        },
      ],
      media: 4,
      mediaBytes: 4000,
    },
    { name: 'what is no list of messages', messages: { content: [{ type: 'image_url' }] }, media: 0, mediaBytes: 0 },
    { name: 'odd messages', messages: [null, 'x', { content: [null, 'x', 1] }], media: 0, mediaBytes: 0 },
  ];

  for (const { name, messages, media, mediaBytes } of cases) {
    it(`counts the media of ${name}`, () => {
      expect(inputSizeOf({ messages }, 10_000)).to.deep.equal({ textBytes: 10_000 - mediaBytes, media });
    });
  }

  it('never weighs less than nothing', () => {
    const messages = [{ role: 'user', content: [{ type: 'image_url', image_url: { url: data } }] }];
    expect(inputSizeOf({ messages }, 10)).to.deep.equal({ textBytes: 0, media: 1 });
  });
});

describe('an estimate of tokens', () => {
  it('begins with a quarter of a token for each byte of input and each character of output', () => {
    const estimator = createTokenEstimator();
    expect(estimator.estimateInput('m', TEXT)).to.equal(250);
    expect(estimator.estimateInput('m', { textBytes: 1001, media: 0 })).to.equal(251);
    expect(estimator.estimateOutput('m', 1001)).to.equal(251);
    expect(estimator.estimateOutput('m', 0)).to.equal(0);
  });

  it('takes an image or a file for a thousand tokens', () => {
    expect(createTokenEstimator().estimateInput('m', { textBytes: 1000, media: 2 })).to.equal(2250);
  });

  it('is what the backend counted, after the first answer', () => {
    const estimator = createTokenEstimator();
    estimator.learn('m', { textBytes: 200, media: 0 }, 200, usageOf(80, 100));
    expect(estimator.estimateInput('m', { textBytes: 2000, media: 0 })).to.equal(800);
    expect(estimator.estimateOutput('m', 2000)).to.equal(1000);
  });

  it('moves a tenth of the way with each further answer', () => {
    const estimator = createTokenEstimator();
    estimator.learn('m', TEXT, 1000, usageOf(400, 500));
    estimator.learn('m', TEXT, 1000, usageOf(300, 300));
    // 400 - (400 - 300) / 10 and 500 - (500 - 300) / 10
    expect(estimator.estimateInput('m', TEXT)).to.equal(390);
    expect(estimator.estimateOutput('m', 1000)).to.equal(480);
  });

  it('of one model teaches nothing of another', () => {
    const estimator = createTokenEstimator();
    estimator.learn('m', TEXT, 1000, usageOf(400, 500));
    expect(estimator.estimateInput('n', TEXT)).to.equal(250);
    expect(estimator.estimateOutput('n', 1000)).to.equal(250);
  });

  const ignored: { name: string; size?: InputSize; outputLength?: number; usage: Usage }[] = [
    { name: 'short texts', size: { textBytes: 199, media: 0 }, outputLength: 199, usage: usageOf(100, 100) },
    { name: 'inputs with images, and empty answers', size: { textBytes: 1000, media: 1 }, usage: usageOf(900, 0) },
    { name: 'counts of nothing', usage: usageOf(0, 0) },
  ];
  for (const { name, size = TEXT, outputLength = 1000, usage } of ignored) {
    it(`learns nothing from ${name}`, () => {
      const estimator = createTokenEstimator();
      estimator.learn('m', size, outputLength, usage);
      expect(estimator.estimateInput('m', TEXT)).to.equal(250);
      expect(estimator.estimateOutput('m', 1000)).to.equal(250);
    });
  }

  it('learns nothing of output from an answer with thoughts, which may have been sent or not', () => {
    const estimator = createTokenEstimator();
    estimator.learn('m', TEXT, 1000, usageOf(400, 300, 290));
    expect(estimator.estimateInput('m', TEXT)).to.equal(400);
    expect(estimator.estimateOutput('m', 1000)).to.equal(250);
  });

  it('stays within bounds, whatever a backend counts', () => {
    const estimator = createTokenEstimator();
    estimator.learn('much', TEXT, 1000, usageOf(1e12, 1e12));
    estimator.learn('little', TEXT, 1000, usageOf(1, 1));
    expect([estimator.estimateInput('much', TEXT), estimator.estimateOutput('much', 1000)]).to.deep.equal([2000, 2000]);
    expect([estimator.estimateInput('little', TEXT), estimator.estimateOutput('little', 1000)]).to.deep.equal([20, 20]);
  });

  it('is learnt for a thousand models, of which the one learnt first is forgotten', () => {
    const estimator = createTokenEstimator();
    for (let index = 0; index <= 1000; index += 1) estimator.learn(`m${index}`, TEXT, 1000, usageOf(400, 500));
    estimator.learn('m1000', TEXT, 1000, usageOf(400, 500));
    expect(estimator.estimateInput('m0', TEXT)).to.equal(250);
    expect(estimator.estimateInput('m1', TEXT)).to.equal(400);
    expect(estimator.estimateInput('m1000', TEXT)).to.equal(400);
  });
});

/** A request and its answer, as far as an estimate goes. */
interface Exchange {
  /** Whose tokens these are: what is learnt from one such exchange is used for the others. */
  readonly source: string;
  /** Undefined when only the answer is known. */
  readonly size: InputSize | undefined;
  readonly outputLength: number;
  readonly usage: Usage;
}

describe('an estimate of exchanges that a tokenizer has counted', () => {
  const exchanges = readCountedExchanges();

  it('is off by a factor of 3.5 at most before anything is learnt', () => {
    const off = errorsOf(exchanges, () => []);
    report('counted exchanges, first guess', off);
    // Chinese has most tokens by far for a character.
    expect(Math.max(...off.input, ...off.output)).to.be.at.most(3.5);
  });

  it('is off by a third at most for the further turns of a conversation', () => {
    const later = exchanges.filter((exchange) => earlierTurns(exchange).length > 0);
    const off = errorsOf(later, earlierTurns);
    report('counted exchanges, learnt from earlier turns', off);
    expect(later).to.have.length(7);
    expect(Math.max(...off.input, ...off.output)).to.be.at.most(4 / 3);
  });

  function earlierTurns(exchange: Exchange): Exchange[] {
    return exchanges.slice(0, exchanges.indexOf(exchange)).filter(({ source }) => source === exchange.source);
  }
});

const recorded = readRecordedExchanges();
if (recorded.length > 0) {
  describe('an estimate of recorded exchanges', () => {
    it('is off by a factor of 3 at most for half of them before anything is learnt', () => {
      const off = errorsOf(recorded, () => []);
      report('recordings, first guess', off);
      report(
        'recordings of more than a few words, first guess',
        errorsOf(recorded.map(withoutFewWords), () => []),
      );
      expect(quantile(off.input, 0.5)).to.be.at.most(3);
      expect(quantile(off.output, 0.5)).to.be.at.most(3);
    });

    it('is off by a factor of 3 at most for half of them after others with the same provider', () => {
      const others = (exchange: Exchange) => recorded.filter((o) => o !== exchange && o.source === exchange.source);
      const off = errorsOf(
        recorded.filter((exchange) => others(exchange).length > 0),
        others,
      );
      report('recordings, learnt from others of the same provider', off);
      expect(quantile(off.input, 0.5)).to.be.at.most(3);
      expect(quantile(off.output, 0.5)).to.be.at.most(3);
    });
  });
}

/** By which factor each estimate is too high or too low, after `teachers` have been learnt from. */
function errorsOf(exchanges: readonly Exchange[], teachers: (exchange: Exchange) => readonly Exchange[]) {
  const input: number[] = [];
  const output: number[] = [];
  for (const exchange of exchanges) {
    const estimator = createTokenEstimator();
    const { size, outputLength, usage } = exchange;
    for (const other of teachers(exchange)) {
      estimator.learn('m', other.size ?? { textBytes: 0, media: 0 }, other.outputLength, other.usage);
    }
    if (size !== undefined) input.push(offBy(estimator.estimateInput('m', size), usage.input_tokens));
    if (outputLength > 0) output.push(offBy(estimator.estimateOutput('m', outputLength), usage.output_tokens));
  }
  return { input, output };
}

/** What is short says most of the template around it, which backends count and which nobody sees. */
function withoutFewWords(exchange: Exchange): Exchange {
  const { size, outputLength } = exchange;
  return {
    ...exchange,
    size: size !== undefined && size.textBytes >= FEW_WORDS ? size : undefined,
    outputLength: outputLength >= FEW_WORDS ? outputLength : 0,
  };
}

function offBy(estimate: number, counted: number): number {
  return Math.max(estimate / counted, counted / estimate);
}

function quantile(factors: readonly number[], share: number): number {
  const sorted = factors.toSorted((one, other) => one - other);
  return sorted[Math.ceil(share * sorted.length) - 1] ?? NaN;
}

function report(what: string, off: ReturnType<typeof errorsOf>): void {
  const line = (factors: readonly number[]) =>
    `half within a factor of ${quantile(factors, 0.5).toFixed(2)}, nine of ten within ${quantile(factors, 0.9).toFixed(2)} (${factors.length})`;
  console.log(`\n  ${what}:\n    input ${line(off.input)}\n    output ${line(off.output)}`);
}

/**
 * Conversations of our own, with the tokens that o200k_base has for them (counted once with js-tiktoken 1.0.21, tools as
 * JSON, and four tokens more for each message).
 */
function readCountedExchanges(): Exchange[] {
  const conversations = JSON.parse(readFileSync(join(import.meta.dirname, 'counted-exchanges.json'), 'utf8'));
  const found: Exchange[] = [];
  for (const { name, instructions, tools, exchanges } of conversations) {
    const messages: unknown[] = [{ role: 'system', content: instructions }];
    for (const { user, input_tokens, assistant, output_tokens } of exchanges) {
      messages.push({ role: 'user', content: user });
      const chat = { model: 'm', messages, ...(tools && { tools }) };
      const size = inputSizeOf(chat, Buffer.byteLength(JSON.stringify(chat)));
      found.push({ source: name, size, outputLength: assistant.length, usage: usageOf(input_tokens, output_tokens) });
      messages.push({ role: 'assistant', content: assistant });
    }
  }
  return found;
}

/** The answers of real backends that say how many tokens they had. */
function readRecordedExchanges(): Exchange[] {
  return loadRecordings().flatMap(({ provider, status, body, chat }) => {
    const { usage, text, refusal, reasoning, calls } = readSaid(body);
    if (status !== 200 || usage === null || !(usage.output_tokens > 0)) return [];
    const written = [text, refusal, reasoning, ...calls.map((call) => call.arguments)].join('');
    const size = chat && inputSizeOf(chat, Buffer.byteLength(JSON.stringify(chat)));
    return [{ source: provider, size, outputLength: written.length, usage }];
  });
}

function usageOf(input: number, output: number, reasoning = 0): Usage {
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: reasoning },
    total_tokens: input + output,
  };
}
