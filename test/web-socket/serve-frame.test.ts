import { expect } from 'chai';
import { ApiError } from '../../src/core/errors.ts';
import { createRunningRequests } from '../../src/requests/running.ts';
import { cancelRequest } from '../../src/web-socket/serve-frame.ts';
import { newDraft, newOutcome } from '../support/records.ts';
import { makeWorkshop, type Workshop } from '../support/sqlite.ts';

describe('a cancel over a WebSocket', () => {
  let workshop: Workshop;

  beforeEach(() => {
    workshop = makeWorkshop();
  });

  afterEach(() => workshop.clear());

  for (const [of, steps, expected] of [
    ['whose record is not written yet', [], 'request_cancelled'],
    ['whose record is written', ['accept'], 'request_cancelled'],
    ['whose record has ended', ['accept', 'finish'], undefined],
  ] as const) {
    it(`of a request ${of} ${expected === undefined ? 'is too late' : 'ends it'}`, async () => {
      const store = await workshop.open({ file: undefined });
      const draft = newDraft();
      for (const step of steps)
        await (step === 'accept' ? store.accept(draft) : store.finish(draft.requestId, newOutcome()));
      const running = createRunningRequests();
      const { signal } = running.begin(draft.requestId);
      const caller = { identity: draft.caller, backendHeaders: {}, holder: () => ({ name: 'me', isStranger: false }) };
      const options = { authenticator: () => ({ caller }), store, running };
      await cancelRequest(draft.requestId, { headers: {}, rawHeaders: [] }, options);
      expect(signal.reason instanceof ApiError ? signal.reason.code : undefined).to.equal(expected);
    });
  }
});
