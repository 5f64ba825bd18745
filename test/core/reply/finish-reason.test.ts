import { expect } from 'chai';
import { chunkFromCompletion } from '../../../src/core/reply/completion.ts';
import type { ChatChunk } from '../../../src/core/chat.ts';
import type { ResponseResource } from '../../../src/contract/types.ts';
import { chunkOf, openMachine, translate } from '../../support/machine.ts';
import { expectWellFormed } from '../../support/well-formed.ts';

const read = (...chunks: readonly ChatChunk[]): ResponseResource => expectWellFormed(translate({ chunks, done: true }));
const text = chunkOf({ content: 'The first half of' });
const thought = chunkOf({ reasoning: 'Hm.' });
const call = (given: string, name = 'pay') =>
  chunkOf({ tool_calls: [{ index: 0, id: 'a', function: { name, arguments: given } }] });

/** What came of the answer, in one word. */
function endOf({ status, incomplete_details, error }: ResponseResource): string {
  expect(error !== null).to.equal(status === 'failed');
  return incomplete_details?.reason ?? status;
}

describe('the finish reason', () => {
  const words = {
    completed:
      'stop STOP tool_calls function_call eos eos_token end_turn stop_sequence tool_use COMPLETE FinishReason.STOP',
    max_output_tokens:
      'length MAX_TOKENS model_length max_output_tokens model_context_window_exceeded max-tokens maxTokens ' +
      'FINISH_REASON_MAX_TOKENS REASON_MAX_LEN length_limit',
    content_filter:
      'content_filter sensitive SAFETY RECITATION BLOCKLIST PROHIBITED_CONTENT SPII guardrail_intervened refusal ' +
      'content_filtered IMAGE_SAFETY ERROR_TOXIC content_filter:violence',
    failed:
      'error abort insufficient_system_resource network_error timeout cancelled MALFORMED_FUNCTION_CALL ' +
      'malformed_tool_use unexpected_tool_call UNEXPECTED_TOOL_CALL repetition user_cancel inference-error ' +
      'function_call_filter:MALFORMED_FUNCTION_CALL stop:error',
  };
  for (const [expected, reasons] of Object.entries(words)) {
    for (const reason of reasons.split(' ')) {
      it(`${reason} is ${expected}`, () => {
        expect(endOf(read(text, chunkOf({}, reason)))).to.equal(expected);
        const choice = { index: 0, message: { content: 'The first half of' }, finish_reason: reason };
        expect(endOf(read(chunkFromCompletion({ choices: [choice] })))).to.equal(expected);
      });
    }
  }

  const unknown: readonly (readonly [name: string, chunks: readonly ChatChunk[], expected: string])[] = [
    ['after text', [text], 'completed'],
    ['after a refusal', [chunkOf({ refusal: 'No.' })], 'completed'],
    ['after a whole call', [call('{"city":"Paris"}')], 'completed'],
    ['after a call without arguments', [call('{}')], 'completed'],
    ['after an input that is cut within', [text, call('{"city":"Pa')], 'failed'],
    ['after a call of which only the name came', [call('')], 'failed'],
    ['after thoughts alone', [thought], 'failed'],
    ['after empty lines alone', [thought, chunkOf({ content: '\n\n' })], 'failed'],
    ['after nothing', [], 'failed'],
  ];
  for (const [name, chunks, expected] of unknown) {
    it(`that nobody knows, ${name}, is ${expected}`, () => {
      expect(endOf(read(...chunks, chunkOf({}, 'OTHER')))).to.equal(expected);
    });
  }

  it('that nobody knows is told to the log', () => {
    const machine = openMachine();
    machine.feed([text, chunkOf({}, 'length')]);
    expect(machine.unknownReason).to.equal(undefined);
    machine.feed([chunkOf({}, 'OTHER')]);
    expect(machine.unknownReason).to.equal('other');
  });

  for (const [first, second, expected] of [
    ['length', 'stop', 'max_output_tokens'],
    ['stop', 'length', 'max_output_tokens'],
    ['network_error', 'stop', 'failed'],
    ['content_filter', 'length', 'content_filter'],
    ['null', 'stop', 'completed'],
  ] as const) {
    it(`${first} and then ${second} is ${expected}`, () => {
      expect(endOf(read(text, chunkOf({}, first), chunkOf({}, second)))).to.equal(expected);
    });
  }
});
