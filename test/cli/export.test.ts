import { cpSync } from 'node:fs';
import { expect } from 'chai';
import type { AdminKey } from '../../src/contract/operator-types.ts';
import { run, type Printed } from '../support/cli.ts';
import { newHold, newKeyDraft } from '../support/keys.ts';
import { newDraft, newOutcome } from '../support/records.ts';
import { makeWorkshop, type Workshop } from '../support/sqlite.ts';

const NOW_MS = Date.UTC(2026, 10, 21, 12, 30);

/** Every list as CSV and as JSON Lines. */
describe('the lists for other programs', () => {
  /** What each test has a copy of. */
  let scene: Workshop;
  let shop: Workshop;
  let env: Readonly<Record<string, string>>;
  let key: AdminKey;

  before(async () => {
    scene = makeWorkshop();
    env = envOf(scene);
    await cli('db migrate');
    await cli('groups create --name research --credits 5 --rpm 60');
    key = JSON.parse((await cli('keys create --name alice --group research --credits 10 --json')).stdout);
    const store = await scene.open({ clock: () => NOW_MS });
    for (const model of ['=cmd', 'm']) {
      const draft = newDraft({ caller: [key.id], model, createdAtMs: NOW_MS, hold: newHold(key.id, 0) });
      await store.accept(draft);
      await store.finish(draft.requestId, newOutcome({ completedAtMs: NOW_MS + 1500, costMicro: 3 }));
    }
    await store.close();
  });
  after(() => scene.clear());

  beforeEach(() => {
    shop = makeWorkshop();
    cpSync(scene.folder, shop.folder, { recursive: true });
    env = envOf(shop);
  });
  afterEach(() => shop.clear());

  function envOf({ file }: Workshop): Readonly<Record<string, string>> {
    return { DATABASE_URL: `file:${file}`, GATEWAY_SECRET: 'gateway-secret-canary', AUTH_MODE: 'managed' };
  }

  function cli(line: string): Promise<Printed> {
    return run(line, { env, nowMs: () => NOW_MS + 60_000 });
  }

  async function rowsOf(line: string): Promise<readonly Readonly<Record<string, string>>[]> {
    const { status, stdout, stderr } = await cli(`${line} --csv`);
    expect({ status, stderr }).to.deep.equal({ status: 0, stderr: '' });
    const [head = [], ...rows] = stdout
      .trimEnd()
      .split('\n')
      .map((text) => text.split(','));
    return rows.map((cells) => Object.fromEntries(cells.map((cell, index) => [head[index] ?? '', cell])));
  }

  it('have names and not only ids, times as programs read them, and decimal amounts', async () => {
    const [keys, groups, usage, requests, ledger] = [
      await rowsOf('keys list'),
      await rowsOf('groups list'),
      await rowsOf('usage --group research'),
      await rowsOf('requests list'),
      await rowsOf('credits list --key alice'),
    ];
    expect(keys[0]).to.include({ id: key.id, name: 'alice', group: 'research', balance: '9.999994', expires_at: '' });
    expect(groups[0]).to.include({ name: 'research', keys: '1', requests_per_minute: '60', balance: '4.999994' });
    expect(usage.map(({ model }) => model)).to.have.members(["'=cmd", 'm']);
    expect(usage[0]).to.include({ start: '2026-11-21T00:00:00Z', group: 'research', key: 'alice', cost: '0.000003' });
    expect(requests[0]).to.include({
      model: 'm',
      key: 'alice',
      group: 'research',
      created_at: '2026-11-21T12:30:00Z',
      duration_ms: '1500',
      cost: '0.000003',
    });
    expect(ledger.map(({ kind, amount }) => [kind, amount])).to.deep.equal([
      ['settle', '-0.000003'],
      ['settle', '-0.000003'],
      ['grant', '10.00'],
    ]);
  });

  it('sum what was used by key, group, model or day, with all of it at the end', async () => {
    for (const [by, of] of [
      ['key', 'alice'],
      ['group', 'research'],
      ['day', '2026-11-21'],
    ]) {
      const { data, total } = JSON.parse((await cli(`usage --by ${by} --json`)).stdout) as {
        readonly data: readonly object[];
        readonly total: object;
      };
      expect(data, by).to.have.lengthOf(1);
      for (const sum of [...data, total]) expect(sum, by).to.include({ requests: 2, cost: '0.000006' });
      expect(data[0]).to.include({ of });
      expect(await rowsOf(`usage --by ${by}`)).to.have.lengthOf(1);
      const [head, ...lines] = (await cli(`usage --by ${by}`)).stdout.trimEnd().split('\n');
      expect(head).to.match(new RegExp(`^${String(by).toUpperCase()} +REQUESTS`));
      expect(lines.map((line) => line.split(/ +/)[0])).to.deep.equal([of, 'total']);
    }
    expect((await rowsOf('usage --by model')).map(({ model }) => model)).to.have.members(["'=cmd", 'm']);
  });

  it('sum what the prefix cache of each backend served', async () => {
    const store = await shop.open({ clock: () => NOW_MS });
    const hour = Math.floor(NOW_MS / 3_600_000);
    const counted = { caller: 'a caller', groupId: null, hour, counts: { 'input:gpu-b': 1000, 'cached:gpu-b': 600 } };
    const more = {
      'input:gpu-b': 1000,
      'input:gpu-a': 50,
      'reachable:gpu-b': 900,
      'moved:gpu-b': 1,
      'saved:gpu-b': 500_000,
    };
    await store.addRequestStats([
      { ...counted, model: 'm' },
      { ...counted, model: 'n', counts: more },
    ]);
    await store.close();
    const [header, ...lines] = (await cli('usage --by backend')).stdout.trimEnd().split('\n');
    expect(header?.split(/ {2,}/)).to.deep.equal([
      'BACKEND',
      'INPUT',
      'CACHED',
      'SHARE',
      'REACHABLE',
      'MOVED TURNS',
      'SAVED',
    ]);
    expect(lines.map((line) => line.split(/ {2,}/))).to.deep.equal([
      ['gpu-a', '50', '0', '0%', '0', '0', '0.00'],
      ['gpu-b', '2 000', '600', '30%', '900', '1', '0.50'],
    ]);
    expect(await rowsOf('usage --by backend')).to.deep.include({
      backend: 'gpu-b',
      input_tokens: '2000',
      cached_tokens: '600',
      cached_share: '0.3',
      reachable_tokens: '900',
      moved_turns: '1',
      saved: '0.50',
    });
  });

  for (const line of ['keys list', 'groups list', 'usage', 'usage --by key', 'requests list', 'credits list alice']) {
    it(`are the same as JSON and as JSON Lines: ${line}`, async () => {
      const { data } = JSON.parse((await cli(`${line} --json`)).stdout) as { readonly data: readonly unknown[] };
      const { stdout } = await cli(`${line} --jsonl`);
      const lines = stdout
        .trimEnd()
        .split('\n')
        .map((text) => JSON.parse(text) as unknown);
      expect(lines).to.deep.equal(data);
      expect(data).not.to.deep.equal([]);
    });
  }

  it('are whole, also where a page is shorter', async () => {
    const store = await shop.open({ clock: () => NOW_MS });
    await store.createKeys(Array.from({ length: 120 }, () => newKeyDraft()));
    for (let at = 0; at < 120; at += 1) {
      await store.accept(newDraft({ caller: [key.id], createdAtMs: NOW_MS }));
      await store.credit(key.id, { kind: 'grant', amountMicro: 1, note: '', createdAtMs: NOW_MS });
    }
    await store.close();
    expect(await rowsOf('keys list')).to.have.lengthOf(121);
    expect(await rowsOf('requests list --key alice')).to.have.lengthOf(122);
    expect(await rowsOf('credits list alice')).to.have.lengthOf(123);
    expect(await rowsOf('requests list --limit 3')).to.have.lengthOf(3);
    expect(await rowsOf('credits list alice --limit 3')).to.have.lengthOf(3);
  });

  it('count their rows on the terminal while they go to a file', async () => {
    const { stdout, stderr } = await run('requests list --csv', { env, isTTY: true, isPiped: true });
    expect(stderr).to.include(' 2 rows');
    expect(stderr.endsWith('\r\u{1b}[K')).to.equal(true);
    expect(stdout.split('\n')).to.have.lengthOf(4);
    expect((await run('requests list --csv', { env, isTTY: true })).stderr).to.equal('');
  });

  it('are one kind at a time', async () => {
    for (const line of ['keys list --csv --jsonl', 'keys list --json --csv', 'requests list --jsonl --json']) {
      const { status, stdout, stderr } = await cli(line);
      expect({ status, stdout }, line).to.deep.equal({ status: 2, stdout: '' });
      expect(stderr).to.match(/^error: option '--\w+' cannot be used with /);
    }
  });
});
