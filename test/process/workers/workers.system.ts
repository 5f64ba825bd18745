import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import Sqlite from 'better-sqlite3';
import type { RequestRecord } from '../../../src/contract/types.ts';
import type {
  AdminBackend,
  AdminBackendList,
  AdminLimit,
  AdminLimitList,
} from '../../../src/contract/operator-types.ts';
import { answer, stream, text } from '../../records/chunks.ts';
import { expectBooksToAddUp } from '../../support/books.ts';
import { readExposition, sumOf, type Family } from '../../support/exposition.ts';
import { useRealSockets } from '../../support/real-sockets.ts';
import { inOneMinute } from '../../support/one-minute.ts';
import { until, untilRead } from '../../support/time.ts';
import { MANAGED, openWorkers, type Connection, type LogLine, type Workers } from './open-workers.ts';

const BODY = { model: 'm', input: 'Hello' };

describe('workers that share a port', () => {
  useRealSockets();
  let workers: Workers;

  afterEach(() => workers.close());

  async function open(settings: Readonly<Record<string, string>> = {}): Promise<void> {
    workers = await openWorkers(settings);
    expect(workers.gateway.url, workers.gateway.banner).not.to.equal(undefined);
  }

  const listens = (worker: number) => (line: LogLine) => line.msg === 'a worker listens' && line.worker === worker;

  /** A request which runs on this connection until the backend is left. */
  let started = 0;

  /** With an idempotency key, so that the record is there before the backend is asked. */
  async function startOn(connection: Connection, body: object = BODY) {
    const asked = workers.backend.requests.length;
    started += 1;
    const reply = connection.create(body, { 'idempotency-key': `request ${started}` });
    await workers.backend.request(asked + 1);
    return reply;
  }

  async function recordsAt(connection: Connection): Promise<readonly RequestRecord[]> {
    const { text } = await connection.ask('GET', '/api/v1/requests');
    return (JSON.parse(text) as { data: RequestRecord[] }).data;
  }

  async function noneProcessing(connection: Connection): Promise<void> {
    await untilRead(async () => (await recordsAt(connection)).every(({ status }) => status !== 'processing'));
  }

  it('show the same records wherever they were made, and close those of a dead one, also in memory', async () => {
    await open({ DATABASE_URL: ':memory:', GATEWAY_SECRET: '' });
    workers.backend.always(answer());
    const [one, other] = [await workers.connect(1), await workers.connect(2)];
    for (const connection of [one, other]) expect(await connection.create(BODY)).to.include({ status: 200 });
    await noneProcessing(one);
    expect(await recordsAt(one)).to.have.lengthOf(2);
    expect(await recordsAt(other)).to.deep.equal(await recordsAt(one));

    workers.backend.always(({ hang }) => hang());
    const lost = startOn(one);
    await workers.backend.request(3);
    process.kill(workers.pidOf(1), 'SIGKILL');
    expect((await lost).status).to.equal(0);
    await noneProcessing(other);
    const [record] = await recordsAt(other);
    expect([record?.status, record?.error?.code]).to.deep.equal(['failed', 'gateway_interrupted']);
  });

  it('say in one banner that they are several, and have one demo backend', async () => {
    await open({ UPSTREAM_BASE_URL: '', LOG_LEVELS: 'info' });
    const { banner } = workers.gateway;
    expect(banner).to.contain('  workers   2 processes share the port\n');
    expect(banner.match(/Responses gateway at/g)).to.have.lengthOf(1);
    for (const worker of [1, 2]) {
      const reply = await (await workers.connect(worker)).create({ model: 'demo', input: 'Hello' });
      expect(reply.status).to.equal(200);
      expect(reply.text).to.contain('Hello from the demo backend!');
    }
    const warnings = workers.lines.filter(({ msg }) => msg.includes('did you mean LOG_LEVEL?'));
    expect(warnings).to.have.lengthOf(1);
  });

  it('end what runs at one of them when another is asked to cancel it', async () => {
    await open();
    workers.backend.always(stream([text('Hello')], 'hang'));
    const [one, other] = [await workers.connect(1), await workers.connect(2)];
    const running = startOn(one);
    await workers.backend.request(1);
    const [record] = await recordsAt(other);
    const asked = await other.ask('POST', `/api/v1/requests/${record?.request_id}/cancel`);
    expect(asked.status).to.equal(202);
    expect(await running).to.include({ status: 409 });
    expect((await recordsAt(one))[0]).to.include({ status: 'cancelled' });
  });

  it('outlive the one that asks the backend about its keys at the start', async () => {
    await open({ AUTH_MODE: 'passthrough', API_KEYS: '' });
    workers.backend.always(({ hang }) => hang());
    await workers.backend.request(1);
    const next = workers.nextLine(listens(1));
    process.kill(workers.pidOf(1), 'SIGKILL');
    await next;
    expect(await workers.newConnection().ask('GET', '/healthz')).to.include({ status: 200 });
  });

  it('put a new one in the place of one that is killed, close what it left, and serve on', async () => {
    await open(MANAGED);
    const key = await workers.issueKey({ credits: '1.00' });
    const goOn = Promise.withResolvers<void>();
    workers.backend.always(async (stage) => {
      await goOn.promise;
      await answer()(stage);
    });
    const [one, again, other] = [
      await workers.connect(1, key.secret),
      await workers.connect(1, key.secret),
      await workers.connect(2, key.secret),
    ];
    const lost = [startOn(one)];
    await workers.backend.request(1);
    lost.push(startOn(again, { ...BODY, stream: true }));
    await workers.backend.request(2);
    const kept = startOn(other);
    await workers.backend.request(3);

    const third = await workers.connect(2, key.secret);
    const [next, closed] = [workers.nextLine(listens(1)), workers.nextLine(({ recovered }) => recovered !== undefined)];
    process.kill(workers.pidOf(1), 'SIGKILL');
    for (const reply of lost) expect((await reply).status).to.equal(0);
    expect(await closed).to.include({ worker: 1, recovered: 2 });
    expect((await recordsAt(third)).map(({ status, error }) => [status, error?.code])).to.deep.equal([
      ['processing', undefined],
      ['failed', 'gateway_interrupted'],
      ['failed', 'gateway_interrupted'],
    ]);
    goOn.resolve();
    expect(await kept).to.include({ status: 200 });
    await next;
    expect(await (await workers.connect(1, key.secret)).create(BODY)).to.include({ status: 200 });
    await noneProcessing(third);
    expect(expectBooksToAddUp(workers.file, key.id)).to.include({ requests: 4 });
  });

  it('put a new one in the place of one that hangs, close what it left, and serve on meanwhile', async () => {
    await open(MANAGED);
    const key = await workers.issueKey({ credits: '1.00' });
    workers.backend.always(({ hang }) => hang());
    const [one, other] = [await workers.connect(1, key.secret), await workers.connect(2, key.secret)];
    const lost = startOn(one);
    await workers.backend.request(1);
    const killed = workers.nextLine(({ msg }) => msg === 'a worker does not answer, and is killed');
    const next = workers.nextLine(listens(1));
    process.kill(workers.pidOf(1), 'SIGSTOP');
    workers.backend.always(answer());
    expect(await other.create(BODY)).to.include({ status: 200 });
    expect(await killed).to.include({ worker: 1 });
    expect((await lost).status).to.equal(0);
    await next;
    await noneProcessing(other);
    expect(await (await workers.connect(1, key.secret)).create(BODY)).to.include({ status: 200 });
    await noneProcessing(other);
    expectBooksToAddUp(workers.file, key.id);
  });

  it('serve a connection that was on its way to one when it died', async () => {
    await open();
    process.kill(workers.pidOf(1), 'SIGSTOP');
    const replies = [1, 2, 3, 4].map(() => workers.newConnection().ask('GET', '/healthz'));
    // The stopped one keeps one of them, and gets no other.
    let answered = 0;
    for (const reply of replies) void reply.then(() => (answered += 1));
    await until(() => answered === 3);
    process.kill(workers.pidOf(1), 'SIGKILL');
    for (const reply of replies) expect(await reply).to.include({ status: 200 });
  });

  it('replace one that crashes, after it has told its running requests', async () => {
    const crash = `process.on('SIGUSR2', () => { throw new RangeError('canary'); });`;
    await open({ NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(crash)}` });
    workers.backend.always(stream([text('Hello')], 'hang'));
    const one = await workers.connect(1);
    const begins = one.nextHead();
    const running = startOn(one, { ...BODY, stream: true });
    await begins;
    const next = workers.nextLine(listens(1));
    process.kill(workers.pidOf(1), 'SIGUSR2');
    expect((await running).text)
      .to.contain('response.failed')
      .and.to.contain('gateway_interrupted');
    await next;
    workers.gateway.kill();
    expect((await workers.gateway.ended()).stderr)
      .to.contain('crash: RangeError at')
      .and.not.to.contain('canary');
  });

  it('wait longer and longer before they start one again that cannot live, and say so', async () => {
    // Those after the first two die at once.
    const die = `import cluster from 'node:cluster'; if (cluster.worker?.id > 2) process.exit(7);`;
    await open({ NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(die)}` });
    workers.backend.always(answer());
    const other = await workers.connect(2);
    const third = workers.nextLine(({ restartInMs }) => restartInMs === 400);
    process.kill(workers.pidOf(1), 'SIGKILL');
    await third;
    const waits = workers.lines.filter(({ restartInMs }) => restartInMs !== undefined);
    expect(waits.map(({ restartInMs }) => restartInMs).slice(0, 3)).to.deep.equal([100, 200, 400]);
    expect(waits.map(({ how }) => how).slice(0, 3)).to.deep.equal(['SIGKILL', 'exit code 7', 'exit code 7']);
    expect(workers.lines.find(({ msg }) => msg === 'a worker could not be started')).to.include({
      reason: 'Worker 1 ended before it listened (exit code 7).',
    });
    expect(await other.create(BODY)).to.include({ status: 200 });
    workers.gateway.signal('SIGTERM');
    expect(await workers.gateway.ended()).to.deep.equal({ exitCode: 0, stderr: '' });
  });

  it('start one again that dies before it listens', async () => {
    const die = `import cluster from 'node:cluster'; if (cluster.worker?.id === 2) process.kill(process.pid, 'SIGKILL');`;
    await open({ NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(die)}` });
    workers.backend.always(answer());
    for (const worker of [1, 2]) {
      expect(await (await workers.connect(worker)).create(BODY)).to.include({ status: 200 });
    }
    expect(workers.lines.find(({ msg }) => msg === 'a worker could not be started')).to.include({
      worker: 2,
      reason: 'Worker 2 ended before it listened (SIGKILL).',
    });
  });

  it('end a start in which each of them dies, and say so', async () => {
    const die = `import cluster from 'node:cluster'; if (cluster.isWorker) process.exit(7);`;
    workers = await openWorkers({
      NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(die)}`,
      LOG_LEVEL: 'silent',
    });
    const { stderr, exitCode } = await workers.gateway.ended();
    expect(stderr).to.match(/^Worker [12] ended before it listened \(exit code 7\)\.\n$/);
    expect(exitCode).to.equal(1);
  });

  it('end with the first process when that is killed, and the next start closes what all of them left', async () => {
    await open();
    workers.backend.always(({ hang }) => hang());
    const replies = [startOn(await workers.connect(1))];
    await workers.backend.request(1);
    replies.push(startOn(await workers.connect(2)));
    await workers.backend.request(2);
    workers.gateway.kill();
    for (const reply of replies) expect((await reply).status).to.equal(0);
    // All that hold its standard error are gone.
    await workers.gateway.ended();
    await workers.startAgain();
    const database = new Sqlite(workers.file, { readonly: true });
    const rows = database.prepare('SELECT status, error_code FROM requests').raw().all();
    database.close();
    expect(rows).to.deep.equal([
      ['failed', 'gateway_interrupted'],
      ['failed', 'gateway_interrupted'],
    ]);
  });

  describe('when they are to stop', () => {
    it('let what runs end, take nothing new, and end with 0', async () => {
      await open();
      const goOn = Promise.withResolvers<void>();
      workers.backend.always(async (stage) => {
        await goOn.promise;
        await answer()(stage);
      });
      const connections = [await workers.connect(1), await workers.connect(2)];
      const idle = [];
      for (const worker of [1, 2]) idle.push([await workers.connect(worker), await workers.connect(worker)] as const);
      const replies = [];
      for (const connection of connections) {
        replies.push(startOn(connection));
        await workers.backend.request(replies.length);
      }
      // Those who send it to every process, as systemd does, may reach the workers first.
      for (const worker of [1, 2]) process.kill(workers.pidOf(worker), 'SIGTERM');
      workers.gateway.signal('SIGTERM');
      for (const [asking, creating] of idle) {
        // The reply that says so closes its connection.
        await until(async () => (await asking.ask('GET', '/readyz')).status === 503);
        expect(await creating.create(BODY)).to.include({ status: 503 });
      }
      goOn.resolve();
      for (const reply of replies) expect(await reply).to.include({ status: 200 });
      expect(await workers.gateway.ended()).to.deep.equal({ exitCode: 0, stderr: '' });
    });

    it('take requests for DRAIN_DELAY_MS more, while none of them is ready', async () => {
      await open({ DRAIN_DELAY_MS: '60000' });
      workers.backend.always(answer());
      const idle = [];
      for (const worker of [1, 2]) idle.push([await workers.connect(worker), await workers.connect(worker)] as const);
      workers.gateway.signal('SIGTERM');
      for (const [asking, creating] of idle) {
        await until(async () => (await asking.ask('GET', '/readyz')).status === 503);
        expect(await creating.create(BODY)).to.include({ status: 200 });
      }
      expect(await endedByAnother('SIGTERM')).to.include({ exitCode: 143 });
    });

    it('end what takes longer than it may, and kill one which does not end', async () => {
      await open({ DRAIN_TIMEOUT_MS: '100' });
      workers.backend.always(({ hang }) => hang());
      const connections = [await workers.connect(1), await workers.connect(2)];
      const replies = [];
      for (const connection of connections) {
        replies.push(startOn(connection));
        await workers.backend.request(replies.length);
      }
      process.kill(workers.pidOf(2), 'SIGSTOP');
      workers.gateway.signal('SIGTERM');
      expect((await replies[0])?.text).to.contain('gateway_interrupted');
      expect(await replies[1]).to.include({ status: 0 });
      expect(await workers.gateway.ended()).to.deep.equal({ exitCode: 0, stderr: '' });
      expect(workers.lines.find(({ msg }) => msg.includes('is killed'))).to.include({ worker: 2 });
      const database = new Sqlite(workers.file, { readonly: true });
      const codes = database.prepare('SELECT error_code FROM requests').pluck().all();
      database.close();
      expect(codes).to.deep.equal(['gateway_interrupted', 'gateway_interrupted']);
    });

    it('end at once at a second signal', async () => {
      await open();
      workers.backend.always(({ hang }) => hang());
      const reply = startOn(await workers.connect(1));
      await workers.backend.request(1);
      const idle = await workers.connect(1);
      workers.gateway.signal('SIGTERM');
      await until(async () => (await idle.ask('GET', '/readyz')).status === 503);
      expect(await endedByAnother('SIGTERM')).to.include({ exitCode: 143 });
      expect((await reply).status).to.equal(0);
    });

    /** One that comes within a moment is taken for a copy of the first. */
    async function endedByAnother(signal: NodeJS.Signals): Promise<{ readonly exitCode: number | null }> {
      let isOver = false;
      const ended = workers.gateway.ended().finally(() => (isOver = true));
      await until(() => {
        if (!isOver) workers.gateway.signal(signal);
        return isOver;
      });
      return ended;
    }
  });

  for (const { what, settings, said, exitCode } of [
    {
      what: 'wrong settings',
      settings: { WORKERS: '65' },
      said: /^WORKERS: must be a whole number from 1 to 64/,
      exitCode: 78,
    },
    {
      what: 'a port that is taken',
      settings: {},
      said: /^Cannot listen on 127\.0\.0\.1:\d+: another program uses this port;[^\n]*\(EADDRINUSE\)\.\n$/,
      exitCode: 1,
    },
    {
      what: 'a database that cannot be opened',
      settings: { DATABASE_URL: 'file:/dev/null/x.db' },
      said: /^The database \/dev\/null\/x\.db cannot be opened: [^\n]*\n$/,
      exitCode: 1,
    },
  ]) {
    it(`end a start with ${what} as one process does`, async () => {
      const taken = createServer().listen(0, '127.0.0.1');
      await once(taken, 'listening');
      try {
        const { port } = taken.address() as AddressInfo;
        workers = await openWorkers({ PORT: String(port), ...settings });
        const { stderr, exitCode: found } = await workers.gateway.ended();
        expect(stderr).to.match(said);
        expect(found).to.equal(exitCode);
      } finally {
        taken.close();
      }
    });
  }

  describe('count together', () => {
    const METRICS_TOKEN = 'the-token-of-the-metrics';

    async function scrape(): Promise<ReadonlyMap<string, Family>> {
      const reply = await fetch(`${workers.url}/metrics`, { headers: { authorization: `Bearer ${METRICS_TOKEN}` } });
      expect(reply.headers.get('content-type')).to.match(/^text\/plain; version=0\.0\.4/);
      return readExposition(await reply.text());
    }

    const answered = (families: ReadonlyMap<string, Family>): number =>
      sumOf(families, 'responses_gateway_requests_total', { endpoint: 'responses', outcome: 'answered' });

    it('how their backends are, wherever the operator asks', async () => {
      const token = 'admin-token-canary-1';
      await open({ ADMIN_TOKEN: token });
      workers.backend.always(answer());
      const connections = [await workers.connect(1), await workers.connect(2), await workers.connect(2)];
      for (const connection of connections) expect(await connection.create(BODY)).to.include({ status: 200 });
      const headers = { authorization: `Bearer ${token}` };
      let backend: AdminBackend | undefined;
      // One that takes longer than a second to say it is left out.
      await until(async () => {
        const reply = await fetch(`${workers.url}/admin/v1/backends`, { headers });
        [backend] = ((await reply.json()) as AdminBackendList).data;
        return backend?.answered === 3;
      });
      expect(backend).to.include({ failed: 0, state: 'up' });
    });

    it('how full their limits are, wherever the operator asks', async () => {
      const token = 'admin-token-canary-1';
      await open({ ADMIN_TOKEN: token, MAX_CONCURRENT_REQUESTS: '32' });
      const headers = { authorization: `Bearer ${token}` };
      let requests: AdminLimit | undefined;
      await until(async () => {
        const reply = await fetch(`${workers.url}/admin/v1/limits`, { headers });
        requests = ((await reply.json()) as AdminLimitList).data.find(({ name }) => name === 'requests');
        return requests?.capacity === 64;
      });
      expect(requests).to.include({ used: 0, fullest_percent: 0 });
    });

    it('what each of them did, in any scrape, and keep what a dead one had counted', async () => {
      await open({ METRICS_TOKEN });
      workers.backend.always(answer());
      const connections = [await workers.connect(1), await workers.connect(2), await workers.connect(2)];
      for (const connection of connections) expect(await connection.create(BODY)).to.include({ status: 200 });
      await until(async () => answered(await scrape()) === 3);
      const families = await scrape();
      expect(sumOf(families, 'responses_gateway_build_info')).to.equal(1);
      expect(sumOf(families, 'responses_gateway_tokens_total', { kind: 'output' })).to.equal(21);
      expect(sumOf(families, 'process_start_time_seconds')).to.be.closeTo(Date.now() / 1000, 600);
      const next = workers.nextLine(listens(2));
      process.kill(workers.pidOf(2), 'SIGKILL');
      await next;
      expect(answered(await scrape())).to.equal(3);
      expect(await (await workers.connect(2)).create(BODY)).to.include({ status: 200 });
      await until(async () => answered(await scrape()) === 4);
    });

    it('the requests and the tokens of a key per minute', async () => {
      await open(MANAGED);
      workers.backend.always(answer());
      await inOneMinute(async () => {
        const key = await workers.issueKey({ limits: { requests_per_minute: 5 } });
        const connections = [await workers.connect(1, key.secret), await workers.connect(2, key.secret)];
        const statuses: number[] = [];
        for (let asked = 0; asked < 6; asked += 1) {
          for (const connection of connections) statuses.push((await connection.create(BODY)).status);
        }
        expect(statuses).to.deep.equal([...Array(5).fill(200), ...Array(7).fill(429)]);
      });
    });
  });

  describe('follow the operator together', () => {
    const withPrice = (output: string): string =>
      JSON.stringify({ currency: 'USD', models: { m: { input: '2', output } } });

    const charged = (): number[] => {
      const database = new Sqlite(workers.file, { readonly: true });
      const costs = database.prepare<[], number>('SELECT cost_micro FROM requests ORDER BY seq').pluck().all();
      database.close();
      return costs;
    };

    it('in a change of prices, which one that comes later has too', async () => {
      await open(MANAGED);
      workers.backend.always(answer());
      const key = await workers.issueKey({ credits: '1.00' });
      const createAtBoth = async () => {
        for (const worker of [1, 2]) {
          const connection = await workers.connect(worker, key.secret);
          expect(await connection.create(BODY)).to.include({ status: 200 });
          await noneProcessing(connection);
        }
      };
      writeFileSync(workers.pricesFile, withPrice('100'));
      const read = workers.nextLine(({ msg }) => msg.startsWith('PRICES_FILE'));
      workers.gateway.signal('SIGHUP');
      expect((await read).msg).to.contain('was read');
      await createAtBoth();

      // Nobody has asked for this one to be read, and it would not do.
      writeFileSync(workers.pricesFile, 'no prices');
      const next = workers.nextLine(listens(2));
      process.kill(workers.pidOf(2), 'SIGKILL');
      await next;
      await createAtBoth();
      expect(charged()).to.deep.equal([1, 2, 3, 4].map(() => 11 * 2 + 7 * 100));
      const said = workers.lines.filter(({ msg }) => msg.startsWith('PRICES_FILE'));
      expect(said, 'lines about prices').to.have.lengthOf(1);
    });

    it('in what is said of models', async () => {
      const folder = mkdtempSync(join(tmpdir(), 'models-'));
      const path = join(folder, 'models.json');
      const say = (temperature: number) =>
        writeFileSync(path, JSON.stringify({ models: { '*': { overrides: { temperature } } } }));
      try {
        say(0.5);
        await open({ MODELS_FILE: path });
        workers.backend.always(answer());
        const createAtBoth = async () => {
          for (const worker of [1, 2]) await (await workers.connect(worker)).create(BODY);
          return workers.backend.requests.slice(-2).map(({ body }) => (body as { temperature?: number }).temperature);
        };
        expect(await createAtBoth()).to.deep.equal([0.5, 0.5]);
        say(0.9);
        const read = workers.nextLine(({ msg }) => msg.startsWith('MODELS_FILE'));
        workers.gateway.signal('SIGHUP');
        await read;
        expect(await createAtBoth()).to.deep.equal([0.9, 0.9]);
      } finally {
        rmSync(folder, { recursive: true, force: true });
      }
    });

    it('in the keys of a file', async () => {
      const folder = mkdtempSync(join(tmpdir(), 'keys-'));
      const path = join(folder, 'keys');
      try {
        writeFileSync(path, 'first-key-of-a-file');
        await open({ AUTH_MODE: 'static', API_KEYS_FILE: path });
        workers.backend.always(answer());
        writeFileSync(path, 'second-key-of-a-file');
        const read = workers.nextLine(({ msg }) => msg.startsWith('API_KEYS_FILE'));
        workers.gateway.signal('SIGHUP');
        await read;
        for (const worker of [1, 2]) {
          const create = async (key: string) => (await (await workers.connect(worker, key)).create(BODY)).status;
          expect(await create('second-key-of-a-file')).to.equal(200);
          expect(await create('first-key-of-a-file')).to.equal(401);
        }
      } finally {
        rmSync(folder, { recursive: true, force: true });
      }
    });

    it('in a change of prices while one of them is being started', async () => {
      const folder = mkdtempSync(join(tmpdir(), 'gate-'));
      const [arrived, gate] = [join(folder, 'arrived'), join(folder, 'gate')];
      // The third process waits before it reads its first message.
      const wait = `import cluster from 'node:cluster'; import fs from 'node:fs'; import { setTimeout } from 'node:timers/promises';
        if (cluster.worker?.id === 3) {
          fs.writeFileSync(${JSON.stringify(arrived)}, '');
          while (!fs.existsSync(${JSON.stringify(gate)})) await setTimeout(5);
        }`;
      try {
        await open({ ...MANAGED, NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(wait)}` });
        workers.backend.always(answer());
        const key = await workers.issueKey({ credits: '1.00' });
        process.kill(workers.pidOf(2), 'SIGKILL');
        await until(() => existsSync(arrived));
        writeFileSync(workers.pricesFile, withPrice('100'));
        const read = workers.nextLine(({ msg }) => msg.startsWith('PRICES_FILE'));
        const next = workers.nextLine(listens(2));
        workers.gateway.signal('SIGHUP');
        await read;
        writeFileSync(gate, '');
        await next;
        for (const worker of [1, 2]) {
          const connection = await workers.connect(worker, key.secret);
          expect(await connection.create(BODY)).to.include({ status: 200 });
          await noneProcessing(connection);
        }
        expect(charged()).to.deep.equal([1, 2].map(() => 11 * 2 + 7 * 100));
      } finally {
        rmSync(folder, { recursive: true, force: true });
      }
    });

    it('in the end of a key, which the others soon take no longer', async () => {
      await open(MANAGED);
      workers.backend.always(answer());
      const key = await workers.issueKey({});
      const connections = [await workers.connect(1, key.secret), await workers.connect(2, key.secret)];
      for (const connection of connections) expect(await connection.create(BODY)).to.include({ status: 200 });
      await workers.administrate('PATCH', `/admin/v1/keys/${key.id}`, { disabled: true });
      for (const connection of connections) await until(async () => (await connection.create(BODY)).status === 401);
    });
  });
});
