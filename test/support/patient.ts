/** For tests that are not about time: on a busy machine a call of the store can take longer than a client should wait. */
export const PATIENT = { answerWithinMs: 60_000 };
