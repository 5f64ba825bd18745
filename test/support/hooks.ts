import { join } from 'node:path';
import nock from 'nock';
import { keepCompiled } from '../../src/process/compile-cache.ts';
import './patient.ts';

// As at every start of a clone. Threads and further processes know of it too, and a test starts many of them.
keepCompiled(join(import.meta.dirname, '../../src'), process.env);

/** What Node takes for a leak of listeners, in the gateway as in a test. */
let leak: Error | undefined;
process.on('warning', (warning) => {
  if (warning.name === 'MaxListenersExceededWarning') leak = warning;
});

/** nock's state is global to each process of mocha, so it is set here and nowhere else: no network but 127.0.0.1. */
export const mochaHooks = {
  beforeAll(): void {
    nock.disableNetConnect();
    nock.enableNetConnect('127.0.0.1');
  },
  afterEach(): void {
    nock.cleanAll();
    const found = leak;
    leak = undefined;
    if (found !== undefined) throw found;
  },
};
