import { writeSync } from 'node:fs';
import Sqlite from 'better-sqlite3';

const database = new Sqlite(process.argv[2] ?? '');
database.exec('BEGIN EXCLUSIVE');
// The test that started this process may end without killing it. Used here, the database is also not collected as garbage.
process.stdin.on('end', () => process.exit(database.open ? 0 : 1)).resume();
writeSync(1, 'ready\n');
