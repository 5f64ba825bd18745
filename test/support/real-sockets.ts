import nock from 'nock';

/**
 * For a `describe` whose tests need the truth about sockets. While nock is active, a client's request is held back until its
 * body has ended, and a close is not passed on, also towards the hosts that are allowed.
 */
export function useRealSockets(): void {
  before(() => nock.restore());
  after(() => nock.activate());
}
