import type { LookupAddress } from 'node:dns';
import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo, LookupFunction } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { expect } from 'chai';
import { openConnection, openPool } from '../../src/backend/connection.ts';
import { createLookup } from '../../src/backend/lookup.ts';
import { useRealSockets } from '../support/real-sockets.ts';

type Answer = (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void;

describe('createLookup', () => {
  let nowMs: number;
  /** The lookups that the name server has not answered, in their order. */
  let asked: { readonly hostname: string; readonly answer: Answer }[];
  let lookup: LookupFunction;

  beforeEach(() => {
    nowMs = 0;
    asked = [];
    lookup = createLookup({
      nowMs: () => nowMs,
      resolve: (hostname, _options, answer) => void asked.push({ hostname, answer }),
    });
  });

  /** Resolves with the addresses, or with the code of the error. */
  function find(hostname: string, all = true): Promise<unknown> {
    return new Promise((resolve) => {
      lookup(hostname, { all }, (error, address, family) =>
        resolve(error?.code ?? (all ? address : [address, family])),
      );
    });
  }

  function answerNext(found: LookupAddress[] | string): void {
    const next = asked.shift();
    if (typeof found === 'string') next?.answer(Object.assign(new Error(found), { code: found }), []);
    else next?.answer(null, found);
  }

  it('asks once for a name at a time, in either form, and again after five seconds', async () => {
    const both = [find('a.test'), find('a.test', false)];
    expect(asked.length).to.equal(1);
    answerNext(AT_1);
    expect(await Promise.all(both)).to.deep.equal([AT_1, ['10.0.0.1', 4]]);
    expect(await find('a.test')).to.deep.equal(AT_1);
    expect(asked.length).to.equal(0);
    nowMs += 5000;
    const again = find('a.test');
    answerNext(AT_2);
    expect(await again).to.deep.equal(AT_2);
  });

  it('asks for two names at a time, and then for the next', async () => {
    const found = ['a.test', 'b.test', 'c.test'].map((name) => find(name));
    expect(asked.map(({ hostname }) => hostname)).to.deep.equal(['a.test', 'b.test']);
    answerNext(AT_1);
    expect(asked.map(({ hostname }) => hostname)).to.deep.equal(['b.test', 'c.test']);
    answerNext(AT_2);
    answerNext(AT_1);
    expect(await Promise.all(found)).to.deep.equal([AT_1, AT_2, AT_1]);
  });

  for (const [what, answer] of [
    ['hangs', undefined],
    ['fails', 'EAI_AGAIN'],
  ] as const) {
    it(`uses the last good address while the name server ${what}`, async () => {
      const first = find('a.test');
      answerNext(AT_1);
      await first;
      nowMs += 60_000;
      const later = [find('a.test'), find('a.test')];
      expect(asked.length).to.equal(1);
      if (answer !== undefined) answerNext(answer);
      expect(await Promise.all(later)).to.deep.equal([AT_1, AT_1]);
    });
  }

  it('tells what the name server says of a name that it has never found, and of one that is gone', async () => {
    const first = find('a.test');
    answerNext('EAI_AGAIN');
    expect(await first).to.equal('EAI_AGAIN');
    const second = find('a.test');
    answerNext(AT_1);
    await second;
    nowMs += 5000;
    const third = find('a.test');
    answerNext('ENOTFOUND');
    expect(await third).to.equal('ENOTFOUND');
    void find('a.test');
    await turn();
    expect(asked.length).to.equal(1);
  });

  it('forgets an address that was good an hour ago', async () => {
    const first = find('a.test');
    answerNext(AT_1);
    await first;
    nowMs += 3_600_000;
    const later = find('a.test');
    answerNext('EAI_AGAIN');
    expect(await later).to.equal('EAI_AGAIN');
  });
});

describe('a backend whose name server hangs', () => {
  useRealSockets();

  it('is reached at its last good address', async () => {
    const server = createServer((_req, res) => res.setHeader('connection', 'close').end('{}'));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    let nowMs = 0;
    let times = 0;
    const lookup = createLookup({
      nowMs: () => nowMs,
      resolve(_hostname, _options, answer) {
        times += 1;
        if (times === 1) answer(null, [{ address: '127.0.0.1', family: 4 }]);
      },
    });
    const pool = openPool(`http://backend.test:${port}`, { connectTimeoutMs: 2000, lookup });
    const asking = {
      path: '/',
      headers: {},
      body: null,
      signal: new AbortController().signal,
      firstByteTimeoutMs: 5000,
    };
    for (let count = 0; count < 4; count += 1) {
      const connection = await openConnection(pool, asking);
      connection.release();
      expect(connection.status).to.equal(200);
      nowMs += 10_000;
    }
    expect(times).to.equal(2);
    await pool.destroy();
    server.close();
    await once(server, 'close');
  });
});

const AT_1 = [{ address: '10.0.0.1', family: 4 }];
const AT_2 = [{ address: '10.0.0.2', family: 4 }];
