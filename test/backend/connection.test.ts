import type { Readable } from 'node:stream';
import { expect } from 'chai';
import type { Dispatcher } from 'undici';
import {
  type BackendConnection,
  openConnection,
  type RequestBody,
  type TakeBytes,
} from '../../src/backend/connection.ts';
import { createStopController, type StopController } from '../../src/core/stop-signal.ts';
import { useHeldTime } from '../support/held-time.ts';
import { apiRejection, rejection } from './asking.ts';

type Handler = Required<
  Pick<
    Dispatcher.DispatchHandler,
    'onRequestStart' | 'onResponseStart' | 'onResponseData' | 'onResponseEnd' | 'onResponseError'
  >
>;

/** undici as the connection sees it: a test says what the network brings, and reads what was done to the socket. */
class FakeUndici implements Dispatcher.DispatchController {
  readonly calls: string[] = [];
  handler!: Handler;
  readonly aborted = false;
  readonly paused = false;
  readonly reason = null;

  sent!: Dispatcher.DispatchOptions;

  readonly dispatcher = {
    dispatch: (options: Dispatcher.DispatchOptions, handler: Handler): boolean => {
      this.sent = options;
      this.handler = handler;
      return true;
    },
  } as unknown as Dispatcher;

  pause(): void {
    this.calls.push('pause');
  }

  resume(): void {
    this.calls.push('resume');
  }

  abort(): void {
    this.calls.push('abort');
  }

  start(status = 200): void {
    this.handler.onRequestStart(this, {});
    this.handler.onResponseStart(this, status, {});
  }

  /** One read from the network; resolves when it has been passed on. */
  async data(text: string): Promise<void> {
    this.handler.onResponseData(this, Buffer.from(text));
    await Promise.resolve();
  }

  end(): void {
    this.handler.onResponseEnd(this, {});
  }

  breakOff(): void {
    this.handler.onResponseError(this, Object.assign(new Error('cut'), { code: 'ECONNRESET' }));
  }
}

const FIRST_BYTE_TIMEOUT_MS = 60_000;
const reason = new Error('the client has gone');

