import { expect } from 'chai';
import type { Request } from 'express';
import { ApiError } from '../../src/core/errors.ts';
import { baseUrlOf } from '../../src/wire/base-url.ts';

describe('baseUrlOf', () => {
  const of = (protocol: string, host: string | undefined, setting: string | null = null): string =>
    baseUrlOf({ protocol, host, socket: { localAddress: '::1', localPort: 80 } } as unknown as Request, setting);

  it('takes the setting before what the request says', () => {
    expect(of('http', 'a.test', 'https://b.test')).to.equal('https://b.test');
  });

  for (const [protocol, host, url] of [
    ['https', 'a.test:8443', 'https://a.test:8443'],
    ['javascript', 'a.test', 'http://a.test'],
    ['http', undefined, 'http://[::1]:80'],
  ] as const) {
    it(`is ${url} for ${protocol} and ${host}`, () => {
      expect(of(protocol, host)).to.equal(url);
    });
  }

  for (const host of ['a b', 'a.test:99999', '1.2.3.4.5', '[::::]']) {
    it(`throws for ${host}, which is no host`, () => {
      expect(() => of('http', host)).to.throw(ApiError, 'no valid host');
    });
  }
});
