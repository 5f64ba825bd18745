import { expect } from 'chai';
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { isOwnerDead, listOwners, takeOwnerLock, type OwnerLock } from '../../../src/store/sqlite/owner-lock.ts';
import { makeWorkshop, type Workshop } from '../../support/sqlite.ts';

describe('the lock of an owner', () => {
  let shop: Workshop;
  let lock: OwnerLock;

  beforeEach(() => {
    shop = makeWorkshop();
    mkdirSync(dirname(shop.file));
    lock = takeOwnerLock(shop.file);
  });
  afterEach(() => {
    lock.release();
    return shop.clear();
  });

  it('shows that the owner lives, as long as it is held', () => {
    expect(isOwnerDead(shop.file, lock.owner)).to.equal(false);
    lock.release();
    expect(isOwnerDead(shop.file, lock.owner)).to.equal(true);
  });

  it('is of one owner only', () => {
    const other = takeOwnerLock(shop.file);
    expect(other.owner).not.to.equal(lock.owner);
    expect(listOwners(shop.file)).to.have.members([lock.owner, other.owner]);
    other.release();
    expect(listOwners(shop.file)).to.deep.equal([lock.owner]);
  });

  it('leaves nothing else in the folder', () => {
    expect(readdirSync(dirname(shop.file))).to.deep.equal([`gateway.db-owner-${lock.owner}`]);
  });

  it('is not seen in files with similar names', () => {
    for (const name of ['-owner-', '-owner-notes.txt', '2-owner-0123']) writeFileSync(`${shop.file}${name}`, '');
    expect(listOwners(shop.file)).to.deep.equal([lock.owner]);
  });

  it('counts as dead when somebody removed its file', () => {
    rmSync(`${shop.file}-owner-${lock.owner}`);
    expect(isOwnerDead(shop.file, lock.owner)).to.equal(true);
  });
});
