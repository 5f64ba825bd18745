/** Backends that answer when the test says so, and what was asked of them. */

import { setImmediate as turn } from 'node:timers/promises';
import { createBackends, type Backends } from '../../src/backend/backends.ts';
import { createFailover, type RoutedAskOptions, type RoutedChatBackend } from '../../src/backend/failover.ts';
import type { ChatBody } from '../../src/core/encoded-chat.ts';
import { ApiError } from '../../src/core/errors.ts';
import type { BackendSpec } from '../../src/core/routes.ts';
import { NO_FORWARD, onlyBackend, POLICY } from '../support/only-backend.ts';

export interface BackendsScene {
  nowMs: number;
  /** Requests that run, by the backend that has them. */
  readonly running: {
    readonly backend: string;
    readonly timeoutMs: number;
    readonly begin: () => void;
    readonly end: (error?: ApiError) => void;
  }[];
  /** The backend and the model of each request that was sent. */
  readonly sent: string[];
  /** The backends that were closed. */
  readonly closed: string[];
  /** The backends of the tries, in their order. */
  readonly asked: string[];
  open(specs?: readonly BackendSpec[], options?: OpenOptions): AskedBackends;
  /** Resolves with `answered` or the code of the error. */
  ask(backends: AskedBackends, options?: AskingOptions): Promise<string>;
  /** Ends the request that runs longest. */
  endNext(error?: ApiError): Promise<void>;
}

export type AskedBackends = Backends & RoutedChatBackend;

interface OpenOptions {
  readonly failover?: 'safe' | 'any';
  readonly keyOwner?: 'caller' | 'gateway';
}

interface AskingOptions extends Partial<Omit<RoutedAskOptions<ChatBody>, 'route'>> {
  readonly stream?: boolean;
  readonly names?: readonly string[];
  readonly alike?: readonly string[];
  readonly model?: string;
}

export function specOf(name: string, maxConcurrent: number | null = null): BackendSpec {
  return onlyBackend({ name, isOnly: false, maxConcurrent, baseUrl: `http://${name}/v1` });
}

export function createScene(): BackendsScene {
  const scene: BackendsScene = {
    nowMs: 0,
    running: [],
    sent: [],
    closed: [],
    asked: [],
    open(specs = ['a', 'b', 'c'].map((name) => specOf(name)), { failover = 'safe', keyOwner = 'gateway' } = {}) {
      const nowMs = (): number => scene.nowMs;
      const backends = createBackends(specs, {
        keyOwner,
        policy: () => ({ ...POLICY, queueTimeoutMs: 60_000 }),
        nowMs,
        onChange: () => undefined,
        open: ({ name }) => ({
          ask: ({ model }, { signal, firstByteTimeoutMs = 0 }, listener) =>
            new Promise((resolve, reject) => {
              scene.sent.push(`${name} ${model}`);
              const end = (error?: ApiError): void => (error === undefined ? resolve() : reject(error));
              const begin = (): void => listener.begin({ headers: {}, leftOut: [], limitTotal: () => undefined });
              scene.running.push({ backend: name, timeoutMs: firstByteTimeoutMs, begin, end });
              if (signal.aborted) end(new ApiError('client_disconnected'));
              signal.addEventListener('abort', () => end(new ApiError('client_disconnected')));
            }),
          relay: () => Promise.reject(new Error('nothing is relayed here')),
          ...NO_FORWARD,
          refusals: { any: () => false, forModel: () => [] },
          count: () => Promise.resolve(undefined),
          connections: () => ({ busy: 0, idle: 0 }),
          close: async () => void scene.closed.push(name),
        }),
      });
      return Object.assign(
        backends,
        createFailover({
          backends,
          policy: () => ({ ...POLICY, failover }),
          firstByteTimeoutMs: 600,
          headerHoldMs: 100,
          nowMs,
        }),
      );
    },
    async ask(backends, { stream = false, names = ['a', 'b', 'c'], alike = names, model = 'm', ...options } = {}) {
      const listener = { begin: () => undefined, take: () => undefined };
      const asking = {
        signal: new AbortController().signal,
        headers: {},
        route: { backends: names, alike, model, upstreamDialect: 'generic' },
        caller: 'me',
        note: ({ name }: BackendSpec) => void scene.asked.push(name),
        ...options,
      };
      try {
        await backends.ask({ model, messages: [], stream }, asking, listener);
        return 'answered';
      } catch (error) {
        return error instanceof ApiError ? error.code : String(error);
      }
    },
    async endNext(error) {
      await turn();
      scene.running.shift()?.end(error);
      await turn();
    },
  };
  return scene;
}
