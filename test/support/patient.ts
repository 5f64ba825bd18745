/**
 * Makes the stores of this process wait long for an answer, unless their limits say otherwise: on a busy machine, a call of the
 * store can take longer than a client should wait. The hooks of mocha load it, and so does each gateway that a test starts.
 */

import { DEFAULT_LIMITS } from '../../src/store/queue/batch-queue.ts';

export const PATIENT = { answerWithinMs: 60_000, keptWithinMs: 60_000 };

/** The end of a reply waits as long for its record. */
export const PATIENT_SETTINGS = { SETTLE_TIMEOUT_MS: String(PATIENT.keptWithinMs) };

const { answerWithinMs, keptWithinMs } = DEFAULT_LIMITS;
Object.assign(DEFAULT_LIMITS, PATIENT);

/** For a `describe` about databases that do not answer: its stores give up as early as those of a gateway in use. */
export function useImpatientStores(): void {
  before(() => void Object.assign(DEFAULT_LIMITS, { answerWithinMs, keptWithinMs }));
  after(() => void Object.assign(DEFAULT_LIMITS, PATIENT));
}
