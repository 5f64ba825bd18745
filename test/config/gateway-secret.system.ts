import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { ConfigError } from '../../src/config/config.ts';
import { loadSecret, takeSecret } from '../../src/config/gateway-secret.ts';
import { StoreOpenError } from '../../src/core/books/store.ts';
import { newKeyDraft } from '../support/keys.ts';
import { makeWorkshop, type Workshop } from '../support/sqlite.ts';

describe('loadSecret', () => {
  let folder: string;
  let file: string;
  let databaseUrl: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'secret-'));
    file = join(folder, 'data', 'gateway.secret');
    databaseUrl = `file:${folder}/data/gateway.db`;
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it('takes the one that is set, and makes no file', () => {
    expect(loadSecret({ databaseUrl, gatewaySecret: 'set by the operator' })).to.equal('set by the operator');
    expect(readdirSync(folder)).to.deep.equal([]);
  });

  it('makes one at the first start and finds it at the next', () => {
    const made = loadSecret({ databaseUrl, gatewaySecret: null });
    expect(made).to.match(/^[\w-]{43}$/);
    expect(loadSecret({ databaseUrl, gatewaySecret: null })).to.equal(made);
    expect(readdirSync(join(folder, 'data'))).to.deep.equal(['gateway.secret']);
  });

  it('lets nobody but its owner read it, whatever the umask is', () => {
    const umask = process.umask(0);
    try {
      loadSecret({ databaseUrl, gatewaySecret: null });
    } finally {
      process.umask(umask);
    }
    expect(statSync(file).mode & 0o777).to.equal(0o600);
    expect(statSync(join(folder, 'data')).mode & 0o777).to.equal(0o700);
  });

  it('gives processes that start together the same one', async () => {
    const script = `
      import { loadSecret } from ${JSON.stringify(new URL('../../src/config/gateway-secret.ts', import.meta.url).href)};
      console.log(loadSecret({ databaseUrl: ${JSON.stringify(databaseUrl)}, gatewaySecret: null }));`;
    const run = () => promisify(execFile)(process.execPath, ['--input-type=module', '-e', script]);
    const secrets = (await Promise.all(Array.from({ length: 4 }, run))).map(({ stdout }) => stdout.trim());
    expect(new Set(secrets)).to.have.property('size', 1);
    expect(secrets[0]).to.equal(readFileSync(file, 'utf8').trim());
  });

  it('is another one for each database in memory', () => {
    const [one, other] = [1, 2].map(() => loadSecret({ databaseUrl: ':memory:', gatewaySecret: null }));
    expect(one).not.to.equal(other);
  });

  for (const damaged of ['', 'short', 'x'.repeat(100)]) {
    it(`refuses a damaged file of ${damaged.length} characters, without quoting it`, () => {
      loadSecret({ databaseUrl, gatewaySecret: null });
      writeFileSync(file, damaged);
      expect(() => loadSecret({ databaseUrl, gatewaySecret: null })).to.throw(
        StoreOpenError,
        /^The secret .* is damaged/,
      );
    });
  }

  it('says in one line when it can be neither read nor made', () => {
    writeFileSync(join(folder, 'data'), 'a file in the way');
    expect(() => loadSecret({ databaseUrl, gatewaySecret: null })).to.throw(
      StoreOpenError,
      /^The secret .* cannot be read or made: .*\.$/,
    );
  });
});

describe('takeSecret', () => {
  let shop: Workshop;
  let databaseUrl: string;
  let secretFile: string;

  beforeEach(async () => {
    shop = makeWorkshop();
    databaseUrl = `file:${shop.file}`;
    secretFile = join(shop.folder, 'data', 'gateway.secret');
    await shop.open();
  });
  afterEach(() => shop.clear());

  const take = (gatewaySecret: string | null, gatewaySecretPrevious: string | null = null) =>
    takeSecret({ databaseUrl, gatewaySecret, gatewaySecretPrevious });

  /** The one line for the operator. */
  async function refusal(taking: Promise<string>): Promise<string> {
    const error: unknown = await taking.catch((error: unknown) => error);
    expect(error).to.be.instanceOf(ConfigError);
    const problems = error instanceof ConfigError ? error.problems : [];
    expect(problems).to.have.lengthOf(1);
    return problems[0] ?? '';
  }

  async function addKey(): Promise<void> {
    const store = await shop.open();
    await store.createKey(newKeyDraft());
  }

  it('gives the database of the first start its mark, and refuses another secret from then on', async () => {
    expect(await take('the first secret')).to.equal('the first secret');
    expect(await take('the first secret')).to.equal('the first secret');
    const told = await refusal(take('another secret'));
    expect(told).to.match(
      /^GATEWAY_SECRET: is not the secret by which the database \S+gateway\.db knows its keys and records; set it to that one, or run `\.\/gateway db accept-secret`/,
    );
    expect(told).not.to.contain('another secret');
    expect(await refusal(take('another secret', 'a third secret'))).to.contain(
      'records, and GATEWAY_SECRET_PREVIOUS is not either;',
    );
  });

  it('marks a database of a version that knew no mark, whatever is in it', async () => {
    await addKey();
    expect(await take('the first secret')).to.equal('the first secret');
    await refusal(take('another secret'));
  });

  it('moves the mark when the secret is changed, there and back', async () => {
    await take('the old secret');
    await take('the old secret', 'the new secret');
    await refusal(take('the new secret'));
    await take('the new secret', 'the old secret');
    await refusal(take('the old secret'));
    expect(await take('the new secret')).to.equal('the new secret');
    await take('the old secret', 'the new secret');
    await take('the old secret');
  });

  it('makes the secret of an empty database, and finds it again', async () => {
    const made = await take(null);
    expect(readFileSync(secretFile, 'utf8')).to.equal(`${made}\n`);
    expect(await take(null)).to.equal(made);
  });

  it('makes no secret for a database that knows one', async () => {
    await take('the first secret');
    expect(await refusal(take(null))).to.match(/^GATEWAY_SECRET: is not set, and there is no \S+gateway\.secret with /);
    expect(existsSync(secretFile)).to.equal(false);
  });

  it('makes no secret for what was made with one that is missing', async () => {
    await addKey();
    expect(await refusal(take(null))).to.match(/^GATEWAY_SECRET: is not set, and there is no \S+gateway\.secret with /);
    expect(existsSync(secretFile)).to.equal(false);
  });

  it('refuses what lies beside the database and is not its secret', async () => {
    await take('the first secret');
    writeFileSync(secretFile, 'x'.repeat(43));
    expect(await refusal(take(null))).to.match(
      /^GATEWAY_SECRET: is not set, and \S+gateway\.secret does not hold the /,
    );
  });

  it('lets one of several begin that start at the same moment with different secrets', async () => {
    const taken = await Promise.allSettled(['one secret', 'two secrets', 'three secrets'].map((each) => take(each)));
    expect(taken.filter(({ status }) => status === 'fulfilled')).to.have.lengthOf(1);
  });

  it('has nothing to ask of a database in memory', async () => {
    databaseUrl = ':memory:';
    expect(await take('the first secret')).to.equal('the first secret');
    expect(await take(null)).to.match(/^[\w-]{43}$/);
  });
});
