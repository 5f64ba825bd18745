import type { RequestId } from '../../contract/ids.ts';
import type { Operations } from '../shared/operations.ts';
import { LIST_WINDOW, RECORD_COLUMNS, type RecordRow } from '../shared/rows.ts';
import type { Remote } from './remote.ts';
import type { Connection, Statement } from './pool.ts';

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

const FIND_PLACE: Statement = {
  name: 'find_place',
  text: 'SELECT seq FROM requests WHERE request_id = $1 AND caller = ANY($2::text[])',
};

const FIND_PLACE_OF_ANY: Statement = {
  name: 'find_place_of_any',
  text: 'SELECT seq FROM requests WHERE request_id = $1',
};

const FIND_FLOOR: Statement = {
  name: 'find_floor',
  text: `SELECT seq FROM requests WHERE caller = $1 AND seq < $2 ORDER BY seq DESC LIMIT 1 OFFSET ${LIST_WINDOW - 1}`,
};

const LIST: Statement = {
  name: 'list_requests',
  text: `SELECT ${RECORD_COLUMNS} FROM requests
    WHERE caller = $1 AND seq < $2 AND seq >= $3 AND status = coalesce($4, status) AND model = coalesce($5, model)
    ORDER BY seq DESC LIMIT $6`,
};

// The planner uses the index on owners once the table has been analyzed.
const LIST_UNFINISHED: Statement = {
  name: 'list_unfinished_requests',
  text: `SELECT ${RECORD_COLUMNS} FROM requests
    WHERE owner IS NOT NULL AND caller = $1 AND seq < $2 AND model = coalesce($3, model)
    ORDER BY seq DESC LIMIT $4`,
};

const FIND_FLOOR_OF_ALL: Statement = {
  name: 'find_floor_of_all',
  text: `SELECT seq FROM requests WHERE seq < $1 ORDER BY seq DESC LIMIT 1 OFFSET ${LIST_WINDOW - 1}`,
};

const LIST_ALL: Statement = {
  name: 'list_all_requests',
  text: `SELECT ${RECORD_COLUMNS} FROM requests
    WHERE seq < $1 AND seq >= $2 AND left(caller, length($3)) = $3
      AND status = coalesce($4, status) AND model = coalesce($5, model)
    ORDER BY seq DESC LIMIT $6`,
};

const LIST_ALL_UNFINISHED: Statement = {
  name: 'list_all_unfinished_requests',
  text: `SELECT ${RECORD_COLUMNS} FROM requests
    WHERE owner IS NOT NULL AND seq < $1 AND left(caller, length($2)) = $2 AND model = coalesce($3, model)
    ORDER BY seq DESC LIMIT $4`,
};

type Lookup =
  | 'find'
  | 'findAny'
  | 'findDuplicate'
  | 'findByIdempotencyKey'
  | 'findPlace'
  | 'findPlaceOfAny'
  | 'list'
  | 'listAll';

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
  findPlace: (connection, callers, requestId) => findSeq(connection, FIND_PLACE, [requestId, callers]),
  findPlaceOfAny: (connection, requestId) => findSeq(connection, FIND_PLACE_OF_ANY, [requestId]),
  async list(connection, { caller, beforeSeq, status, model, limit }) {
    if (status === 'processing') {
      const rows = await connection.rows<RecordRow>(LIST_UNFINISHED, [caller, beforeSeq, model, limit]);
      return { rows, nextBeforeSeq: null };
    }
    const floor = await findSeq(connection, FIND_FLOOR, [caller, beforeSeq]);
    const rows = await connection.rows<RecordRow>(LIST, [caller, beforeSeq, floor ?? 0, status, model, limit]);
    return { rows, nextBeforeSeq: floor };
  },
  async listAll(connection, { callerPrefix, beforeSeq, status, model, limit }) {
    if (status === 'processing') {
      const rows = await connection.rows<RecordRow>(LIST_ALL_UNFINISHED, [beforeSeq, callerPrefix, model, limit]);
      return { rows, nextBeforeSeq: null };
    }
    const floor = await findSeq(connection, FIND_FLOOR_OF_ALL, [beforeSeq]);
    const values = [beforeSeq, floor ?? 0, callerPrefix, status, model, limit];
    return { rows: await connection.rows<RecordRow>(LIST_ALL, values), nextBeforeSeq: floor };
  },
};

async function findAny(connection: Connection, requestId: RequestId): Promise<RecordRow | null> {
  const [row] = await connection.rows<RecordRow>(FIND, [requestId]);
  return row ?? null;
}

async function findSeq(
  connection: Connection,
  statement: Statement,
  values: readonly unknown[],
): Promise<number | null> {
  const [row] = await connection.rows<{ readonly seq: number }>(statement, values);
  return row?.seq ?? null;
}
