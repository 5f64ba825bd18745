import { expect } from 'chai';
import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { toKeyId, toUniquePart } from '../src/core/ids.ts';
import { createIdentities, loadSecret } from '../src/identity.ts';
import { StoreOpenError, type Identity } from '../src/store/store.ts';

describe('createIdentities', () => {
  const { caller, keySecret, idempotencyKey, body } = createIdentities('a secret of ours', null);
  const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
  const me = caller('key');

  it('gives equal things equal identities, and nothing of the thing itself', () => {
    expect(caller('key')).to.deep.equal(me);
    expect(idempotencyKey(me, 'k')).to.deep.equal(idempotencyKey(me, 'k'));
    expect(body(me, bytes('b'), 'responses')).to.deep.equal(body(me, bytes('b'), 'responses'));
    expect(me).to.have.lengthOf(1);
    expect(me[0]).to.match(/^[\w-]{22}$/);
  });

  it('remembers a bounded number of callers, and makes the same again of one it has forgotten', () => {
    const remembered = caller('key');
    expect(caller('key')).to.equal(remembered);
    for (let other = 0; other < 10_000; other += 1) caller(`key ${other}`);
    expect(caller('key')).not.to.equal(remembered);
    expect(caller('key')).to.deep.equal(remembered);
  });

  const other = caller('other key');
  const pairs: readonly { what: string; one: Identity; other: Identity }[] = [
    { what: 'two callers', one: me, other },
    { what: 'two idempotency keys', one: idempotencyKey(me, 'a'), other: idempotencyKey(me, 'b') },
    { what: 'one idempotency key of two callers', one: idempotencyKey(me, 'a'), other: idempotencyKey(other, 'a') },
    {
      what: 'bodies that differ in a byte',
      one: body(me, bytes('{}'), 'responses'),
      other: body(me, bytes('{} '), 'responses'),
    },
    {
      what: 'one body for two endpoints',
      one: body(me, bytes('{}'), 'responses'),
      other: body(me, bytes('{}'), 'responses.compact'),
    },
    {
      what: 'one body of two callers',
      one: body(me, bytes('{}'), 'responses'),
      other: body(other, bytes('{}'), 'responses'),
    },
    {
      what: 'a key and a body that read alike',
      one: idempotencyKey(me, 'a'),
      other: body(me, bytes('a'), 'responses'),
    },
    { what: 'a caller and a key that read alike', one: caller('a'), other: idempotencyKey(me, 'a') },
    { what: 'a caller and the secret of a key that read alike', one: caller('a'), other: keySecret('a') },
    { what: 'one caller under two secrets', one: me, other: createIdentities('another secret', null).caller('key') },
  ];
  for (const { what, one, other } of pairs) {
    it(`keeps ${what} apart`, () => {
      expect(one[0]).not.to.equal(other[0]);
    });
  }

  it('adds what the previous secret gave, for everything', () => {
    const before = createIdentities('the old secret', null);
    const now = createIdentities('the new secret', 'the old secret');
    const [old, both] = [before.caller('key'), now.caller('key')];
    expect(both).to.have.lengthOf(2);
    expect(both[1]).to.equal(old[0]);
    expect(now.idempotencyKey(both, 'k')[1]).to.equal(before.idempotencyKey(old, 'k')[0]);
    expect(now.body(both, bytes('b'), 'responses')[1]).to.equal(before.body(old, bytes('b'), 'responses')[0]);
    expect(now.keySecret('rgk')[1]).to.equal(before.keySecret('rgk')[0]);
  });

  it('knows the holder of a key under every secret by the id of the key, and finds again what is his', () => {
    const keyId = toKeyId(toUniquePart('0'.repeat(32)));
    const before = createIdentities('the old secret', null);
    const now = createIdentities('the new secret', 'the old secret');
    const [old, both] = [before.keyHolder(keyId), now.keyHolder(keyId)];
    expect(old).to.deep.equal([keyId]);
    expect(both).to.deep.equal([keyId, keyId]);
    expect(now.idempotencyKey(both, 'k')[1]).to.equal(before.idempotencyKey(old, 'k')[0]);
    expect(now.body(both, bytes('b'), 'responses')[1]).to.equal(before.body(old, bytes('b'), 'responses')[0]);
  });
});

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
    expect(loadSecret({ databaseUrl, secret: 'set by the operator' })).to.equal('set by the operator');
    expect(readdirSync(folder)).to.deep.equal([]);
  });

  it('makes one at the first start and finds it at the next', () => {
    const made = loadSecret({ databaseUrl, secret: null });
    expect(made).to.match(/^[\w-]{43}$/);
    expect(loadSecret({ databaseUrl, secret: null })).to.equal(made);
    expect(readdirSync(join(folder, 'data'))).to.deep.equal(['gateway.secret']);
  });

  it('lets nobody but its owner read it, whatever the umask is', () => {
    const umask = process.umask(0);
    try {
      loadSecret({ databaseUrl, secret: null });
    } finally {
      process.umask(umask);
    }
    expect(statSync(file).mode & 0o777).to.equal(0o600);
    expect(statSync(join(folder, 'data')).mode & 0o777).to.equal(0o700);
  });

  it('gives processes that start together the same one', async () => {
    const script = `
      import { loadSecret } from ${JSON.stringify(new URL('../src/identity.ts', import.meta.url).href)};
      console.log(loadSecret({ databaseUrl: ${JSON.stringify(databaseUrl)}, secret: null }));`;
    const run = () => promisify(execFile)(process.execPath, ['--input-type=module', '-e', script]);
    const secrets = (await Promise.all(Array.from({ length: 4 }, run))).map(({ stdout }) => stdout.trim());
    expect(new Set(secrets)).to.have.property('size', 1);
    expect(secrets[0]).to.equal(readFileSync(file, 'utf8').trim());
  });

  it('is another one for each database in memory', () => {
    const [one, other] = [1, 2].map(() => loadSecret({ databaseUrl: ':memory:', secret: null }));
    expect(one).not.to.equal(other);
  });

  for (const damaged of ['', 'short', 'x'.repeat(100)]) {
    it(`refuses a damaged file of ${damaged.length} characters, without quoting it`, () => {
      loadSecret({ databaseUrl, secret: null });
      writeFileSync(file, damaged);
      expect(() => loadSecret({ databaseUrl, secret: null })).to.throw(StoreOpenError, /^The secret .* is damaged/);
    });
  }

  it('says in one line when it can be neither read nor made', () => {
    writeFileSync(join(folder, 'data'), 'a file in the way');
    expect(() => loadSecret({ databaseUrl, secret: null })).to.throw(
      StoreOpenError,
      /^The secret .* cannot be read or made: .*\.$/,
    );
  });
});
