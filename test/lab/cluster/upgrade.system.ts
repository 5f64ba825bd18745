/**
 * Upgrades without a break, with real processes: this program is the older one, and the newer ones are made of it by
 * appending to its migrations.
 */
import { expect } from 'chai';
import { migrate } from '../../../src/store/postgres/migrate.ts';
import { MIGRATIONS } from '../../../src/store/postgres/migrations.ts';
import { describeStore } from '../../store/conformance.ts';
import { startGatewayProcess, type GatewayProcess } from '../../support/gateway-process.ts';
import { makeEarlierVersion, makeLaterVersion, type Version } from '../../support/other-version.ts';
import { createTestDatabase, findPostgres, type TestDatabase } from '../../support/postgres.ts';
import { useRealSockets } from '../../support/real-sockets.ts';
import { makeWorkshop } from '../../support/sqlite.ts';
import { CURRENT, openCluster, type Cluster } from './open-cluster.ts';
import { describeCluster } from './promises.ts';
import { expectNoBreak } from './rolling.ts';

const server = await findPostgres();
/** A released version to try as well, such as `OLDER_REVISION=v0.1.0`. */
const released = process.env['OLDER_REVISION'];
const newest = MIGRATIONS.at(-1)?.name ?? '';

/** Adds to every table that both versions write. */
const EXPAND = {
  name: '9998_expand',
  runsBeside: newest,
  sql: ['requests', 'keys', 'ledger', 'usage']
    .map((table) => `ALTER TABLE ${table} ADD COLUMN region TEXT NOT NULL DEFAULT 'home';`)
    .join('\n'),
};
/** Takes away what nobody since the expansion needs. */
const CONTRACT = {
  name: '9999_contract',
  runsBeside: EXPAND.name,
  sql: 'DROP INDEX usage_by_caller;',
};

describe('an upgrade', () => {
  let expanded: Version;
  let contracted: Version;
  before(() => {
    expanded = makeLaterVersion([EXPAND]);
    contracted = makeLaterVersion([EXPAND, CONTRACT]);
  });
  after(() => {
    expanded.remove();
    contracted.remove();
  });

  if (server !== undefined) {
    describe('of one gateway after the other', () => {
      useRealSockets();
      let cluster: Cluster;
      beforeEach(async () => {
        cluster = await openCluster(server, [CURRENT, CURRENT]);
      });
      afterEach(() => cluster.close());

      it('leaves no request without its answer, and asks the backend for none twice', () =>
        expectNoBreak(cluster, expanded));
    });

    describe('to a version that only adds', () => {
      let database: TestDatabase;
      before(async () => {
        database = await createTestDatabase(server);
        await migrate(database.url, { migrations: [...MIGRATIONS, EXPAND] });
      });
      after(() => database.drop());
      describeStore('of the older version on its database', {
        makeDatabase: () => database.url,
        isShared: true,
        empty: () => database.empty(),
        passTime: () => database.age(),
      });
    });

    describeCluster('to a version that only adds: an older, a newer and an older gateway', server, () =>
      Promise.resolve([CURRENT, expanded, CURRENT]),
    );
    if (released !== undefined) {
      let earlier: Version | undefined;
      after(() => earlier?.remove());
      const programs = () => {
        earlier = makeEarlierVersion(released);
        return Promise.resolve([earlier, CURRENT, earlier]);
      };
      const title = `from ${released} to this version, with gateways of both`;
      describeCluster(title, server, programs, { areOfTwoVersions: true });
    }
  }

  const engines: readonly { name: string; make: () => Promise<{ url: string; drop: () => Promise<void> }> }[] = [
    {
      name: 'SQLite',
      make: async () => {
        const shop = makeWorkshop();
        return { url: `file:${shop.file}`, drop: () => shop.clear() };
      },
    },
    ...(server === undefined ? [] : [{ name: 'PostgreSQL', make: () => createTestDatabase(server) }]),
  ];
  for (const { name, make } of engines) {
    describe(`with ${name}`, () => {
      let database: Awaited<ReturnType<typeof make>>;
      let gateways: GatewayProcess[];
      beforeEach(async () => {
        gateways = [];
        database = await make();
      });
      afterEach(async () => {
        // At a stop they keep what they have compiled, for the next start of their version.
        await Promise.all(gateways.map((gateway) => gateway.stop()));
        await database.drop();
      });

      async function start(version: { readonly main?: string }): Promise<GatewayProcess> {
        const settings = { DATABASE_URL: database.url, GATEWAY_SECRET: 'the same secret for all versions' };
        const gateway = await startGatewayProcess(settings, version);
        gateways.push(gateway);
        return gateway;
      }

      it('refuses only the versions that are older than the newest step allows, with one line', async () => {
        expect(await start(contracted))
          .to.have.property('url')
          .that.is.a('string');
        const [previous, older] = await Promise.all([start(expanded), start(CURRENT)]);
        expect(previous.url, 'the version before').to.be.a('string');
        expect(older.url, 'the version before that').to.equal(undefined);
        const { stderr, exitCode } = await older.ended();
        expect(stderr).to.match(
          /^The database \S+ was written by a newer version of this program \(it has "9999_contract"\)[^\n]*\n$/,
        );
        expect(exitCode).to.equal(1);
      });
    });
  }
});
