import nock from 'nock';

/** nock's state is global to each process of mocha, so it is set here and nowhere else: no network but 127.0.0.1. */
export const mochaHooks = {
  beforeAll(): void {
    nock.disableNetConnect();
    nock.enableNetConnect('127.0.0.1');
  },
  afterEach(): void {
    nock.cleanAll();
  },
};
