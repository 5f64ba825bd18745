import { expect } from 'chai';
import { type Identity, toKeyId, toUniquePart } from '../../src/core/ids.ts';
import { createIdentities, createMark } from '../../src/identity/identities.ts';

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

  it('gives each secret a mark of its own, in the order of the secrets', () => {
    const [now, before] = createMark('the new secret', 'the old secret');
    expect(now).to.match(/^[\w-]{22}$/);
    expect(now).not.to.equal(before);
    expect(createMark('the old secret', null)).to.deep.equal([before]);
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
