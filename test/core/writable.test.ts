import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';

const SOURCES = join(import.meta.dirname, '../../src');
/** What they make lives as long as its process, its backend or its thread, and there are few. */
const MADE_ONCE = [
  'access/shares.ts',
  'alerts/accounts.ts',
  'alerts/alerts.ts',
  'backend/backends.ts',
  'backend/choice/queue.ts',
  'backend/choice/rest.ts',
  'backend/choice/slots.ts',
  'backend/current-key.ts',
  'backend/replicas.ts',
  'config/current-files.ts',
  'gateway.ts',
  'process/workers/primary.ts',
  'process/workers/supervisor.ts',
  'requests/running.ts',
  'rpc/rpc.ts',
  'store/postgres/owners.ts',
  'web-socket/sockets.ts',
];

describe('getters, each of which keeps what it refers to in memory', () => {
  it('are in no file that makes something for each request', () => {
    const files = globSync('**/*.ts', { cwd: SOURCES }).filter((file) => !file.startsWith('cli'));
    const withGetters = files.filter((file) => /^ +get \w+\(\)/m.test(readFileSync(join(SOURCES, file), 'utf8')));
    expect(withGetters.toSorted()).to.deep.equal(MADE_ONCE);
  });
});
