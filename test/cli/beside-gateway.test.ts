import { expect } from 'chai';
import type { IssuedKey } from '../../src/contract/operator-types.ts';
import { run } from '../support/cli.ts';
import { openGateway, type TestGateway } from '../support/gateway.ts';
import { makeWorkshop, type Workshop } from '../support/sqlite.ts';
import { AT_ONCE_MS, clockOfAWholeMinute, until } from '../support/time.ts';

describe('the command line beside a running gateway', () => {
  let shop: Workshop;
  let env: Readonly<Record<string, string>>;
  let gateway: TestGateway;
  /** That of the gateway and of the commands, so that no hour ends between them. */
  let nowMs: () => number;

  beforeEach(async () => {
    shop = makeWorkshop();
    env = { DATABASE_URL: `file:${shop.file}`, AUTH_MODE: 'managed' };
    nowMs = clockOfAWholeMinute();
    gateway = await openGateway(env, { nowMs });
  });
  afterEach(async () => {
    await gateway.close();
    await shop.clear();
  });

  async function json<Value>(line: string): Promise<Value> {
    const { status, stdout, stderr } = await run(`${line} --json`, { env, nowMs });
    expect(status, stderr).to.equal(0);
    return JSON.parse(stdout) as Value;
  }

  async function ask(secret: string): Promise<{ status: number; requestId: string }> {
    const headers = { authorization: `Bearer ${secret}` };
    const reply = await gateway.create({ model: 'demo', input: 'Hi' }, { headers });
    await reply.text();
    return { status: reply.status, requestId: reply.headers.get('x-request-id') ?? '' };
  }

  it('issues a key that works at once, and disables it within a second', async () => {
    const { secret } = await json<IssuedKey>('keys create --name alice');
    expect(await ask(secret)).to.include({ status: 200 });
    await json('keys disable alice');
    const disabledAtMs = performance.now();
    await until(async () => (await ask(secret)).status === 401);
    expect(performance.now() - disabledAtMs).to.be.lessThan(AT_ONCE_MS);
  });

  it('shows what was used by the names of keys, and the requests of each', async () => {
    const alice = await json<IssuedKey>('keys create --name alice');
    const bob = await json<IssuedKey>('keys create --name bob');
    const { requestId } = await ask(alice.secret);
    await ask(bob.secret);
    await ask(bob.secret);
    const { stdout } = await run('usage', { env, nowMs });
    expect(stdout).to.match(
      /^FROM \(UTC\) +KEY +MODEL +REQUESTS +FAILED +CANCELLED +INPUT +CACHED +SHARE +WRITTEN +OUTPUT +COST +SAVED +MEAN TIME$/m,
    );
    expect(stdout).to.match(/^\d{4}-\d\d-\d\d +alice +demo +1 +0 +0 +\d/m);
    expect(stdout).to.match(/^\d{4}-\d\d-\d\d +bob +demo +2 +0 +0 +\d/m);
    const { data } = await json<{ data: readonly object[] }>('usage --per hour --key bob');
    expect(data).to.have.lengthOf(1);
    expect(data[0]).to.include({ key: bob.id, requests: 2 });
    for (const which of [alice.id, alice.prefix, 'alice']) {
      const listed = await run(`requests list --key ${which}`, { env, nowMs });
      expect(listed.stdout).to.match(new RegExp(`${requestId} .* demo +alice `));
      expect(listed.stdout.trimEnd().split('\n')).to.have.lengthOf(2);
    }
    expect((await run('usage --from 2026-01-02 --until 2026-01-01', { env })).stderr).to.equal(
      'error: --from must be earlier than --until\n',
    );
  });

  it('takes a backup whose keys work in another gateway with the same secret', async () => {
    const { secret } = await json<IssuedKey>('keys create --name alice');
    const path = `${shop.folder}/data/copy.db`;
    expect(await run(['db', 'backup', path], { env })).to.include({ status: 0 });
    await gateway.close();
    gateway = await openGateway({ ...env, DATABASE_URL: `file:${path}` }, { nowMs });
    expect(await ask(secret)).to.include({ status: 200 });
  });
});
