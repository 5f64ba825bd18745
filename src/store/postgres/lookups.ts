import type { RequestId } from '../../contract/ids.ts';
import type { Operations } from '../queue/operations.ts';
import { toListedRows, toListQueries } from '../rows/list-query.ts';
import { RECORD_COLUMNS } from '../rows/record-columns.ts';
import type { RecordRow } from '../rows/records.ts';
import type { Remote } from './remote.ts';
import type { Connection, Statement } from './pool.ts';

/** That of the indexes of lists: quicker to compare, and the same on every server. */
const COLLATION = ' COLLATE "C"';

const FIND: Statement = {
  name: 'find_request',
  text: `SELECT ${RECORD_COLUMNS} FROM requests WHERE request_id = $1`,
};

const FIND_DUPLICATE: Statement = {
  name: 'find_duplicate',
  text: `SELECT ${RECORD_COLUMNS} FROM requests WHERE caller = $1 AND idempotency_key = $2 AND body = $3`,
};

const FIND_BY_KEY: Statement = {
  name: 'find_by_idempotency_key',
  text: `SELECT ${RECORD_COLUMNS} FROM requests WHERE seq = (
    SELECT max(seq) FROM requests WHERE caller = $1 AND idempotency_key = $2)`,
};

// Goes from one caller to the next by the index, whatever number of records they have.
const FIND_CALLERS: Statement = {
  name: 'find_callers',
  text: `
    WITH RECURSIVE found (caller) AS (
      SELECT min(caller${COLLATION}) FROM requests WHERE caller${COLLATION} >= $1
      UNION ALL
      SELECT (SELECT min(requests.caller${COLLATION}) FROM requests WHERE requests.caller${COLLATION} > found.caller)
      FROM found WHERE left(found.caller, length($1)) = $1)
    SELECT caller FROM found WHERE left(caller, length($1)) = $1 LIMIT $2`,
};

type Lookup = 'find' | 'findAny' | 'findDuplicate' | 'findByIdempotencyKey' | 'list' | 'findCallers';

export const LOOKUPS: Remote<Pick<Operations, Lookup>> = {
  async find(connection, callers, requestId) {
    const row = await findAny(connection, requestId);
    return row !== null && callers.includes(row.caller) ? row : null;
  },
  findAny,
  async findDuplicate(connection, candidates) {
    for (const { caller, idempotencyKey, body } of candidates) {
      const [row] = await connection.rows<RecordRow>(FIND_DUPLICATE, [caller, idempotencyKey, body]);
      if (row !== undefined) return row;
    }
    return null;
  },
  async findByIdempotencyKey(connection, candidates) {
    const found = await Promise.all(
      candidates.map(({ caller, idempotencyKey }) => connection.rows<RecordRow>(FIND_BY_KEY, [caller, idempotencyKey])),
    );
    return found.flat().sort((one, other) => other.seq - one.seq)[0] ?? null;
  },
  async list(connection, step) {
    const { rows, floor } = toListQueries(step, COLLATION);
    const found = await connection.rows<RecordRow>(rows, rows.values);
    const [last] =
      found.length < step.limit && floor !== null ? await connection.rows<RecordRow>(floor, floor.values) : [];
    return toListedRows(found, step.limit, last?.requestId ?? null);
  },
  async findCallers(connection, prefix, limit) {
    const rows = await connection.rows<Pick<RecordRow, 'caller'>>(FIND_CALLERS, [prefix, limit]);
    return rows.map(({ caller }) => caller);
  },
};

async function findAny(connection: Connection, requestId: RequestId): Promise<RecordRow | null> {
  const [row] = await connection.rows<RecordRow>(FIND, [requestId]);
  return row ?? null;
}
