/** The last credits of a group, for which many keys race at three gateways on one PostgreSQL. */
import { expect } from 'chai';
import type { AdminGroup, IssuedKey, Ledger } from '../../../src/contract/operator-types.ts';
import { checkDatabase } from '../../../src/store/maintenance.ts';
import { parseKeyId } from '../../../src/core/ids.ts';
import { answer } from '../../records/chunks.ts';
import { findPostgres } from '../../support/postgres.ts';
import { useRealSockets } from '../../support/real-sockets.ts';
import { until } from '../../support/time.ts';
import { ADMIN_TOKEN, administrate, COST_MICRO, CURRENT, openCluster, type Cluster } from './open-cluster.ts';

const server = await findPostgres();
const BODY = { model: 'm', input: 'Hello', max_output_tokens: 30 };
const KEYS = 7;

if (server !== undefined) {
  describe('the group of keys at three gateways on one PostgreSQL', () => {
    useRealSockets();
    let cluster: Cluster;

    before(async () => {
      cluster = await openCluster(server, [CURRENT, CURRENT, CURRENT]);
    });
    after(() => cluster.close());

    const urlOf = (place: number) => `${cluster.gateways[place]?.url}/admin/v1`;

    async function make<Made>(path: string, body: object): Promise<Made> {
      const reply = await administrate(`${urlOf(0)}/${path}`, body);
      expect(reply.status).to.be.oneOf([200, 201]);
      return (await reply.json()) as Made;
    }

    async function show<Shown>(path: string): Promise<Shown> {
      const reply = await fetch(`${urlOf(1)}/${path}`, { headers: { authorization: `Bearer ${ADMIN_TOKEN}` } });
      return (await reply.json()) as Shown;
    }

    it('lets exactly the 10 of 200 requests run which its credits cover, whichever key and gateway they have', async () => {
      await make<AdminGroup>('groups', { name: 'team' });
      const keys: IssuedKey[] = [];
      for (let at = 0; at < KEYS; at += 1) {
        keys.push(await make<IssuedKey>('keys', { name: `member ${at}`, group: 'team', credits: '1' }));
      }
      const secretOf = (place: number) => keys[place % KEYS]?.secret ?? '';
      cluster.backend.always(answer());
      expect((await cluster.at(0, secretOf(0)).create(BODY)).status).to.equal(200);
      const holdMicro = await cluster.findHold(parseKeyId(keys[0]?.id ?? '') ?? expect.fail('the key has no id'));
      // One millionth more, and an eleventh could run.
      const creditsMicro = 11 * holdMicro - 1;
      await make<AdminGroup>('groups/team/credits', { amount: (creditsMicro / 1e6).toFixed(6) });
      const asked = cluster.backend.requests.length;
      const decided = Promise.withResolvers<void>();
      cluster.backend.always(async (stage) => {
        await decided.promise;
        await answer()(stage);
      });
      let undecided = 190;
      const ask = async (place: number): Promise<string> => {
        const reply = await cluster.at(place, secretOf(place)).create(BODY);
        if (reply.status === 402 && --undecided === 0) decided.resolve();
        const text = await reply.text();
        return `${reply.status}${text.includes('the group of the API key has') ? ' of the group' : ''}`;
      };
      const answers = await Promise.all(Array.from({ length: 200 }, (_, place) => ask(place)));
      expect(answers.filter((text) => text === '200')).to.have.lengthOf(10);
      expect(answers.filter((text) => text === '402 of the group')).to.have.lengthOf(190);
      expect(cluster.backend.requests).to.have.lengthOf(asked + 10);
      await until(async () => (await show<AdminGroup>('groups/team')).held === '0.00');
      const leftMicro = creditsMicro - 10 * COST_MICRO;
      const { balance } = await show<AdminGroup>('groups/team');
      expect(Math.round(Number(balance) * 1e6)).to.equal(leftMicro);
      const { data } = await show<Ledger>('groups/team/ledger?limit=100');
      expect(data).to.have.lengthOf(1 + 3 * 10);
      expect(data.reduce((sum, { amount }) => sum + Math.round(Number(amount) * 1e6), 0)).to.equal(leftMicro);
      const { keys: checked, problems } = await checkDatabase({ kind: 'postgres', url: cluster.database.url });
      expect({ checked, problems }).to.deep.equal({ checked: KEYS, problems: [] });
    });
  });
}
