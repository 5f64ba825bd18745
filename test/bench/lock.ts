/** Stands in for a slow disk: holds the lock of the database for some milliseconds, again and again, so that commits wait. */
import Sqlite from 'better-sqlite3';

const [file = '', holdMs = '8'] = process.argv.slice(2);
const database = new Sqlite(file, { timeout: 1000 });
const hold = new Int32Array(new SharedArrayBuffer(4));

function holdOnce(): void {
  try {
    database.exec('BEGIN IMMEDIATE');
    Atomics.wait(hold, 0, 0, Number(holdMs));
    database.exec('COMMIT');
  } catch {
    // The gateway was quicker; the next round will get it.
  }
  setTimeout(holdOnce, 2);
}
holdOnce();
process.once('disconnect', () => process.exit(0));
