import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { Client } from 'pg';
import { connectStore } from '../../../src/store/open.ts';
import { StoreOpenError } from '../../../src/core/books/store.ts';
import { SELF_SIGNED } from '../../support/certificate.ts';
import { isPostgresInstalled, startPostgresServer, type PostgresServer } from '../../support/postgres-server.ts';
import { newDraft } from '../../support/records.ts';

const isInstalled = isPostgresInstalled();
if (!isInstalled) console.log('  not run, since PostgreSQL is not installed: TLS to it');

if (isInstalled) {
  describe('the store on a PostgreSQL with a certificate that no public authority has signed', () => {
    let folder: string;
    let authority: string;
    let key: string;
    let server: PostgresServer;

    before(async () => {
      folder = mkdtempSync(join(tmpdir(), 'certificates-'));
      chmodSync(folder, 0o755);
      // It is its own authority, and the certificate of a client as well.
      [key, authority] = [join(folder, 'server.key'), join(folder, 'server.crt')];
      writeFileSync(authority, SELF_SIGNED.cert);
      writeFileSync(key, SELF_SIGNED.key, { mode: 0o600 });
      if (process.getuid?.() === 0) execFileSync('chown', ['postgres', key]);
      server = await startPostgresServer({
        settings: `fsync = off\nssl = on\nssl_cert_file = '${authority}'\nssl_ca_file = '${authority}'\nssl_key_file = '${key}'\n`,
      });
    });
    after(async () => {
      await server.close();
      rmSync(folder, { recursive: true, force: true });
    });

    const open = (query: string) => connectStore({ databaseUrl: `${server.url}?${query}` });

    async function refusal(query: string): Promise<string> {
      const error: unknown = await open(query).catch((error: unknown) => error);
      expect(error).to.be.instanceOf(StoreOpenError);
      return String(error);
    }

    it('is used over TLS where DATABASE_URL names its authority', async () => {
      const store = await open(`sslmode=verify-full&sslrootcert=${authority}`);
      await store.accept(newDraft());
      await store.close();
    });

    it('is used with a certificate of the client where the server wants one', async () => {
      const rules = join(server.dataFolder, 'pg_hba.conf');
      // The role has the name that the certificate is for.
      writeFileSync(rules, `hostssl all localhost 127.0.0.1/32 cert\n${readFileSync(rules, 'utf8')}`);
      const client = new Client({ connectionString: server.url });
      await client.connect();
      await client.query('CREATE ROLE localhost LOGIN SUPERUSER; SELECT pg_reload_conf()');
      await client.end();
      const url = new URL(server.url);
      url.username = 'localhost';
      const query = `sslmode=verify-full&sslrootcert=${authority}`;
      const without: unknown = await connectStore({ databaseUrl: `${url.href}?${query}` }).catch(String);
      expect(without).to.contain('requires a valid client certificate');
      const store = await connectStore({ databaseUrl: `${url.href}?${query}&sslcert=${authority}&sslkey=${key}` });
      await store.accept(newDraft());
      await store.close();
    });

    it('is refused without its authority, and told how to name it', async () => {
      expect(await refusal('sslmode=verify-full')).to.match(
        /cannot be opened: [^\n]*certificate[^\n]* \(sslrootcert in DATABASE_URL names a file with an authority of your own\)\.$/,
      );
    });

    it('is refused where its file cannot be read, which the sentence names', async () => {
      expect(await refusal('sslmode=verify-full&sslrootcert=/nowhere/ca.pem')).to.contain('/nowhere/ca.pem');
    });
  });
}
