/** What several gateways on one database promise together, whichever versions of the program they run. */
import { expect } from 'chai';
import type { RequestRecord } from '../../../src/contract/types.ts';
import { isObject } from '../../../src/core/json.ts';
import { readError, readTold } from '../../records/caller.ts';
import { answer, stream, text } from '../../records/chunks.ts';
import type { ProcessOptions } from '../../support/gateway-process.ts';
import { useRealSockets } from '../../support/real-sockets.ts';
import { untilRead } from '../../support/time.ts';
import { COST_MICRO, openCluster, type Gateways, type Key } from './open-cluster.ts';

interface PromisesOptions {
  /** Whether some have fields in their answers that others do not know. */
  readonly areOfTwoVersions?: boolean;
}

/** Describes them by their promises, with one process of each of these programs. */
export function describeCluster(
  name: string,
  serverUrl: string,
  programs: () => Promise<readonly ProcessOptions[]>,
  options: PromisesOptions = {},
) {
  const open = async (): Promise<Gateways> => {
    const check = options.areOfTwoVersions === true ? () => undefined : undefined;
    const cluster = await openCluster(serverUrl, await programs(), check);
    for (const { banner } of cluster.gateways) expect(banner).to.contain('Responses gateway at');
    return cluster;
  };
  describePromises(name, open, options);
}

