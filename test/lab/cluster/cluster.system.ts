import { findPostgres } from '../../support/postgres.ts';
import { CURRENT } from './open-cluster.ts';
import { describeCluster } from './promises.ts';

const server = await findPostgres();

if (server !== undefined) {
  describeCluster('three gateways on one PostgreSQL', server, () => Promise.resolve([CURRENT, CURRENT, CURRENT]));
}
