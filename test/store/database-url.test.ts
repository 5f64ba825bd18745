import { expect } from 'chai';
import { resolve } from 'node:path';
import { locateDatabase } from '../../src/store/database-url.ts';
import { StoreOpenError } from '../../src/store/store.ts';

describe('locateDatabase', () => {
  const files = [
    { url: 'file:./data/gateway.db', path: resolve('data/gateway.db') },
    { url: 'file:gateway.db', path: resolve('gateway.db') },
    { url: 'file:/var/lib/gateway.db', path: '/var/lib/gateway.db' },
    { url: 'file:///var/lib/gateway.db', path: '/var/lib/gateway.db' },
    { url: 'file:/a%20folder/x.db', path: '/a%20folder/x.db' },
  ];
  for (const { url, path } of files) {
    it(`finds the file of ${url}`, () => {
      expect(locateDatabase(url)).to.deep.equal({ kind: 'file', path });
    });
  }

  it('keeps :memory: in memory', () => {
    expect(locateDatabase(':memory:')).to.deep.equal({ kind: 'memory' });
  });

  for (const url of ['', 'gateway.db', 'file:', 'file::memory:', 'postgres://user:secret@host/db', 'sqlite:x.db']) {
    it(`refuses ${JSON.stringify(url)} without quoting it`, () => {
      expect(() => locateDatabase(url)).to.throw(
        StoreOpenError,
        /^DATABASE_URL must be :memory:, or file: and a path\.$/,
      );
    });
  }
});
