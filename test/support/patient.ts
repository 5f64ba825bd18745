import type { LaneLimits } from '../../src/store/engine/lane.ts';

/** For tests that are not about time: on a busy machine a call of the store can take longer than a client should wait. */
export const PATIENT: Partial<LaneLimits> = { answerWithinMs: 30_000 };
