import type { LookupFunction } from 'node:net';
import { expect } from 'chai';
import { watchAddresses, type Addresses } from '../../src/backend/addresses.ts';

describe('the addresses of a name', () => {
  let found: readonly { readonly address: string; readonly family: number }[] | Error;
  let addresses: Addresses;
  let changes: number;

  const lookup: LookupFunction = (_name, _options, callback) =>
    found instanceof Error ? callback(found, []) : callback(null, [...found]);
  const at = (...all: readonly string[]) => all.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
  const of = (baseUrl = 'http://vllm.test/v1'): readonly string[] => addresses.of({ baseUrl });

  beforeEach(() => {
    changes = 0;
    addresses = watchAddresses({ lookup, everyMs: 3_600_000 });
    addresses.onChange(() => (changes += 1));
  });
  afterEach(() => addresses.close());

  for (const { name, all, several } of [
    { name: 'several of one family', all: at('10.0.0.2', '10.0.0.1'), several: ['10.0.0.1', '10.0.0.2'] },
    { name: 'one', all: at('10.0.0.1'), several: [] },
    { name: 'one of each family', all: at('::1', '127.0.0.1'), several: [] },
    {
      name: 'the same machines in both families',
      all: at('fd00::1', '10.0.0.1', '10.0.0.2'),
      several: ['10.0.0.1', '10.0.0.2'],
    },
  ]) {
    it(`are told apart where the name has ${name}`, () => {
      found = all;
      of();
      expect(of()).to.deep.equal(several);
    });
  }

  it('stay while the name cannot be looked up, and are told when others have come', () => {
    found = at('10.0.0.1', '10.0.0.2');
    of();
    found = new Error('SERVFAIL');
    addresses.refresh();
    expect([of(), changes]).to.deep.equal([['10.0.0.1', '10.0.0.2'], 1]);
    found = at('10.0.0.2', '10.0.0.3');
    addresses.refresh();
    expect([of(), changes]).to.deep.equal([['10.0.0.2', '10.0.0.3'], 2]);
  });

  it('are not looked up for an address, or for what a proxy looks up', () => {
    found = at('10.0.0.1', '10.0.0.2');
    const proxied = { baseUrl: 'http://vllm.test/v1', proxy: { variable: 'HTTP_PROXY', url: 'http://proxy.test' } };
    for (const spec of [{ baseUrl: 'http://10.0.0.9/v1' }, { baseUrl: 'http://[::1]/v1' }, proxied]) {
      addresses.of(spec);
      expect(addresses.of(spec)).to.deep.equal([]);
    }
  });
});
