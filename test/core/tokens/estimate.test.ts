import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import {
  createTokenEstimator,
  fillGaps,
  type ModelCall,
  type TokenEstimator,
} from '../../../src/core/tokens/estimate.ts';
import { inputSizeOf, type InputSize } from '../../../src/core/tokens/input-size.ts';
import type { Usage } from '../../../src/contract/types.ts';
import { loadRecordings, readRecordedAnswer } from '../../support/recordings.ts';

const FEW_WORDS = 200;
const TEXT = { textBytes: 1000, mediaTokens: 0 };

function asked(overrides: Partial<ModelCall> = {}): ModelCall {
  return { model: 'm', caller: 'key', inputSize: TEXT, outputLength: 1000, allowedOutputTokens: null, ...overrides };
}

describe('an estimate of tokens', () => {
  let estimator: TokenEstimator;

  beforeEach(() => {
    estimator = createTokenEstimator();
  });

  const inputOf = (overrides?: Partial<ModelCall>): number => estimator.estimateInput(asked(overrides));
  const outputOf = (overrides?: Partial<ModelCall>): number => estimator.estimateUsage(asked(overrides)).output_tokens;
  const learn = (usage: Usage, overrides?: Partial<ModelCall>): void => estimator.learn(asked(overrides), usage);

  it('begins with a quarter of a token for each byte of input and each character of output', () => {
    expect(inputOf()).to.equal(250);
    expect(inputOf({ inputSize: { textBytes: 1001, mediaTokens: 0 } })).to.equal(251);
    expect(outputOf({ outputLength: 1001 })).to.equal(251);
    expect(outputOf({ outputLength: 0 })).to.equal(0);
    expect(estimator.estimateUsage(asked())).to.deep.equal(usageOf(250, 250));
  });

  it('takes an image or a file for a thousand tokens', () => {
    expect(inputOf({ inputSize: { textBytes: 1000, mediaTokens: 2000 } })).to.equal(2250);
  });

  it('is what the backend counted for the caller, after its first answer', () => {
    learn(usageOf(80, 100), { inputSize: { textBytes: 200, mediaTokens: 0 }, outputLength: 200 });
    expect(inputOf({ inputSize: { textBytes: 2000, mediaTokens: 0 } })).to.equal(800);
    expect(outputOf({ outputLength: 2000 })).to.equal(1000);
  });

  it('moves a tenth of the way with each further answer', () => {
    learn(usageOf(400, 500));
    learn(usageOf(300, 300));
    // 400 - (400 - 300) / 10 and 500 - (500 - 300) / 10
    expect(inputOf()).to.equal(390);
    expect(outputOf()).to.equal(480);
  });

  it('reserves no less for a caller whose own inputs were few tokens', () => {
    learn(usageOf(1, 250));
    expect(inputOf()).to.equal(100);
    expect(estimator.reserveInput(asked())).to.equal(250);
  });

  it('reserves no less than what the caller has taught, or all others', () => {
    learn(usageOf(400, 250));
    expect(estimator.reserveInput(asked())).to.equal(400);
    for (let caller = 0; caller < 20; caller += 1) {
      for (let count = 0; count < 100; count += 1) learn(usageOf(1600, 250), { caller: `caller ${caller}` });
    }
    expect(estimator.reserveInput(asked())).to.be.within(1400, 1600);
  });

  it('reserves a thousand tokens for an image', () => {
    expect(estimator.reserveInput(asked({ inputSize: { textBytes: 1001, mediaTokens: 2000 } }))).to.equal(2251);
  });

  describe('of media', () => {
    const MEDIA = { textBytes: 400, mediaTokens: 1000 };
    const mediaOf = (overrides?: Partial<ModelCall>) => inputOf({ inputSize: MEDIA, ...overrides }) - 100;

    it('is what the backend counted for the caller beside the text', () => {
      learn(usageOf(100 + 8500, 0), { inputSize: MEDIA });
      expect(mediaOf()).to.equal(8500);
      expect(inputOf()).to.equal(250);
      expect(estimator.reserveInput(asked({ inputSize: MEDIA }))).to.equal(8600);
    });

    it('reserves no less than they may count, however few they were before', () => {
      for (let count = 0; count < 100; count += 1) learn(usageOf(150, 0), { inputSize: MEDIA });
      expect(mediaOf()).to.equal(50);
      expect(estimator.reserveInput(asked({ inputSize: MEDIA }))).to.equal(1100);
    });

    it('moves by a quarter at most for others', () => {
      for (let count = 0; count < 1000; count += 1) learn(usageOf(1_000_000, 0), { inputSize: MEDIA });
      expect(mediaOf({ caller: 'other' })).to.be.within(1200, 1250);
    });

    it('learns nothing of few media beside many words', () => {
      learn(usageOf(5000, 0), { inputSize: { textBytes: 8000, mediaTokens: 1000 } });
      expect(mediaOf()).to.equal(1000);
    });
  });

  for (const model of ['M', 'm:latest', 'library/m', 'host:5000/library/M:8b', 'm-2026-01-01']) {
    it(`knows the model by its other name ${model}`, () => {
      learn(usageOf(400, 10_000, 9000), { model });
      expect(inputOf()).to.equal(400);
      expect(outputOf({ outputLength: 0 })).to.equal(9750);
    });
  }

  it('of one model teaches nothing of another', () => {
    learn(usageOf(400, 500));
    expect(inputOf({ model: 'n' })).to.equal(250);
    expect(outputOf({ model: 'n' })).to.equal(250);
  });

  for (const tokens of [1, 1_000_000]) {
    it(`moves by a quarter at most for others, whatever one caller sends: ${tokens} tokens for 1,000 bytes`, () => {
      for (let count = 0; count < 1000; count += 1) learn(usageOf(tokens, tokens));
      expect(inputOf({ caller: 'other' })).to.be.within(200, 313);
      expect(outputOf({ caller: 'other' })).to.be.within(200, 313);
    });
  }

  it('comes near what many callers have taught', () => {
    for (let count = 0; count < 100; count += 1) {
      for (let caller = 0; caller < 20; caller += 1) learn(usageOf(800, 800), { caller: `caller ${caller}` });
    }
    expect(inputOf({ caller: 'other' })).to.be.within(700, 800);
    expect(outputOf({ caller: 'other' })).to.be.within(700, 800);
  });

  const ignored: { name: string; exchange?: Partial<ModelCall>; usage: Usage }[] = [
    {
      name: 'short texts',
      exchange: { inputSize: { textBytes: 199, mediaTokens: 0 }, outputLength: 199 },
      usage: usageOf(100, 100),
    },
    {
      name: 'words beside images, and empty answers',
      exchange: { inputSize: { textBytes: 1000, mediaTokens: 1000 } },
      usage: usageOf(900, 0),
    },
    { name: 'counts of nothing', usage: usageOf(0, 0) },
  ];
  for (const { name, exchange, usage } of ignored) {
    it(`learns nothing from ${name}`, () => {
      learn(usage, exchange);
      expect(inputOf()).to.equal(250);
      expect(outputOf()).to.equal(250);
    });
  }

  it('stays within bounds, whatever a backend counts', () => {
    learn(usageOf(1e12, 1e12), { model: 'much' });
    learn(usageOf(1, 1), { model: 'little' });
    expect([inputOf({ model: 'much' }), outputOf({ model: 'much' })]).to.deep.equal([2000, 2000]);
    expect([inputOf({ model: 'little' }), outputOf({ model: 'little' })]).to.deep.equal([100, 100]);
  });

  it('is never more output than was allowed', () => {
    expect(outputOf({ allowedOutputTokens: 30 })).to.equal(30);
  });

  describe('of thoughts', () => {
    it('are what the model wrote and did not send', () => {
      learn(usageOf(250, 10_020, 9990));
      expect(estimator.estimateUsage(asked({ outputLength: 40 }))).to.deep.equal(usageOf(250, 9780, 9770));
    });

    it('follow what the model has reported to the caller', () => {
      learn(usageOf(250, 300, 300), { outputLength: 0 });
      expect(outputOf({ outputLength: 0 })).to.equal(300);
      expect(outputOf({ outputLength: 0, caller: 'other' })).to.be.within(800, 1000);
    });

    it('are no less than a tenth of the guess for others because the answers to the caller had few', () => {
      for (let count = 0; count < 100; count += 1) learn(usageOf(250, 20, 20), { outputLength: 0 });
      expect(outputOf({ outputLength: 0 })).to.be.within(80, 100);
    });

    it('are counted before the first word too', () => {
      learn(usageOf(250, 5250, 5000));
      expect(outputOf({ outputLength: 0 })).to.equal(5000);
    });

    it('are a thousand for a caller whose model has only thought for others, more or less a quarter', () => {
      learn(usageOf(250, 900_000, 900_000));
      expect(outputOf({ caller: 'other', outputLength: 0 })).to.be.within(800, 1250);
    });

    it('are none of a model that sends what it thinks, or that does not think', () => {
      learn(usageOf(250, 260, 200));
      learn(usageOf(250, 5000));
      expect(outputOf({ outputLength: 0 })).to.equal(0);
    });

    it('teach nothing of the length of words', () => {
      learn(usageOf(250, 300, 290));
      expect(outputOf()).to.equal(250);
    });
  });
});

