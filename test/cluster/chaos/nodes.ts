import { setTimeout as delay } from 'node:timers/promises';
import { startGatewayProcess, type GatewayProcess } from '../../support/gateway-process.ts';

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
}

/** When nothing could come from a node. `untilMs` is Infinity while that lasts. In Unix time. */
export interface Silence {
  readonly kind: 'killed' | 'paused' | 'drained';
  readonly fromMs: number;
  untilMs: number;
}

export interface NodeOptions {
  readonly name: string;
  readonly settings: Readonly<Record<string, string>>;
  readonly onLog: (text: string) => void;
  /** What it has written to stderr until its end, where nothing is to be. */
  readonly onStderr: (text: string) => void;
}

const TRY_AGAIN_MS = 300;

/** Does not start it yet. */
export function createNode({ name, settings, onLog, onStderr }: NodeOptions): Node {
  const silences: Silence[] = [];
  let gateway: GatewayProcess | undefined;
  let url = 'http://127.0.0.1:1';
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
      return url;
    },
    silences,
    get state() {
      return state;
    },
    async start() {
      for (;;) {
        const started = await startGatewayProcess(
          { ...settings, LOG_LEVEL: 'warn', LOG_FORMAT: 'json' },
          { onLog, isImpatient: true },
        );
        if (started.url !== undefined) {
          gateway = started;
          ({ url } = started);
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
  };
}
