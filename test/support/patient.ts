/**
 * Makes the gateways of this process wait long for a store and for a count of tokens, unless a test says otherwise: on a busy
 * machine, either can take longer than a client should wait. The hooks of mocha load it, and so does each gateway that a test
 * starts.
 */

import { CONSTANTS } from '../../src/config/constants.ts';
import { DEFAULT_LIMITS } from '../../src/store/queue/batch-queue.ts';

export const PATIENT = { answerWithinMs: 60_000, keptWithinMs: 60_000 };

const { answerWithinMs, keptWithinMs } = DEFAULT_LIMITS;
Object.assign(DEFAULT_LIMITS, PATIENT);
// The end of a reply waits as long for its record as the store does.
Object.assign(CONSTANTS, { settleTimeoutMs: PATIENT.keptWithinMs, tokenCountTimeoutMs: 50_000 });

/** For a `describe` about databases that do not answer: its stores give up as early as those of a gateway in use. */
export function useImpatientStores(): void {
  before(() => void Object.assign(DEFAULT_LIMITS, { answerWithinMs, keptWithinMs }));
  after(() => void Object.assign(DEFAULT_LIMITS, PATIENT));
}
