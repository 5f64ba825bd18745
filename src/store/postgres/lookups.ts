import type { RequestId } from '../../contract/ids.ts';
import { toListedRows, toListQueries } from '../rows/list-query.ts';
import type { RecordRow } from '../rows/records.ts';
import { POSTGRES } from '../sql/dialect.ts';
import type { Remote } from './remote.ts';
import type { Connection } from './pool.ts';
import { RECORDS } from './statements.ts';

type Lookup = 'find' | 'findAny' | 'findDuplicate' | 'findByIdempotencyKey' | 'list' | 'findCallers';

export const LOOKUPS: Remote<Lookup> = {
  async find(connection, callers, requestId) {
    const row = await findAny(connection, requestId);
    return row !== null && callers.includes(row.caller) ? row : null;
  },
  findAny,
  async findDuplicate(connection, candidates) {
    for (const candidate of candidates) {
      const [row] = await connection.rows<RecordRow>(RECORDS.findDuplicate, { ...candidate });
      if (row !== undefined) return row;
    }
    return null;
  },
  async findByIdempotencyKey(connection, candidates) {
    const found = await Promise.all(
      candidates.map((candidate) => connection.rows<RecordRow>(RECORDS.findByIdempotencyKey, { ...candidate })),
    );
    return found.flat().sort((one, other) => other.seq - one.seq)[0] ?? null;
  },
  async list(connection, step) {
    const { rows, floor } = toListQueries(step, POSTGRES.byBytes);
    const found = await connection.rows<RecordRow>(rows, rows.values);
    const [last] =
      found.length < step.limit && floor !== null ? await connection.rows<RecordRow>(floor, floor.values) : [];
    return toListedRows(found, step.limit, last?.requestId ?? null);
  },
  async findCallers(connection, prefix, limit) {
    const rows = await connection.rows<{ readonly caller: string }>(RECORDS.findCallers, { prefix, limit });
    return rows.map(({ caller }) => caller);
  },
};

async function findAny(connection: Connection, requestId: RequestId): Promise<RecordRow | null> {
  const [row] = await connection.rows<RecordRow>(RECORDS.find, { requestId });
  return row ?? null;
}
