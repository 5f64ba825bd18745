/** Prints the URL of a PostgreSQL that the tests can use on this machine; exits with 1 when there is none. For .ci/run. */
import { findLocalPostgres } from './postgres.ts';

const url = await findLocalPostgres();
if (url === undefined) process.exit(1);
console.log(url);
