import type { AddressInfo, Server } from 'node:net';
import { Session } from 'node:inspector/promises';
import { answer, say, type Questions } from '../processes.ts';

/** Where a target is, and the key it wants, when it does not take any. */
export interface Listening {
  readonly url: string;
  readonly apiKey?: string;
}

/** What a target has used since it started, and what it holds. */
export interface Usage {
  readonly cpuMicros: number;
  readonly rssBytes: number;
}

const PROFILE_INTERVAL_MICROS = 200;

/** Tells the bench where this target listens, and answers what it has used and these questions, for as long as the bench lives. */
export function beMeasured(listening: Listening, questions: Questions = {}): void {
  const session = new Session();
  answer({
    ...questions,
    usage(): Usage {
      const { user, system } = process.cpuUsage();
      return { cpuMicros: user + system, rssBytes: process.memoryUsage.rss() };
    },
    /** Collects all there is to collect, and gives free pages back: what resides after it is held by something. */
    async shrink() {
      await globalThis.gc?.({ type: 'major', flavor: 'last-resort', execution: 'async' });
    },
    async startProfile() {
      session.connect();
      await session.post('Profiler.enable');
      await session.post('Profiler.setSamplingInterval', { interval: PROFILE_INTERVAL_MICROS });
      await session.post('Profiler.start');
    },
    async stopProfile() {
      const { profile } = await session.post('Profiler.stop');
      session.disconnect();
      return profile;
    },
  });
  say('listening', listening);
}

/** The same for a bare server, on any free port of loopback. */
export function listenMeasured(server: Server): void {
  server.listen(0, '127.0.0.1', () =>
    beMeasured({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }),
  );
}
