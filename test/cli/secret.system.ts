import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect } from 'chai';
import { takeSecret } from '../../src/config/gateway-secret.ts';
import { locateDatabase } from '../../src/store/database-url.ts';
import { readMarking } from '../../src/store/secret-mark.ts';
import type { AdminKey } from '../../src/contract/operator-types.ts';
import { run, type Printed } from '../support/cli.ts';
import { createTestDatabase, findPostgres } from '../support/postgres.ts';
import { newRequestId } from '../support/records.ts';
import { makeWorkshop, type Workshop } from '../support/sqlite.ts';

const server = await findPostgres();
const FIRST = 'the first secret, a canary';
const OTHER = 'another secret, a canary';

/** What works with keys and records, which the secret is there for. */
const OF_KEYS = [
  'keys create --name other',
  'keys list',
  'keys show k',
  'keys update k --rpm 5',
  'keys rotate k',
  'keys disable k',
  'keys enable k',
  'keys delete k --yes',
  'credits grant k 5 --yes',
  'credits adjust k -5',
  'credits list k',
  'usage',
  'requests list',
  `requests show ${newRequestId()}`,
  `requests cancel ${newRequestId()}`,
  'requests watch',
];
/** What works with the database as a whole. */
const OF_DATABASE = ['db check', 'db migrate'];

describeSecret('SQLite', async () => {
  const shop = makeWorkshop();
  return { databaseUrl: `file:${shop.file}`, clear: () => shop.clear() };
});

if (server !== undefined) {
  describeSecret('PostgreSQL', async () => {
    const database = await createTestDatabase(server);
    return { databaseUrl: database.url, clear: () => database.drop() };
  });
}

function describeSecret(
  engine: string,
  makeDatabase: () => Promise<{ readonly databaseUrl: string; clear: () => Promise<void> }>,
): void {
  describe(`the secret of a database on ${engine}, and the command line`, () => {
    let databaseUrl: string;
    let clear: () => Promise<void>;

    beforeEach(async () => {
      ({ databaseUrl, clear } = await makeDatabase());
      await cli('db migrate', FIRST);
      await cli('keys create --name k --credits 9', FIRST);
    });
    afterEach(() => clear());

    /** Whatever is said, it holds no secret. */
    async function cli(line: string, secret: string, previous = ''): Promise<Printed> {
      const env = { DATABASE_URL: databaseUrl, GATEWAY_SECRET: secret, GATEWAY_SECRET_PREVIOUS: previous };
      const printed = await run(line, { env, interruption: AbortSignal.abort() });
      expect(printed.stdout + printed.stderr, line).not.to.contain('canary');
      return printed;
    }

    async function listKeys(secret: string): Promise<readonly AdminKey[]> {
      const { status, stdout, stderr } = await cli('keys list --json', secret);
      expect(status, stderr).to.equal(0);
      return (JSON.parse(stdout) as { data: AdminKey[] }).data;
    }

    const readMark = async () => {
      const database = locateDatabase(databaseUrl);
      return database.kind === 'memory' ? undefined : (await readMarking(database)).mark;
    };

    it('is that of the first key, which a gateway with another secret would not know', async () => {
      const settings = { databaseUrl, gatewaySecretPrevious: null };
      expect(await takeSecret({ ...settings, gatewaySecret: FIRST })).to.equal(FIRST);
      const refused: unknown = await takeSecret({ ...settings, gatewaySecret: OTHER }).catch((error: unknown) => error);
      expect(String(refused)).to.match(/^ConfigError: .*\n +GATEWAY_SECRET: is not the secret/);
    });

    it('is asked for by every command, and nothing is done with another one', async () => {
      const before = await listKeys(FIRST);
      for (const line of [...OF_KEYS, ...OF_DATABASE]) {
        const { status, stdout, stderr } = await cli(line, OTHER, 'a third secret, a canary');
        expect(stderr, line).to.match(/^GATEWAY_SECRET: is not the secret by which the database [^\n]+ is lost\n$/);
        expect({ status, stdout }, line).to.deep.equal({ status: 78, stdout: '' });
      }
      expect(await listKeys(FIRST)).to.deep.equal(before);
    });

    it('may be the previous one for every command, none of which moves the mark', async () => {
      const mark = await readMark();
      for (const line of [
        'keys list',
        'keys rotate k',
        'usage',
        'db check',
        'db accept-secret',
        'keys create --name l',
      ]) {
        expect(await cli(line, OTHER, FIRST), line).to.include({ status: 0 });
      }
      expect(await readMark()).to.equal(mark);
    });

    it('can be given up by a command that says what is lost, and taken back by the same', async () => {
      const { status, stdout, stderr } = await cli('db accept-secret', OTHER);
      expect(stdout).to.match(
        / now belongs to this GATEWAY_SECRET\.\nWhat was made with the former secret is lost, including that of 1 key:\n- Keys: /,
      );
      expect(stderr).to.match(/^Nothing was deleted: .*\n$/);
      expect(status).to.equal(0);
      expect(await listKeys(OTHER)).to.have.lengthOf(1);
      expect(await cli('keys list', FIRST)).to.include({ status: 78 });
      const back = await cli('db accept-secret --json', FIRST);
      expect(JSON.parse(back.stdout)).to.deep.include({ object: 'secret_acceptance', accepted: true, lost_keys: 1 });
      expect(await listKeys(FIRST)).to.have.lengthOf(1);
    });

    for (const cure of ['keys rotate k', 'keys delete k --yes', 'db accept-secret']) {
      it(`refuses a start that would lock keys out, until \`${cure}\``, async () => {
        const settings = { databaseUrl, gatewaySecret: OTHER };
        await takeSecret({ ...settings, gatewaySecretPrevious: FIRST });
        await cli('keys create --name made-since', OTHER, FIRST);
        const start = () => takeSecret({ ...settings, gatewaySecretPrevious: null });
        const refused: unknown = await start().catch((error: unknown) => error);
        expect(String(refused)).to.match(
          /\n +GATEWAY_SECRET_PREVIOUS: is not set, and 1 key is known by the former secret alone \(k\); /,
        );
        const old = await cli('keys list --old-secret --json', OTHER);
        expect((JSON.parse(old.stdout) as { data: AdminKey[] }).data).to.have.nested.property('[0].name', 'k');
        expect((await listKeys(OTHER)).map((key) => key.gateway_secret)).to.deep.equal(['current', 'previous']);
        expect(await cli(cure, OTHER)).to.include({ status: 0 });
        expect(await start()).to.equal(OTHER);
      });
    }

    it('need not be accepted where the database knows it', async () => {
      const { status, stdout } = await cli('db accept-secret', FIRST);
      expect(stdout).to.match(
        / already belongs to this GATEWAY_SECRET\. Nothing was changed, and nothing is lost\.\n$/,
      );
      expect(status).to.equal(0);
      expect(JSON.parse((await cli('db accept-secret --json', FIRST)).stdout)).to.deep.include({
        accepted: false,
        lost_keys: 0,
      });
    });
  });
}

