import { expect } from 'chai';
import type { RecordDraft, Store } from '../../src/core/books/store.ts';
import { run, type Printed } from '../support/cli.ts';
import { newDraft, newOutcome, newRequestId } from '../support/records.ts';
import { makeWorkshop, type Workshop } from '../support/sqlite.ts';
import { until } from '../support/time.ts';

const CREATED_AT_MS = Date.UTC(2026, 10, 21, 20, 41, 43);
const CALLER = 'hmac-of-a-callers-key-';

describe('requests', () => {
  let shop: Workshop;
  let store: Store;
  let env: Readonly<Record<string, string>>;

  beforeEach(async () => {
    shop = makeWorkshop();
    env = { DATABASE_URL: `file:${shop.file}` };
    store = await shop.open();
  });
  afterEach(() => shop.clear());

  async function accept(overrides: Partial<RecordDraft> = {}): Promise<RecordDraft> {
    const draft = newDraft({ caller: [CALLER], createdAtMs: CREATED_AT_MS, ...overrides });
    await store.accept(draft);
    return draft;
  }

  async function json(line: string): Promise<unknown> {
    const { stdout } = await run(`${line} --json`, { env });
    return JSON.parse(stdout);
  }

  it('lists the requests of all callers beside a store that is open, newest first', async () => {
    const ended = await accept({ model: 'm1' });
    await store.finish(ended.requestId, newOutcome({ completedAtMs: CREATED_AT_MS + 1500, costMicro: 12_500 }));
    const running = await accept({ model: 'm2', caller: ['key_0123456789abcdef0123456789abcdef'] });
    const { status, stdout, stderr } = await run('requests list', { env });
    const [head, first, second, ...more] = stdout.trimEnd().split('\n');
    expect(head).to.match(/^STARTED \(UTC\) +ID +STATUS +MODEL +KEY +TOOK +IN +OUT +COST +ERROR$/);
    expect(first?.split(/ {2,}/)).to.deep.equal([
      '2026-11-21 20:41:43',
      running.requestId,
      'processing',
      'm2',
      'key_0123456789abcdef0123456789abcdef',
    ]);
    expect(second?.split(/ {2,}/)).to.deep.equal([
      '2026-11-21 20:41:43',
      ended.requestId,
      'succeeded',
      'm1',
      'hmac-of-',
      '1.50 s',
      '11',
      '22',
      '0.0125',
    ]);
    expect({ status, stderr, more }).to.deep.equal({ status: 0, stderr: '', more: [] });
  });

  it('names the backend where there are several', async () => {
    const { requestId } = await accept();
    await store.finish(requestId, newOutcome({ upstream: 'gpu-a' }));
    expect((await run('requests list', { env })).stdout).to.match(/ BACKEND\n.* gpu-a$/m);
    expect((await run(`requests show ${requestId}`, { env })).stdout).to.match(/^backend +gpu-a$/m);
    expect(await json(`requests show ${requestId}`)).to.include({ upstream: 'gpu-a' });
  });

  it('filters, and goes on where a page ended', async () => {
    const failed = await accept({ model: 'm1' });
    await store.finish(failed.requestId, newOutcome({ status: 'failed', errorCode: 'upstream_timeout' }));
    const other = await accept({ model: 'm2', caller: ['another-caller-------'] });
    expect(await json('requests list --status failed')).to.have.nested.property('data[0].request_id', failed.requestId);
    expect(await json('requests list --model m2')).to.have.nested.property('data[0].request_id', other.requestId);
    expect(await json('requests list --key another-'))
      .to.have.property('data')
      .that.has.lengthOf(1);
    expect(await json('requests list --limit 1')).to.have.property('has_more', true);
    expect(await json(`requests list --after ${other.requestId}`))
      .to.have.property('data')
      .that.has.lengthOf(1);
    expect((await run('requests list --limit 1', { env })).stdout).to.contain(`More: --after ${other.requestId}`);
  });

  it('gives a program what the HTTP interface gives, with the caller', async () => {
    const { requestId } = await accept({ model: 'm1', stream: true });
    expect(await json(`requests show ${requestId}`)).to.deep.include({
      object: 'request',
      request_id: requestId,
      response_id: requestId.replace('req_', 'resp_'),
      status: 'processing',
      status_url: `http://127.0.0.1:8080/api/v1/requests/${requestId}`,
      stream: true,
      created_at: CREATED_AT_MS / 1000,
      key: 'hmac-of-',
    });
  });

  it('shows one request by either of its ids', async () => {
    const { requestId } = await accept();
    await store.finish(
      requestId,
      newOutcome({ status: 'failed', errorCode: 'upstream_timeout', usageEstimated: true }),
    );
    const { stdout } = await run(`requests show ${requestId.replace('req_', 'resp_')}`, { env });
    expect(stdout).to.match(new RegExp(`^id +${requestId}$`, 'm'));
    expect(stdout).to.match(/^input tokens +11 \(estimated\)$/m);
    expect(stdout).to.match(/^error +upstream_timeout: The backend did not answer in time\.$/m);
  });

  it('says where the prompt parts from the turn before, and who changed it', async () => {
    const { requestId } = await accept();
    await store.finish(requestId, newOutcome({ promptTurn: { turn: 'broken', at: 'message 3 of 12', by: 'client' } }));
    const { stdout } = await run(`requests show ${requestId}`, { env });
    expect(stdout).to.match(/^prompt cache +3 tokens, broken at message 3 of 12 by the client$/m);
  });

  it('marks a request as cancelled, and says what comes of it', async () => {
    const { requestId } = await accept();
    const { status, stdout, stderr } = await run(`requests cancel ${requestId}`, { env });
    expect(stdout).to.match(/^cancel asked for +\d{4}-/m);
    expect(stderr).to.match(/notices within a second/);
    expect(status).to.equal(0);
    await store.finish(requestId, newOutcome());
    const again = await run(`requests cancel ${requestId}`, { env });
    expect(again.stdout).to.match(/^status +cancelled$/m);
    expect(again.stderr).to.equal('It had already ended and was not changed.\n');
  });

  for (const line of ['requests show', 'requests cancel']) {
    it(`ends with 1 when there is no such request (${line})`, async () => {
      const { status, stdout, stderr } = await run(`${line} ${newRequestId()}`, { env });
      expect(stderr).to.match(/^There is no request [^\n]+\.\n$/);
      expect({ status, stdout }).to.deep.equal({ status: 1, stdout: '' });
    });
  }

  it('goes on after a request that is gone, and picks by error and time', async () => {
    const [old, failed] = [await accept(), await accept()];
    await store.finish(failed.requestId, newOutcome({ status: 'failed', errorCode: 'upstream_timeout' }));
    const picks: readonly (readonly [options: string, ids: readonly string[]])[] = [
      [`--after ${newRequestId()}`, [failed.requestId, old.requestId]],
      ['--error upstream_timeout', [failed.requestId]],
      ['--from 2020-01-01 --status processing', [old.requestId]],
      ['--until 2020-01-01', []],
    ];
    for (const [options, ids] of picks) {
      const { stdout } = await run(`requests list --json ${options}`, { env });
      const { data } = JSON.parse(stdout) as { readonly data: readonly { readonly request_id: string }[] };
      expect(
        data.map(({ request_id }) => request_id),
        options,
      ).to.deep.equal(ids);
    }
    expect((await run('requests list --error none', { env })).stderr).to.match(/must be the code of an error/);
  });

  it('ends with 1 where no other process can see the database', async () => {
    const memory = await run('requests list', { env: { DATABASE_URL: ':memory:' } });
    expect(memory).to.deep.include({ status: 1 });
    expect(memory.stderr).to.match(/^DATABASE_URL is :memory:/);
  });

  it('shows nothing that could steer a terminal', async () => {
    await accept({ model: 'evil\u{1b}[2Jmodel\u{202e}' });
    const { stdout } = await run('requests list', { env });
    expect(stdout).to.contain('evil\u{fffd}[2Jmodel\u{fffd}');
  });

  it('never shows the whole HMAC of a caller', async () => {
    const { requestId } = await accept();
    for (const line of ['requests list', `requests show ${requestId}`, `requests cancel ${requestId}`]) {
      for (const form of [line, `${line} --json`]) {
        const { stdout, stderr } = await run(form, { env });
        expect(stdout + stderr).not.to.contain(CALLER);
      }
    }
  });

  describe('watch', () => {
    let written: string;
    let ctrlC: AbortController;
    let watching: Promise<Printed>;

    function watch(options: readonly string[], isTTY = false): void {
      written = '';
      ctrlC = new AbortController();
      const onWrite = (text: string) => (written += text);
      const line = ['requests', 'watch', '--every', '0s', ...options];
      watching = run(line, { env, isTTY, interruption: ctrlC.signal, onWrite });
    }

    async function end(): Promise<number> {
      ctrlC.abort();
      return (await watching).status;
    }

    it('prints a line for each request when it comes and when it changes, until Ctrl-C', async () => {
      const first = await accept();
      watch([]);
      await until(() => written.includes(first.requestId));
      const second = await accept();
      await until(() => written.includes(second.requestId));
      await store.finish(first.requestId, newOutcome());
      await until(() => written.includes('succeeded'));
      expect(await end()).to.equal(0);
      const lines = written.trimEnd().split('\n');
      expect(lines.map((line) => line.split('  ').slice(1, 3))).to.deep.equal([
        [first.requestId, 'processing'],
        [second.requestId, 'processing'],
        [first.requestId, 'succeeded'],
      ]);
    });

    it('gives a program a line of JSON for each', async () => {
      const { requestId } = await accept();
      watch(['--json']);
      await until(() => written.includes(requestId));
      expect(await end()).to.equal(0);
      expect(JSON.parse(written)).to.include({ request_id: requestId, status: 'processing' });
    });

    it('draws the table again in its place on a terminal', async () => {
      const { requestId } = await accept();
      watch([], true);
      await until(() => written.split(requestId).length > 3);
      expect(await end()).to.equal(0);
      expect(written.split('\u{1b}[H\u{1b}[J').length).to.equal(written.split(requestId).length);
    });
  });
});
