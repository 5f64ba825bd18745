import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { run } from '../support/cli.ts';
import { makeSmallDisk, type SmallDisk } from '../support/small-disk.ts';
import { makeWorkshop, type Workshop } from '../support/sqlite.ts';

const DISK_BYTES = 1024 * 1024;

describe('a command whose file does not fit on the disk', () => {
  let disk: SmallDisk | undefined;
  let shop: Workshop;
  let env: Readonly<Record<string, string>>;

  beforeEach(async function () {
    disk = makeSmallDisk(DISK_BYTES / 1024 / 1024);
    if (disk === undefined) return this.skip();
    writeFileSync(join(disk.folder, 'others'), Buffer.alloc(DISK_BYTES - 32 * 1024));
    shop = makeWorkshop();
    env = { DATABASE_URL: `file:${shop.file}`, GATEWAY_SECRET: 'gateway-secret-canary', AUTH_MODE: 'managed' };
    await run('db migrate', { env });
  });
  afterEach(async () => {
    if (disk !== undefined) await shop.clear();
    disk?.close();
  });

  it('names the file, and makes no key whose secret would be lost', async () => {
    const [teams, out] = [join(shop.folder, 'teams.csv'), join(disk?.folder ?? '', 'secrets.csv')];
    writeFileSync(teams, ['name', ...Array.from({ length: 1000 }, (_, index) => `team-${index}`)].join('\n'));
    const { status, stderr } = await run(`keys import ${teams} --out ${out}`, { env });
    expect([status, stderr]).to.deep.equal([
      1,
      `${out} cannot be written: ENOSPC: no space left on device, write. No key was created.\n`,
    ]);
    expect(readdirSync(disk?.folder ?? '')).to.deep.equal(['others']);
    expect((await run('keys list --json', { env })).stdout).to.match(/"data": \[\]/);
  });

  it('names the file, and leaves no part of a backup', async () => {
    const out = join(disk?.folder ?? '', 'today.db');
    const { status, stderr } = await run(`db backup ${out}`, { env });
    expect([status, stderr]).to.deep.equal([1, `The file ${out} cannot be written: database or disk is full.\n`]);
    expect(readdirSync(disk?.folder ?? '')).to.deep.equal(['others']);
  });
});