describe('the command line without a secret', () => {
  let shop: Workshop;
  let secretFile: string;
  const envWith = (secret: string) => ({ DATABASE_URL: `file:${shop.file}`, GATEWAY_SECRET: secret });

  beforeEach(async () => {
    shop = makeWorkshop();
    secretFile = join(dirname(shop.file), 'gateway.secret');
    await run('db migrate', { env: envWith('') });
  });
  afterEach(() => shop.clear());

  it('makes none for a database that knows one, where keys and records are concerned', async () => {
    await run('keys create --name k', { env: envWith(FIRST) });
    for (const line of OF_KEYS) {
      const { status, stdout, stderr } = await run(line, { env: envWith(''), interruption: AbortSignal.abort() });
      expect(stderr, line).to.match(/^GATEWAY_SECRET: is not set, and there is no \S+gateway\.secret with the secret /);
      expect({ status, stdout }, line).to.deep.equal({ status: 78, stdout: '' });
    }
    expect(existsSync(secretFile)).to.equal(false);
  });

  it('checks and copies the database all the same, as a timer does', async () => {
    await run('keys create --name k', { env: envWith(FIRST) });
    for (const line of [...OF_DATABASE, `db backup ${shop.folder}/copy.db`]) {
      expect(await run(line, { env: envWith('') }), line).to.include({ status: 0 });
    }
    expect(existsSync(secretFile)).to.equal(false);
  });

  it('issues no key by a new secret where older keys are known by another', async () => {
    await run('keys create --name k', { env: envWith(FIRST) });
    // As a version has left it that knew no mark.
    shop.tamper('DELETE FROM secret_mark');
    for (const line of ['keys create --name l', 'keys rotate k']) {
      expect(await run(line, { env: envWith('') }), line).to.include({ status: 78 });
    }
    expect(await run('keys list', { env: envWith('') })).to.include({ status: 0 });
    expect(existsSync(secretFile)).to.equal(false);
    expect(await run('keys create --name l', { env: envWith(FIRST) })).to.include({ status: 0 });
  });

  it('begins with a new one at the command that gives the former up', async () => {
    await run('keys create --name k', { env: envWith(FIRST) });
    expect(await run('db accept-secret', { env: envWith('') })).to.include({ status: 0 });
    expect(existsSync(secretFile)).to.equal(true);
    expect(await run('keys list', { env: envWith('') })).to.include({ status: 0 });
  });
});

describe('the command line in a folder without a database', () => {
  let folder: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'elsewhere-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  for (const line of [
    ...OF_KEYS,
    'db accept-secret',
    'db check',
    'db backup copy.db',
    'db migrate --to postgres://a/b',
  ]) {
    it(`says where it has looked, and leaves nothing there (${line.replace(/req_\w+/, 'req_…')})`, async () => {
      const path = join(folder, 'data/gateway.db');
      const { status, stdout, stderr } = await run(line, { env: { DATABASE_URL: `file:${path}` } });
      expect(stderr).to.equal(
        `DATABASE_URL: points to ${path}, which does not exist; run this in the folder of the gateway, which creates it when it starts\n`,
      );
      expect({ status, stdout }).to.deep.equal({ status: 78, stdout: '' });
      expect(readdirSync(folder)).to.deep.equal([]);
    });
  }
});
