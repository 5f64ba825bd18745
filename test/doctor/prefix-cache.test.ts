import { expect } from 'chai';
import { meaningAt } from '../../src/doctor/clients.ts';
import { askForPrefixCache } from '../../src/doctor/prefix-cache.ts';
import type { Script } from '../support/backend.ts';
import { useQuestion } from '../support/doctor-question.ts';

describe('the question for a prefix cache', () => {
  const asking = useQuestion();
  let atMs = 0;

  /** Takes so long for each answer, and reports so many cached tokens. */
  function answer(...answers: readonly { readonly ms: number; readonly cached?: number }[]): void {
    asking.backend.reply(
      ...answers.map(({ ms, cached }): Script => ({ start, end }) => {
        atMs += ms;
        const details = cached === undefined ? {} : { prompt_tokens_details: { cached_tokens: cached } };
        const choice = { index: 0, message: { role: 'assistant', content: 'OK' }, finish_reason: 'stop' };
        const usage = { prompt_tokens: 2000, completion_tokens: 1, total_tokens: 2001, ...details };
        start(200, { 'content-type': 'application/json' });
        end(JSON.stringify({ choices: [choice], usage }));
      }),
    );
  }

  const ask = () => askForPrefixCache(asking.question, () => atMs);

  for (const { what, answers, result, reason } of [
    {
      what: 'cached tokens',
      answers: [
        { ms: 900, cached: 0 },
        { ms: 900, cached: 1984 },
      ],
      result: 'yes',
      reason: '1984 of 2000 input tokens came from it the second time',
    },
    {
      what: 'a second answer that is quicker, where none are reported',
      answers: [{ ms: 900 }, { ms: 200 }],
      result: 'yes',
      reason: 'the same prompt took 0.90 s, then 0.20 s; no cached tokens are reported',
    },
    {
      what: 'a second answer that takes as long again',
      answers: [
        { ms: 900, cached: 0 },
        { ms: 800, cached: 0 },
      ],
      result: 'no',
      reason: 'no cached tokens are reported, and the same prompt took 0.90 s, then 0.80 s',
    },
    {
      what: 'two answers that are too quick to tell',
      answers: [{ ms: 90 }, { ms: 20 }],
      result: 'unclear',
      reason: 'no cached tokens are reported, and 0.09 s, then 0.02 s are too quick to tell',
    },
  ] as const) {
    it(`is answered by ${what}`, async () => {
      answer(...answers);
      expect(await ask()).to.deep.equal({ result, reason });
      const [first, second] = asking.backend.requests.map(({ text }) => text);
      expect(first).to.equal(second);
    });
  }

  it('stays open where the backend refuses the prompt', async () => {
    asking.backend.reply({ json: { error: { message: 'too long' } }, status: 400 });
    expect((await ask()).result).to.equal('unclear');
  });

  it('has a setting for each server that has one', () => {
    expect(meaningAt('prefix cache', 'vllm')).to.contain('--enable-prompt-tokens-details');
    expect(meaningAt('prefix cache', 'sglang')).to.contain('--enable-cache-report');
    expect(meaningAt('prefix cache', 'llamacpp')).to.contain('--no-cache-prompt');
    expect(meaningAt('prefix cache', 'generic')).not.to.contain('--');
  });
});