describe('usage with gaps', () => {
  const estimate = usageOf(100, 50);
  it('is estimated for that half alone', () => {
    const usage = { ...usageOf(12, 5), input_tokens_details: { cached_tokens: 3, cache_write_tokens: 0 } };
    expect(fillGaps({ usage, gaps: ['output'], model: null }, estimate)).to.deep.equal({
      ...usageOf(12, 50),
      input_tokens_details: { cached_tokens: 3, cache_write_tokens: 0 },
    });
    expect(fillGaps({ usage, gaps: ['input'], model: null }, estimate)).to.deep.equal(usageOf(100, 5));
    expect(fillGaps({ usage, gaps: ['input', 'output'], model: null }, estimate)).to.deep.equal(estimate);
    expect(fillGaps({ usage: null, gaps: [], model: null }, estimate)).to.deep.equal(estimate);
  });
});

/** A request and its answer, as far as an estimate goes. */
interface Counted {
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

  function earlierTurns(exchange: Counted): Counted[] {
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
      const others = (exchange: Counted) => recorded.filter((o) => o !== exchange && o.source === exchange.source);
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
function errorsOf(exchanges: readonly Counted[], teachers: (exchange: Counted) => readonly Counted[]) {
  const input: number[] = [];
  const output: number[] = [];
  for (const exchange of exchanges) {
    const estimator = createTokenEstimator();
    const { size, outputLength, usage } = exchange;
    for (const other of teachers(exchange)) {
      const { size = { textBytes: 0, mediaTokens: 0 }, outputLength } = other;
      estimator.learn(asked({ inputSize: size, outputLength }), other.usage);
    }
    if (size !== undefined) input.push(offBy(estimator.estimateInput(asked({ inputSize: size })), usage.input_tokens));
    if (outputLength > 0)
      output.push(offBy(estimator.estimateUsage(asked({ outputLength })).output_tokens, usage.output_tokens));
  }
  return { input, output };
}

/** What is short says most of the template around it, which backends count and which nobody sees. */
function withoutFewWords(exchange: Counted): Counted {
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
function readCountedExchanges(): Counted[] {
  const conversations = JSON.parse(readFileSync(join(import.meta.dirname, 'counted-exchanges.json'), 'utf8'));
  const found: Counted[] = [];
  for (const { name, instructions, tools, exchanges } of conversations) {
    const messages: unknown[] = [{ role: 'system', content: instructions }];
    for (const { user, input_tokens, assistant, output_tokens } of exchanges) {
      messages.push({ role: 'user', content: user });
      const chat = { model: 'm', messages, ...(tools && { tools }) };
      const size = inputSizeOf(chat);
      found.push({ source: name, size, outputLength: assistant.length, usage: usageOf(input_tokens, output_tokens) });
      messages.push({ role: 'assistant', content: assistant });
    }
  }
  return found;
}

/** The answers of real backends that say how many tokens they had. */
function readRecordedExchanges(): Counted[] {
  return loadRecordings().flatMap(({ provider, status, body, chat }) => {
    const { usage, text, refusal, reasoning, calls } = readRecordedAnswer(body);
    if (status !== 200 || usage === null || !(usage.output_tokens > 0)) return [];
    const written = [text, refusal, reasoning, ...calls.map((call) => call.arguments)].join('');
    const size = chat && inputSizeOf(chat);
    return [{ source: provider, size, outputLength: written.length, usage }];
  });
}

function usageOf(input: number, output: number, reasoning = 0): Usage {
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: reasoning },
    total_tokens: input + output,
  };
}
