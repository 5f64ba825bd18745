import type { Connections } from './pool.ts';

const TIMES = 3;

/**
 * Throws the answer of the server where a pooler stands before it that gives each transaction another session and does not
 * bring the prepared statements along. One connection finds its own statement gone then, or another one finds the name taken.
 */
export async function refuseForgetfulPooler(one: Connections, other: Connections): Promise<void> {
  for (let time = 1; time <= TIMES; time += 1) {
    const statement = { name: `kept_${time}`, text: 'SELECT 1' };
    // Poolers give out the session that was used last, or each in turn; other traffic may change that.
    for (const connections of [one, one, other]) await connections.lookUp((connection) => connection.rows(statement));
  }
}
