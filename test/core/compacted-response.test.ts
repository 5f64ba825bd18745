/** A response which begins with a compaction, or is one. */

import { expect } from 'chai';
import { ApiError } from '../../src/core/errors.ts';
import type { Translator } from '../../src/core/reply/translator.ts';
import type { ResponseEvent, Usage } from '../../src/contract/types.ts';
import { chunkOf, openMachine, TEST_UNIQUE } from '../support/machine.ts';
import { expectWellFormed } from '../support/well-formed.ts';

const usage = (input: number, output: number): Usage => ({
  input_tokens: input,
  input_tokens_details: { cached_tokens: 1, cache_write_tokens: 2 },
  output_tokens: output,
  output_tokens_details: { reasoning_tokens: 2 },
  total_tokens: input + output,
});
const ITEM = {
  type: 'compaction',
  id: `cmp_${TEST_UNIQUE}0000`,
  status: 'completed',
  encrypted_content: 'sealed',
};
const usageChunk = {
  choices: [],
  usage: {
    prompt_tokens: 10,
    prompt_tokens_details: { cached_tokens: 1, cache_write_tokens: 2 },
    completion_tokens: 5,
    completion_tokens_details: { reasoning_tokens: 2 },
    total_tokens: 15,
  },
};

describe('a response with a compaction', () => {
  let machine: Translator;
  let events: ResponseEvent[];

  beforeEach(() => {
    machine = openMachine();
    events = [...machine.start()];
  });

  const tell = (more: readonly ResponseEvent[]) => events.push(...more);

  it('is nothing else where that was all that was asked for', () => {
    machine.addSpent({ reported: { usage: usage(100, 7), gaps: [], model: null }, outputLength: 30 });
    tell(machine.addCompaction('sealed', { isLast: true }));
    const { output, status } = expectWellFormed(events);
    expect({ output, status }).to.deep.equal({ output: [ITEM], status: 'completed' });
    expect(machine.response.usage).to.deep.equal(usage(100, 7));
    expect(machine.outputLength).to.equal(30);
    expect(machine.ended).to.equal(true);
  });

  it('begins with it, and has used what both requests have used', () => {
    machine.addSpent({ reported: { usage: usage(100, 7), gaps: [], model: null }, outputLength: 30 });
    tell(machine.addCompaction('sealed', { isLast: false }));
    expect(machine.ended).to.equal(false);
    for (const chunk of [chunkOf({ content: 'Hello' }, 'stop'), usageChunk]) tell(machine.feed([chunk]));
    tell(machine.end(true));
    const { output } = expectWellFormed(events);
    expect(output.map(({ type, id }) => ({ type, id }))).to.deep.equal([
      { type: 'compaction', id: ITEM.id },
      { type: 'message', id: `msg_${TEST_UNIQUE}0001` },
    ]);
    expect(machine.response.usage).to.deep.equal({
      input_tokens: 110,
      input_tokens_details: { cached_tokens: 2, cache_write_tokens: 4 },
      output_tokens: 12,
      output_tokens_details: { reasoning_tokens: 4 },
      total_tokens: 122,
    });
    expect(machine.outputLength).to.equal(35);
  });

  for (const { name, spent, answer } of [
    { name: 'the summary', spent: null, answer: [chunkOf({ content: 'Hello' }, 'stop'), usageChunk] },
    { name: 'the answer', spent: usage(100, 7), answer: [chunkOf({ content: 'Hello' }, 'stop')] },
  ]) {
    it(`does not say what was used when that is not known of ${name}`, () => {
      machine.addSpent({ reported: { usage: spent, gaps: [], model: null }, outputLength: 30 });
      tell(machine.addCompaction('sealed', { isLast: false }));
      for (const chunk of answer) tell(machine.feed([chunk]));
      tell(machine.end(true));
      expect(machine.reported.usage).to.equal(null);
      expect(expectWellFormed(events).usage).to.equal(null);
    });
  }

  it('keeps it, and what it used, when the answer never begins', () => {
    machine.addSpent({ reported: { usage: usage(100, 7), gaps: [], model: null }, outputLength: 30 });
    tell(machine.addCompaction('sealed', { isLast: false }));
    tell(machine.fail(new ApiError('rate_limit_exceeded')));
    const { output, status, usage: used } = expectWellFormed(events);
    expect({ output, status, used }).to.deep.equal({ output: [ITEM], status: 'failed', used: usage(100, 7) });
  });

  for (const code of ['request_cancelled', 'client_disconnected', 'gateway_interrupted'] as const) {
    it(`does not say what was used when ${code} stops an answer that has not begun`, () => {
      machine.addSpent({ reported: { usage: usage(100, 7), gaps: [], model: 'small' }, outputLength: 30 });
      tell(machine.addCompaction('sealed', { isLast: false }));
      tell(code === 'request_cancelled' ? machine.cancel() : machine.fail(new ApiError(code)));
      expect(machine.reported).to.deep.include({ usage: null, gaps: [], model: 'small' });
      expect(expectWellFormed(events).usage).to.equal(null);
    });
  }

  it('says what was used for a summary after which the caller left', () => {
    machine.addSpent({ reported: { usage: usage(100, 7), gaps: [], model: null }, outputLength: 30 });
    tell(machine.fail(new ApiError('client_disconnected')));
    expect(expectWellFormed(events).usage).to.deep.equal(usage(100, 7));
  });

  it('says what was used for a summary that failed', () => {
    machine.addSpent({ reported: { usage: usage(100, 7), gaps: [], model: null }, outputLength: 30 });
    tell(machine.fail(new ApiError('upstream_error')));
    expect(expectWellFormed(events).usage).to.deep.equal(usage(100, 7));
  });

  it('fails where it would be larger than anything may be', () => {
    tell(machine.addCompaction('x'.repeat(33 * 1024 * 1024), { isLast: true }));
    expect(machine.failure?.code).to.equal('upstream_invalid_response');
    expect(expectWellFormed(events).output).to.deep.equal([]);
  });
});
