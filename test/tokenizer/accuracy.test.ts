import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import type { ChatRequest } from '../../src/core/chat.ts';
import { countedInputOf } from '../../src/core/tokens/counted-input.ts';
import { createTokenEstimator } from '../../src/core/tokens/estimate.ts';
import { inputSizeOf } from '../../src/core/tokens/input-size.ts';
import { createTokenizer, type Tokenizer } from '../../src/tokenizer/tokenizer.ts';
import { vocabularyOf } from '../../src/tokenizer/vocabulary.ts';
import { loadRecordings, readRecordedAnswer } from '../support/recordings.ts';

type Counted = Pick<ChatRequest, 'model' | 'messages' | 'tools' | 'response_format'>;

interface Exchange {
  readonly name: string;
  readonly chat: Counted;
  /** What the backend has counted. */
  readonly tokens: number;
}

/** How far the count is from what was reported, and beside it the arithmetic that has learnt nothing yet. */
describe('a count of input tokens', () => {
  let tokenizer: Tokenizer;

  before(() => {
    tokenizer = createTokenizer({ timeLimitMs: 50_000, onDeath: () => undefined });
  });
  after(() => tokenizer.close());

  async function ratioOf({ chat, tokens }: Exchange): Promise<number> {
    const { texts, otherTokens } = countedInputOf(chat);
    const vocabulary = vocabularyOf(chat.model);
    const counted = await tokenizer.count(texts, { vocabulary, signal: new AbortController().signal });
    return ((counted ?? NaN) + otherTokens) / tokens;
  }

  async function measure(what: string, exchanges: readonly Exchange[]): Promise<readonly number[]> {
    const ratios: number[] = [];
    for (const exchange of exchanges) ratios.push(await ratioOf(exchange));
    console.log(`\n  ${what}: ${spread(ratios)}\n    by arithmetic: ${spread(exchanges.map(arithmeticRatioOf))}`);
    return ratios;
  }

  it('is within a twentieth of what a tokenizer has counted at once', async () => {
    const ratios = await measure('counted exchanges', readCountedExchanges());
    expect(ratios).to.have.length(11);
    for (const ratio of ratios) expect(ratio).to.be.within(0.95, 1.05);
  });

  const recorded = readRecordedExchanges();
  if (recorded.length > 0) {
    it("is within a tenth of what OpenAI's own models have reported of texts", async () => {
      const ofOpenAi = recorded.filter(
        ({ name, chat }) => /^(?:openai|azure)-/.test(name) && /gpt-[45]/.test(chat.model),
      );
      const ratios = await measure("recordings of OpenAI's models, of texts", ofOpenAi.filter(isText));
      expect(ratios).to.have.length.greaterThan(1);
      for (const ratio of ratios) expect(ratio).to.be.within(0.9, 1.1);
    });

    it('is within a factor of 2.5 of what half of all backends have reported, templates and tools included', async () => {
      const ratios = await measure('recordings of all backends', recorded);
      const off = ratios.map((ratio) => Math.max(ratio, 1 / ratio)).toSorted((one, other) => one - other);
      expect(off[Math.floor(off.length / 2)]).to.be.at.most(2.5);
    });
  }
});

function spread(ratios: readonly number[]): string {
  const sorted = ratios.toSorted((one, other) => one - other);
  const at = (share: number) => sorted[Math.floor(share * (sorted.length - 1))]?.toFixed(2);
  return `${at(0)} to ${at(1)} of what was reported, half from ${at(0.25)} to ${at(0.75)}, median ${at(0.5)} (${ratios.length})`;
}

function arithmeticRatioOf({ chat, tokens }: Exchange): number {
  const asked = { model: 'm', caller: 'key', inputSize: inputSizeOf(chat) };
  return createTokenEstimator().estimateInput(asked) / tokens;
}

function isText({ chat }: Exchange): boolean {
  return chat.tools === undefined && countedInputOf(chat).otherTokens < 100 && chat.response_format === undefined;
}

/** Conversations of our own with the tokens that o200k_base has for them, see test/core/tokens/estimate.test.ts. */
function readCountedExchanges(): Exchange[] {
  const conversations = JSON.parse(
    readFileSync(join(import.meta.dirname, '../core/tokens/counted-exchanges.json'), 'utf8'),
  );
  const found: Exchange[] = [];
  for (const { name, instructions, tools: named, exchanges } of conversations) {
    const tools = named?.map(({ type, ...called }: { type: string }) => ({ type, function: called }));
    const messages: ChatRequest['messages'][number][] = [{ role: 'system', content: instructions }];
    for (const { user, input_tokens: tokens, assistant } of exchanges) {
      messages.push({ role: 'user', content: user });
      found.push({ name, chat: { model: 'gpt-4o', messages: [...messages], ...(tools && { tools }) }, tokens });
      messages.push({ role: 'assistant', content: assistant });
    }
  }
  return found;
}

function readRecordedExchanges(): Exchange[] {
  return loadRecordings().flatMap(({ name, status, body, chat }) => {
    const { usage } = readRecordedAnswer(body);
    if (status !== 200 || chat === undefined || usage === null || !(usage.input_tokens > 0)) return [];
    const { model, messages, tools, response_format: format } = chat as unknown as Counted;
    // A tool that is no function is none that the gateway would send.
    if (tools?.some((tool) => tool.function === undefined)) return [];
    const complete = messages.map((message) => ({ ...message, content: message.content ?? null }));
    const counted = {
      model,
      messages: complete as Counted['messages'],
      ...(tools && { tools }),
      ...(format && { response_format: format }),
    };
    return [{ name, chat: counted, tokens: usage.input_tokens }];
  });
}