/** Describes processes that serve one database, three or so, by their promises. */
export function describePromises(
  name: string,
  open: () => Promise<Gateways>,
  { areOfTwoVersions = false }: PromisesOptions = {},
) {
  describe(name, () => {
    useRealSockets();
    let cluster: Gateways;
    let key: Key;

    before(async () => {
      cluster = await open();
    });
    after(() => cluster.close());
    beforeEach(async () => {
      key = await cluster.issueKey('1.00');
    });

    it('call the backend once for a hundred equal requests at once, and show the other 99 the same record', async () => {
      const asked = cluster.backend.requests.length;
      const repeated = Promise.withResolvers<void>();
      cluster.backend.always(async (stage) => {
        await repeated.promise;
        await answer()(stage);
      });
      const records: RequestRecord[] = [];
      const ask = async (place: number): Promise<Response> => {
        const reply = await cluster
          .at(place, key.secret)
          .create(
            { model: 'm', input: 'the same for all', stream: true },
            { headers: { 'idempotency-key': 'the same for all' } },
          );
        if (reply.status === 409) records.push((await reply.json()) as RequestRecord);
        if (records.length === 99) repeated.resolve();
        return reply;
      };
      const replies = await Promise.all(Array.from({ length: 100 }, (_, place) => ask(place)));
      const answered = replies.filter(({ status }) => status === 200);
      expect(answered).to.have.lengthOf(1);
      expect(await readTold(answered[0] ?? Response.error())).to.deep.equal({ ends: 'completed' });
      expect(records).to.have.lengthOf(99);
      expectSame(records);
      expect(records[0]).to.include({ status: 'processing', request_id: answered[0]?.headers.get('x-request-id') });
      expect(cluster.backend.requests).to.have.lengthOf(asked + 1);
    });

    it('let exactly the 10 of 200 requests run which the credits cover', async () => {
      const holdMicro = await findHold();
      // One millionth more, and an eleventh could run.
      const creditsMicro = 11 * holdMicro - 1;
      const poor = await cluster.issueKey((creditsMicro / 1e6).toFixed(6));
      const asked = cluster.backend.requests.length;
      const decided = Promise.withResolvers<void>();
      cluster.backend.always(async (stage) => {
        await decided.promise;
        await answer()(stage);
      });
      let undecided = 190;
      const ask = async (place: number): Promise<number> => {
        const reply = await cluster.at(place, poor.secret).create(BODY);
        if (reply.status === 402 && --undecided === 0) decided.resolve();
        await reply.text();
        return reply.status;
      };
      const statuses = await Promise.all(Array.from({ length: 200 }, (_, place) => ask(place)));
      expect(statuses.filter((status) => status === 200)).to.have.lengthOf(10);
      expect(statuses.filter((status) => status === 402)).to.have.lengthOf(190);
      expect(cluster.backend.requests).to.have.lengthOf(asked + 10);
      await allOver(poor);
      expect(await cluster.books(poor.id)).to.deep.equal({
        balanceMicro: creditsMicro - 10 * COST_MICRO,
        lowestMicro: 0,
        spentMicro: 10 * COST_MICRO,
        requests: 10,
      });
    });

    for (const isStream of [false, true]) {
      it(`cancel ${isStream ? 'a stream' : 'a request for JSON'} that runs at one through another`, async () => {
        cluster.backend.always(stream([text('Hello')], 'hang'));
        const { told, requestId } = await start(0, isStream);
        const asked = await cluster.at(1, key.secret).cancel(requestId);
        expect(asked.status).to.equal(202);
        expect(await told).to.deep.equal(
          isStream ? { ends: 'cancelled', code: 'request_cancelled' } : { status: 409, code: 'request_cancelled' },
        );
        expect(await cluster.at(2, key.secret).final(requestId)).to.include({ status: 'cancelled' });
        await allOver(key);
        await cluster.books(key.id);
      });
    }

    it('show everybody the same records, keys and usage', async () => {
      cluster.backend.always(answer());
      const reply = await cluster.at(0, key.secret).create({ model: 'm', input: 'Hello' });
      await reply.text();
      const requestId = reply.headers.get('x-request-id') ?? '';
      const record = await cluster.at(0, key.secret).final(requestId);
      await untilRead(areTimesWritten);
      for (const path of [`/api/v1/requests/${requestId}`, '/api/v1/requests', '/api/v1/key', '/api/v1/usage']) {
        const shown: unknown[] = [];
        // One after the other: workers that share a port may all be the same one, where a key has two lists at once.
        for (const place of [0, 1, 2]) shown.push(await read(place, path));
        expectSame(shown, path);
      }
      expectSame([record, await cluster.at(1, key.secret).record(requestId)]);
      const stranger = await cluster.issueKey('1.00');
      const hidden = await cluster.at(1, stranger.secret).get(`/api/v1/requests/${requestId}`);
      expect([hidden.status, (await readError(hidden)).code]).to.deep.equal([404, 'request_not_found']);
    });

    /** A gateway writes what it has counted when it is asked for it, or some seconds later. Older ones count nothing. */
    async function areTimesWritten(): Promise<boolean> {
      const [counted, seen] = [await readTimes(0), await readTimes(1)];
      return counted === undefined || seen?.length !== 0;
    }

    async function readTimes(place: number): Promise<readonly unknown[] | undefined> {
      return ((await read(place, '/api/v1/usage')) as { readonly latencies?: readonly unknown[] }).latencies;
    }

    /** Of two versions only what both know is the same. */
    function expectSame(all: readonly unknown[], path = 'the record'): void {
      const known = areOfTwoVersions ? all.map((each) => commonOf(each, all)) : all;
      for (const each of known) expect(each, path).to.deep.equal(known[0]);
    }

    async function read(place: number, path: string, headers = {}): Promise<unknown> {
      const reply = await cluster.at(place, key.secret).get(path, headers);
      expect(reply.status, path).to.equal(200);
      return reply.json();
    }

    /** What is reserved for BODY. */
    async function findHold(): Promise<number> {
      cluster.backend.always(answer());
      await (await cluster.at(0, key.secret).create(BODY)).text();
      return cluster.findHold(key.id);
    }

    /** A request of the key which runs at this gateway, and what its client is told in the end. */
    async function start(place: number, isStream: boolean) {
      const asked = cluster.backend.requests.length;
      const headers = { 'idempotency-key': `stream: ${isStream}` };
      const reply = cluster.at(place, key.secret).create({ model: 'm', input: 'Hello', stream: isStream }, { headers });
      await cluster.backend.request(asked + 1);
      const record = (await read(1, '/api/v1/requests', headers)) as RequestRecord;
      return { told: reply.then(readTold), requestId: record.request_id };
    }

    /** Waits until no request of this key runs: its last record may be written after its last reply. */
    async function allOver({ secret }: Key): Promise<void> {
      await untilRead(async () => {
        const reply = await cluster.at(0, secret).get('/api/v1/requests?status=processing');
        return ((await reply.json()) as { data: unknown[] }).data.length === 0;
      });
    }
  });
}

/** This value without the fields that one of all does not have. */
function commonOf(value: unknown, all: readonly unknown[]): unknown {
  if (Array.isArray(value)) {
    return value.map((part: unknown, at) =>
      commonOf(
        part,
        all.map((each) => (Array.isArray(each) ? each[at] : undefined)),
      ),
    );
  }
  if (!isObject(value) || !all.every(isObject)) return value;
  const names = Object.keys(value).filter((name) => all.every((each) => name in each));
  return Object.fromEntries(
    names.map((name) => [
      name,
      commonOf(
        value[name],
        all.map((each) => each[name]),
      ),
    ]),
  );
}

const BODY = { model: 'm', input: 'Hello', max_output_tokens: 30 };
