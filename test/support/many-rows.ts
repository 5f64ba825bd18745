import Sqlite from 'better-sqlite3';

/** The integers of a database are 64 bits wide, of which JavaScript knows 53. */
export const LARGE = 4_611_686_018_427_387_905n;

/** What a list of texts has to quote, and what no list may take for a value that is missing. */
const ODD_TEXTS = ['', 'NULL', 'a "b" \\ {c,d}', "it's", 'ü 漢 🙂', 'two\nlines'];

/**
 * Adds so many requests, as many entries of the ledger of one prepaid key, and a hundredth as many rows of usage, behind the
 * back of all stores, in a database that has its tables. Its books add up.
 */
export function addManyRows(file: string, rows: number): void {
  const database = new Sqlite(file);
  const count = 'WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)';
  const texts = ODD_TEXTS.map((text, index) => `WHEN ${index} THEN '${text.replaceAll("'", "''")}'`).join(' ');
  const model = `CASE i % ${ODD_TEXTS.length + 1} ${texts} ELSE 'model' END`;
  database.transaction(() => {
    const key = database
      .prepare(`
      INSERT INTO keys (key_id, hash, prefix, name, created_at_ms, balance_micro, models)
      VALUES ('key_of_many', 'the hash of many', 'sk-many', 'many', 5, 0, '["a","b"]')`)
      .run().lastInsertRowid;
    database
      .prepare(`${count}
      INSERT INTO requests (request_id, caller, endpoint, model, stream, status, created_at_ms, completed_at_ms,
        estimated_input_tokens, input_tokens, cached_tokens, cache_write_tokens, output_tokens, reasoning_tokens, total_tokens, cost_micro,
        idempotency_key, body, key, held_micro, error_code)
      SELECT printf('req_%032x', i), 'caller of many', 'responses', ${model}, i % 2, 'succeeded', 1790000000000 + i,
        1790000000100 + i, 7, iif(i % 5, 11, ${LARGE}), 3, 2, 22, 4, 33, iif(i % 3, i, NULL),
        iif(i % 2, printf('key %d', i), NULL), 'body', ?, 5, iif(i % 11, NULL, 'upstream_error')
      FROM n`)
      .run(rows, key);
    database
      .prepare(`${count}
      INSERT INTO ledger (key, kind, amount_micro, request_id, note, created_at_ms)
      SELECT ?, iif(i % 2, 'reserve', 'release'), iif(i % 2, -i, i - 2), printf('req_%032x', i), ${model}, 1790000000000 + i
      FROM n`)
      .run(rows, key);
    database
      .prepare(`${count}
      INSERT INTO usage (hour, caller, model, requests, failed, cancelled, input_tokens, cached_tokens, output_tokens,
        reasoning_tokens, cost_micro, duration_ms)
      SELECT i / 10, 'caller ' || (i % 10), ${model}, 1, 0, 0, i, 0, 1, 0, ${Number.MAX_SAFE_INTEGER}, 100 FROM n`)
      .run(Math.ceil(rows / 100));
    database.exec('UPDATE keys SET balance_micro = (SELECT sum(amount_micro) FROM ledger WHERE key = keys.seq)');
  })();
  database.close();
}
