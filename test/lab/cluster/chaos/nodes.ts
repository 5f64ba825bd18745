import { setTimeout as delay } from 'node:timers/promises';
import { startGatewayProcess, type GatewayProcess } from '../../../support/gateway-process.ts';
import { startStallingProxy } from '../../../support/stalling-proxy.ts';

/** A gateway that is ended and started again, under another address each time. */
export interface Node {
  readonly name: string;
  /** Where it listens, or listened last. */
  readonly url: string;
  /** What has been done to it, in order. */
  readonly silences: readonly Silence[];
  readonly state: 'running' | 'away';
  /** Tries until it listens: without its database it cannot start. */
  start(): Promise<void>;
  /** As a loss of power. */
  kill(): Promise<void>;
  /** As a deployment does: what runs may end. */
  drain(): Promise<void>;
  /** Stops it in the middle of whatever it does, for so long. */
  pause(ms: number): Promise<void>;
  /** Lets no answer of the database through from its next COMMIT on, for so long. Then they arrive, or are lost. */
  holdCommit(ms: number, end: 'arrive' | 'lost'): Promise<void>;
  /** After the last use. */
  close(): Promise<void>;
}

/** When nothing could come from a node. `untilMs` is Infinity while that lasts. In Unix time. */
export interface Silence {
  readonly kind: 'killed' | 'paused' | 'drained' | 'held';
  readonly fromMs: number;
  untilMs: number;
}

export interface NodeOptions {
  readonly name: string;
  readonly settings: Readonly<Record<string, string>>;
  readonly databaseUrl: string;
  readonly onLog: (text: string) => void;
  /** What it has written to stderr until its end, where nothing is to be. */
  readonly onStderr: (text: string) => void;
}

const TRY_AGAIN_MS = 300;

/** Does not start it yet. Its database is behind a way of its own, which can be held up. */
export async function createNode({ name, settings, databaseUrl, onLog, onStderr }: NodeOptions): Promise<Node> {
  const silences: Silence[] = [];
  const database = new URL(databaseUrl);
  const proxy = await startStallingProxy({ host: database.hostname, port: Number(database.port) });
  database.host = `127.0.0.1:${proxy.port}`;
  let gateway: GatewayProcess | undefined;
  let listensAt = 'http://127.0.0.1:1';
  let state: Node['state'] = 'away';

  function fallSilent(kind: Silence['kind']): Silence {
    state = 'away';
    const silence = { kind, fromMs: Date.now(), untilMs: Infinity };
    silences.push(silence);
    return silence;
  }

  async function end(kind: 'killed' | 'drained', signal: NodeJS.Signals): Promise<void> {
    const silence = fallSilent(kind);
    gateway?.signal(signal);
    const ended = await gateway?.ended();
    // What is drained goes on until its end.
    if (kind === 'drained') silences[silences.indexOf(silence)] = { ...silence, fromMs: Date.now() };
    onStderr(ended?.stderr ?? '');
  }

  return {
    name,
    get url() {
      return listensAt;
    },
    silences,
    get state() {
      return state;
    },
    async start() {
      for (;;) {
        const own = { DATABASE_URL: database.href, LOG_LEVEL: 'warn', LOG_FORMAT: 'json' };
        const started = await startGatewayProcess({ ...settings, ...own }, { onLog, isImpatient: true });
        if (started.url !== undefined) {
          gateway = started;
          listensAt = started.url;
          break;
        }
        await started.ended();
        await delay(TRY_AGAIN_MS);
      }
      const last = silences.at(-1);
      if (last !== undefined) last.untilMs = Date.now();
      state = 'running';
    },
    kill: () => end('killed', 'SIGKILL'),
    drain: () => end('drained', 'SIGTERM'),
    async pause(ms) {
      const silence = fallSilent('paused');
      gateway?.signal('SIGSTOP');
      await delay(ms);
      gateway?.signal('SIGCONT');
      silence.untilMs = Date.now();
      state = 'running';
    },
    async holdCommit(ms, end) {
      const held = { kind: 'held' as const, fromMs: Date.now(), untilMs: Infinity };
      silences.push(held);
      if (end === 'arrive') proxy.holdAnswersFrom('COMMIT');
      else proxy.loseAnswersFrom('COMMIT');
      await delay(ms);
      if (end === 'arrive') proxy.release();
      else proxy.mend();
      held.untilMs = Date.now();
    },
    close: () => proxy.close(),
  };
}