describe('the connection to the backend', () => {
  let undici: FakeUndici;
  let controller: StopController;
  let connection: BackendConnection;
  let taken: string[];

  beforeEach(() => {
    undici = new FakeUndici();
    controller = createStopController();
    taken = [];
  });

  function opening(body: RequestBody = ''): Promise<BackendConnection> {
    return openConnection(undici.dispatcher, {
      path: '/',
      headers: {},
      body,
      signal: controller.signal,
      firstByteTimeoutMs: FIRST_BYTE_TIMEOUT_MS,
    });
  }

  async function open(): Promise<void> {
    const opened = opening();
    undici.start();
    connection = await opened;
  }

  /** Reads the body; `answers` says what the reader does with each read, by its text, and with the end. */
  function read(answers: Readonly<Record<string, () => Promise<void> | undefined>> = {}): Promise<void> {
    const take: TakeBytes = (bytes) => {
      const text = bytes === undefined ? 'the end' : Buffer.from(bytes).toString();
      taken.push(text);
      return answers[text]?.();
    };
    return connection.pipe(take);
  }

  it('sends a large body in pieces of at most 2 MiB, without a copy', async () => {
    const [head, bulk] = [Buffer.from('{'), Buffer.alloc(5 * 1024 * 1024, 'x')];
    for (const body of [[head, bulk], bulk]) {
      const opened = opening(body);
      const pieces = (await (undici.sent.body as Readable).toArray()) as Buffer[];
      undici.start();
      await opened;
      const parts = Buffer.isBuffer(body) ? [body] : body;
      const whole = Buffer.concat(parts);
      expect(Buffer.concat(pieces).equals(whole)).to.equal(true);
      expect(undici.sent.headers).to.include({ 'content-length': String(whole.length) });
      expect(Math.max(...pieces.map(({ length }) => length))).to.equal(2 * 1024 * 1024);
      expect(new Set(pieces.map(({ buffer }) => buffer)).size).to.equal(parts.length);
    }
  });

  function release(): undefined {
    connection.release();
  }

  function nextTurn(): Promise<void> {
    return new Promise((resolve) => setImmediate(resolve));
  }

  async function isPending(promise: Promise<unknown>): Promise<boolean> {
    let isSettled = false;
    const settle = (): void => void (isSettled = true);
    promise.then(settle, settle);
    await nextTurn();
    return !isSettled;
  }

  describe('a reader that keeps up', () => {
    beforeEach(open);

    it('takes each read in the turn in which it arrives', async () => {
      const reading = read();

      await undici.data('a');
      expect(taken).to.deep.equal(['a']);
      await undici.data('b');
      expect(taken).to.deep.equal(['a', 'b']);
      undici.end();

      await reading;
      expect(taken).to.deep.equal(['a', 'b', 'the end']);
      expect(undici.calls).not.to.include('pause');
    });

    for (const { name, reads } of [
      { name: 'a large read', reads: [128] },
      { name: 'several reads', reads: [64, 64] },
    ])
      it(`waits with what follows ${name} until others have had their turn`, async () => {
        void read();
        undici.calls.length = 0;

        for (const kib of reads) {
          expect(undici.calls).to.deep.equal([]);
          await undici.data('a'.repeat(kib * 1024));
        }
        expect(taken).to.have.length(reads.length);
        expect(undici.calls).to.deep.equal(['pause']);

        await nextTurn();
        expect(undici.calls).to.deep.equal(['pause', 'resume']);
        await undici.data('b');
        expect(undici.calls).to.deep.equal(['pause', 'resume']);
      });

    it('waits so even if its client takes all at once', async () => {
      const piece = 'a'.repeat(128 * 1024);
      void read({ [piece]: () => Promise.resolve() });
      undici.calls.length = 0;

      await undici.data(piece);
      await Promise.resolve();
      expect(undici.calls).to.deep.equal(['pause']);

      await nextTurn();
      expect(undici.calls).to.deep.equal(['pause', 'resume']);
    });

    it('gets what arrived before it was there', async () => {
      await undici.data('a');
      undici.end();

      await read();

      expect(taken).to.deep.equal(['a', 'the end']);
    });

    it('gets in one piece what came in one read before it was there', async () => {
      undici.handler.onResponseData(undici, Buffer.from('a'));
      expect(undici.calls, 'a pause would cut the read').to.deep.equal([]);
      await undici.data('b');
      expect(undici.calls).to.deep.equal(['pause']);
      undici.end();

      await read();

      expect(taken).to.deep.equal(['ab', 'the end']);
    });

    it('is told of a connection that breaks, after what came before', async () => {
      const reading = apiRejection(read());
      await undici.data('a');
      undici.breakOff();

      expect((await reading).code).to.equal('upstream_error');
      expect(taken).to.deep.equal(['a']);
    });

    it('is the only one', () => {
      void read();

      expect(() => void read()).to.throw('has a reader already');
    });
  });

  describe('a reader that is busy', () => {
    let busy: PromiseWithResolvers<void>;
    const large = 'a'.repeat(64 * 1024);
    const whileBusy = { a: () => busy.promise, [large]: () => busy.promise };

    beforeEach(async () => {
      busy = Promise.withResolvers();
      await open();
    });

    it('pauses the socket, and resumes it', async () => {
      const reading = read(whileBusy);
      undici.calls.length = 0;

      await undici.data('a');
      expect(undici.calls).to.deep.equal(['pause']);
      await undici.data('b');
      expect(taken).to.deep.equal(['a']);
      busy.resolve();
      await isPending(reading);

      expect(taken).to.deep.equal(['a', 'b']);
      expect(undici.calls).to.deep.equal(['pause', 'pause', 'resume']);
      undici.end();
      await reading;
    });

    it('leaves the socket paused after a large read', async () => {
      void read(whileBusy);
      undici.calls.length = 0;

      await undici.data(large);
      await new Promise((resolve) => setImmediate(resolve));
      expect(undici.calls).to.deep.equal(['pause']);
    });

    it('is not given more than one read at a time', async () => {
      const second = Promise.withResolvers<void>();
      const reading = read({ ...whileBusy, bc: () => second.promise });
      await undici.data('a');
      await undici.data('b');
      await undici.data('c');
      undici.calls.length = 0;

      busy.resolve();
      await isPending(reading);
      expect(taken).to.deep.equal(['a', 'bc']);
      expect(undici.calls).to.deep.equal([]);
      second.resolve();
      undici.end();
      await reading;

      expect(taken).to.deep.equal(['a', 'bc', 'the end']);
    });

    it('gets the end after what waited for it', async () => {
      const reading = read(whileBusy);
      await undici.data('a');
      await undici.data('b');
      undici.end();
      expect(await isPending(reading)).to.equal(true);

      busy.resolve();
      await reading;

      expect(taken).to.deep.equal(['a', 'b', 'the end']);
    });

    it('gets what waited for it before the failure', async () => {
      const reading = read(whileBusy);
      await undici.data('a');
      await undici.data('b');
      undici.breakOff();
      expect(await isPending(reading)).to.equal(true);

      busy.resolve();

      expect((await apiRejection(reading)).code).to.equal('upstream_error');
      expect(taken).to.deep.equal(['a', 'b']);
    });

    it('is not waited for when the signal aborts', async () => {
      const reading = read(whileBusy);
      await undici.data('a');
      await undici.data('b');

      controller.abort(reason);

      expect(await rejection(reading)).to.equal(reason);
      expect(undici.calls.at(-1)).to.equal('abort');
      busy.resolve();
      await isPending(reading);
      expect(taken).to.deep.equal(['a']);
    });

    it('gets all of an answer that had ended when the signal aborts', async () => {
      const reading = read(whileBusy);
      await undici.data('a');
      await undici.data('b');
      undici.end();
      controller.abort(reason);

      busy.resolve();
      await reading;

      expect(taken).to.deep.equal(['a', 'b', 'the end']);
      expect(undici.calls).not.to.include('abort');
    });

    it('gets no end of an answer whose rest was dropped', async () => {
      const reading = read(whileBusy);
      await undici.data('a');
      await undici.data('b');
      undici.end();

      connection.abort();
      busy.resolve();

      expect((await apiRejection(reading)).message).to.equal('The request to the backend was given up.');
      expect(taken).to.deep.equal(['a']);
    });

    it('is waited for after it has released the connection', async () => {
      const reading = read({
        a() {
          connection.release();
          return busy.promise;
        },
      });
      await undici.data('a');
      await undici.data('b');
      undici.end();
      expect(await isPending(reading)).to.equal(true);

      busy.resolve();
      await reading;

      expect(taken).to.deep.equal(['a']);
    });

    it('fails the reading with what its promise rejects with', async () => {
      const reading = read(whileBusy);
      await undici.data('a');
      await undici.data('b');

      busy.reject(reason);

      expect(await rejection(reading)).to.equal(reason);
      expect(taken).to.deep.equal(['a']);
      expect(undici.calls.at(-1)).to.equal('abort');
    });

    it('ends the reading with what it does at the end', async () => {
      const reading = read({ 'the end': () => busy.promise });
      undici.end();
      expect(await isPending(reading)).to.equal(true);

      busy.reject(reason);

      expect(await rejection(reading)).to.equal(reason);
    });
  });

  describe('a reader that throws', () => {
    const throws = (): never => {
      throw reason;
    };

    beforeEach(open);

    it('ends the connection', async () => {
      const reading = read({ a: throws });
      await undici.data('a');
      await undici.data('b');

      expect(await rejection(reading)).to.equal(reason);
      expect(taken).to.deep.equal(['a']);
      expect(undici.calls.at(-1)).to.equal('abort');
    });

    it('gets neither the rest nor the end of an answer that had ended', async () => {
      await undici.data('a');
      await undici.data('b');
      undici.end();

      expect(await rejection(read({ ab: throws }))).to.equal(reason);
      expect(taken).to.deep.equal(['ab']);
    });

    it('leaves a connection open that it has released', async () => {
      const reading = read({
        a() {
          connection.release();
          throw reason;
        },
      });
      await undici.data('a');

      expect(await rejection(reading)).to.equal(reason);
      expect(undici.calls).not.to.include('abort');
      undici.end();
    });

    it('at the end fails the reading', async () => {
      const reading = read({ 'the end': throws });
      undici.end();

      expect(await rejection(reading)).to.equal(reason);
    });
  });

  describe('a connection that is released', () => {
    beforeEach(open);

    it('is drained, and its late end is nothing to the reader', async () => {
      await readUntilReleased();
      await undici.data('the rest');
      undici.end();

      expect(taken).to.deep.equal(['a']);
      expect(undici.calls).not.to.include('abort');
    });

    it('is closed when too much comes after that', async () => {
      await readUntilReleased();

      await undici.data('x'.repeat(64 * 1024));
      expect(undici.calls).not.to.include('abort');
      await undici.data('x');

      expect(undici.calls.at(-1)).to.equal('abort');
    });

    it('is out of reach of the signal', async () => {
      await readUntilReleased();
      controller.abort(reason);
      connection.abort();

      expect(undici.calls).not.to.include('abort');
      undici.end();
    });

    async function readUntilReleased(): Promise<void> {
      const reading = read({ a: release });
      if (taken.length === 0) await undici.data('a');
      await reading;
    }
  });

  describe('time', () => {
    const passTime = useHeldTime();

    it('does not pass for the backend while its reader is busy', async () => {
      await open();
      connection.limitSilence(100);
      const busy = Promise.withResolvers<void>();
      const reading = read({ a: () => busy.promise });
      await undici.data('a');

      await passTime(1000);
      busy.resolve();
      await passTime(99);
      await undici.data('b');
      await passTime(99);
      expect(taken).to.deep.equal(['a', 'b']);
      const failure = apiRejection(reading);
      await passTime(1);

      expect((await failure).code).to.equal('upstream_timeout');
      expect(undici.calls.at(-1)).to.equal('abort');
    });

    it('is limited from the moment in which a busy reader is ready, where the limit was set meanwhile', async () => {
      await open();
      const busy = Promise.withResolvers<void>();
      const reading = read({ a: () => busy.promise });
      await undici.data('a');
      connection.limitTotal(100);
      const failure = apiRejection(reading);

      await passTime(1000);
      busy.resolve();
      await passTime(99);
      await undici.data('b');
      expect(taken).to.deep.equal(['a', 'b']);
      await passTime(1);

      expect((await failure).code).to.equal('upstream_timeout');
    });

    it('for the rest of a released answer is short', async () => {
      await open();
      const reading = read({ a: release });
      await undici.data('a');
      await reading;

      await passTime(999);
      expect(undici.calls).not.to.include('abort');
      await passTime(1);

      expect(undici.calls.at(-1)).to.equal('abort');
    });

    it('is up for nobody once the answer has ended', async () => {
      await open();
      connection.limitSilence(100);
      const busy = Promise.withResolvers<void>();
      const reading = read({ a: () => busy.promise });
      await undici.data('a');
      undici.end();

      busy.resolve();
      await reading;
      await passTime(1000);

      expect(undici.calls).not.to.include('abort');
    });
  });

  describe('a process that stood still', () => {
    /** Both timers are due when the process goes on; what `act` does then comes before the connection looks again. */
    async function standStill(limit: 'limitSilence' | 'limitTotal', act: () => void): Promise<void> {
      connection[limit](1);
      const acted = new Promise<void>((resolve) => {
        setTimeout(() => {
          act();
          resolve();
        }, 1);
      });
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
      await acted;
      await new Promise((resolve) => setImmediate(resolve));
    }

    beforeEach(open);

    function bePatient(): undefined {
      connection.limitSilence(60_000);
    }

    it('reads what has arrived meanwhile before it takes the backend for silent', async () => {
      const reading = read({ a: bePatient });

      await standStill('limitSilence', () => void undici.data('a'));
      undici.end();
      await reading;

      expect(taken).to.deep.equal(['a', 'the end']);
    });

    it('does not end an answer while its reader is busy with what has arrived', async () => {
      const busy = Promise.withResolvers<void>();
      const reading = read({ a: () => busy.promise });

      await standStill('limitTotal', () => void undici.data('a'));
      undici.end();
      busy.resolve();
      await reading;

      expect(taken).to.deep.equal(['a', 'the end']);
    });

    it('keeps a connection that was released by what has arrived', async () => {
      const reading = read({ a: release });

      await standStill('limitTotal', () => void undici.data('a'));
      await reading;

      expect(undici.calls).not.to.include('abort');
      undici.end();
    });
  });

  describe('opening', () => {
    it('throws the reason of a signal that has aborted already', () => {
      controller.abort(reason);

      expect(() => void opening()).to.throw(reason.message);
    });

    it('rejects with the reason of the signal, and writes nothing once the connection is made', async () => {
      const opened = opening();
      controller.abort(reason);

      expect(await rejection(opened)).to.equal(reason);
      undici.handler.onRequestStart(undici, {});
      expect(undici.calls).to.deep.equal(['abort']);
    });

    it('rejects when the connection breaks before the answer', async () => {
      const opened = opening();
      undici.handler.onRequestStart(undici, {});
      undici.breakOff();

      expect((await apiRejection(opened)).code).to.equal('upstream_error');
    });

    it('waits for the answer after an informational one', async () => {
      const opened = opening();
      undici.start(103);
      undici.handler.onResponseStart(undici, 200, {});

      expect((await opened).status).to.equal(200);
      undici.end();
    });
  });
});
