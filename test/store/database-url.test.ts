import { expect } from 'chai';
import { resolve } from 'node:path';
import { locateDatabase, showDatabase } from '../../src/store/database-url.ts';
import { StoreOpenError } from '../../src/core/books/store.ts';

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

  for (const url of ['postgres://user:secret@host/db', 'postgresql://host:5433/db?sslmode=require']) {
    it(`takes ${url} for a server`, () => {
      expect(locateDatabase(url)).to.deep.equal({ kind: 'postgres', url });
    });
  }

  for (const url of ['', 'gateway.db', 'file:', 'file::memory:', 'mysql://user:secret@host/db', 'sqlite:x.db']) {
    it(`refuses ${JSON.stringify(url)} without quoting it`, () => {
      expect(() => locateDatabase(url)).to.throw(
        StoreOpenError,
        /^DATABASE_URL must be :memory:, file: and a path, or postgres:\/\/ and a server\.$/,
      );
    });
  }

  it('refuses a server that is no URL without quoting it', () => {
    expect(() => locateDatabase('postgres://user:secret@[host/db')).to.throw(
      StoreOpenError,
      /^DATABASE_URL is not a URL/,
    );
  });
});

describe('showDatabase', () => {
  const urls = [
    { url: 'file:./data/gateway.db', shown: 'file:./data/gateway.db' },
    { url: 'postgres://user:secret@host:5433/db?password=secret', shown: 'postgres://host:5433/db' },
    { url: 'postgres://user:secret@[host/db', shown: 'postgres://' },
  ];
  for (const { url, shown } of urls) {
    it(`shows ${shown}`, () => {
      expect(showDatabase(url)).to.equal(shown);
    });
  }
});
