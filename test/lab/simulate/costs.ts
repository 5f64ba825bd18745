/** What each kind of end may cost: the last column of "What ends how" (src/docs/guarantees.md). */

import type { RecordRow } from '../../../src/store/rows/records.ts';
import { USAGE } from './backend.ts';
import { SILENCE_MS, type Aftermath, type Life } from './world.ts';

/** As `PRICES` of the world has them. */
const INPUT_MICRO = 2;
const OUTPUT_MICRO = 10;

/** Returns a sentence for each mistake in what a record says of its usage and its price. */
export function findWrongCost(life: Life, record: RecordRow, aftermath: Aftermath): readonly string[] {
  const { key, inputTokens, outputTokens, usageEstimated, costMicro, heldMicro } = record;
  const wrong: string[] = [];
  const isReported = inputTokens === USAGE.prompt_tokens && outputTokens === USAGE.completion_tokens;
  if (inputTokens !== null && usageEstimated === 0 && !isReported)
    wrong.push(`its usage is ${inputTokens} and ${outputTokens}, which no backend has reported`);
  const priceMicro = (inputTokens ?? 0) * INPUT_MICRO + (outputTokens ?? 0) * OUTPUT_MICRO;
  if (costMicro !== null && (key === null || costMicro !== priceMicro))
    wrong.push(`it costs ${costMicro}, and its usage ${priceMicro}`);
  if ((costMicro ?? 0) > (heldMicro ?? 0)) wrong.push(`it costs ${costMicro}, and only ${heldMicro} was held`);
  const expected = chargeOf(life, record, aftermath);
  const charge = chargeIn(record);
  if (key !== null && expected !== undefined && charge !== expected)
    wrong.push(`it is charged ${charge}, not ${expected}`);
  return wrong;
}

type Charge = 'nothing' | 'what was reported' | 'an estimate';

function chargeIn({ costMicro, usageEstimated }: RecordRow): Charge {
  if (costMicro === null || costMicro === 0) return 'nothing';
  return usageEstimated === 1 ? 'an estimate' : 'what was reported';
}

/** Undefined where two of them are right. */
function chargeOf(life: Life, { status, errorCode }: RecordRow, aftermath: Aftermath): Charge | undefined {
  const { process, waitedMs } = life;
  const calls = aftermath.calls.filter((call) => call.life === life.number);
  const hasReported = calls.some((call) => call.hasReported);
  // The usage may come too late, or not at all.
  if (status === 'succeeded') return hasReported ? 'what was reported' : 'an estimate';
  const isCut = status === 'cancelled' || errorCode === 'gateway_interrupted';
  const hasBegun = calls.some((call) => call.hasBegun);
  // Who closes the record of another process knows only what was asked for.
  if (isCut && (process.hasDied || process.wasTakenForDead)) return undefined;
  // It stays only for somebody who was told of its cancel.
  if (calls.length === 0 || life.isRefused) return 'nothing';
  if (!isCut && !hasBegun) return 'nothing';
  if (!isCut && !life.client.text.includes('word 0')) return undefined;
  // It may have failed before its cancel was heard of.
  const mayHaveFailed =
    waitedMs >= SILENCE_MS || calls.some(({ ending, hasFailed }) => ending !== undefined && hasFailed);
  if (!hasBegun && mayHaveFailed) return undefined;
  return hasReported ? undefined : 'an estimate';
}
