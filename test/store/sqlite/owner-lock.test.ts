import { expect } from 'chai';
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import {
  isOwnerDead,
  listOwners,
  ownersInFiles,
  takeOwnerLock,
  type HeldLock,
} from '../../../src/store/sqlite/owner-lock.ts';
import { useHeldTime } from '../../support/held-time.ts';
import { makeWorkshop, type Workshop } from '../../support/sqlite.ts';

describe('the lock of an owner', () => {
  let shop: Workshop;
  let lock: HeldLock;

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
    expect(isOwnerDead(shop.file, other.owner)).to.equal(true);
    ownersInFiles(shop.file).forget(other.owner);
    expect(listOwners(shop.file)).to.deep.equal([lock.owner]);
  });

  it('leaves nothing else in the folder', () => {
    expect(readdirSync(dirname(shop.file))).to.deep.equal([`gateway.db-owner-${lock.owner}`]);
  });

  it('is not seen in files with similar names', () => {
    for (const name of ['-owner-', '-owner-notes.txt', '2-owner-0123']) writeFileSync(`${shop.file}${name}`, '');
    expect(listOwners(shop.file)).to.deep.equal([lock.owner]);
  });

  it('is made again when somebody has deleted its file', () => {
    const lockFile = `${shop.file}-owner-${lock.owner}`;
    rmSync(lockFile);
    expect(isOwnerDead(shop.file, lock.owner)).to.equal(false);
    lock.keep();
    expect(existsSync(lockFile)).to.equal(true);
    expect(isOwnerDead(shop.file, lock.owner)).to.equal(false);
    lock.release();
    expect(isOwnerDead(shop.file, lock.owner)).to.equal(true);
    expect(listOwners(shop.file)).to.deep.equal([lock.owner]);
  });

  describe('whose file is gone', () => {
    const passTime = useHeldTime();

    it('counts as dead only when it has not been made again for a while', async () => {
      const others = ownersInFiles(shop.file);
      const gone = ownersInFiles(shop.file);
      const { owner } = gone.take();
      rmSync(`${shop.file}-owner-${owner}`);
      rmSync(`${shop.file}-owner-${lock.owner}`);
      const areDead = () => [owner, lock.owner].map((each) => others.isDead(each));
      expect(areDead()).to.deep.equal([false, false]);
      await passTime(5000);
      gone.keep();
      expect(areDead()).to.deep.equal([false, false]);
      await passTime(5000);
      expect(areDead()).to.deep.equal([false, true]);
    });
  });
});
