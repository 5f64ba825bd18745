/**
 * The whole gateway as its users meet it, through its HTTP door, on a free port and with its records in memory.
 *
 *     const gateway = await openGateway({ UPSTREAM_BASE_URL: backend.baseUrl });
 *     const reply = await gateway.create({ model: 'm', input: 'Hello', stream: true });
 *     const events = parseEvents(await reply.text());
 *     await gateway.close();
 */

import { createGateway, type GatewayOverrides } from '../../src/gateway.ts';
import { loadAcceptedCallers, type AcceptedCallers } from '../../src/accounts/accepted-callers.ts';
import { asDescribed } from './described-gateway.ts';
import { readTestConfig, splitSettings, type TestSettings } from './settings.ts';

export const TEST_KEY = 'test-key';

export interface TestGateway {
  /** Without a slash at its end, and without a path. */
  readonly url: string;
  /** Of the port of the metrics, where the settings ask for one. */
  readonly metricsUrl: string | undefined;
  /** `POST /api/v1/responses` with the test key. Throws when the reply is an error that the API description does not know. */
  create(request: object, init?: CreateInit): Promise<Response>;
  /** `GET` with the test key. */
  get(path: string): Promise<Response>;
  reload(): void;
  drain(): Promise<void>;
  close(): Promise<void>;
}

interface CreateInit {
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

/** Every key counts as one that the backend has accepted before. Tests about strangers pass others. */
const ALL_ACCEPTED: AcceptedCallers = { has: () => true, add: () => undefined, delete: () => undefined };

/** Callers of whom the backend has accepted nobody yet. */
export function allStrangers(): Promise<AcceptedCallers> {
  const accounts = { listAccepted: () => Promise.resolve([]), rememberAccepted: () => Promise.resolve() };
  return loadAcceptedCallers({ accounts, nowMs: Date.now });
}

/** Starts it with these settings; `close` is for an `afterEach`. Tokens are counted by arithmetic, unless they say otherwise. */
export function openGateway(settings: TestSettings, overrides?: GatewayOverrides): Promise<TestGateway> {
  return openGatewayAsItIs(settings, { acceptedCallers: ALL_ACCEPTED, ...overrides });
}

/** As `openGateway`, but the gateway finds out by itself whom the backend accepts. */
export async function openGatewayAsItIs(settings: TestSettings, overrides?: GatewayOverrides): Promise<TestGateway> {
  const config = readTestConfig({
    PORT: '0',
    DATABASE_URL: ':memory:',
    LOG_LEVEL: 'silent',
    // A thread that counts needs a second to be ready.
    tokenCountTimeoutMs: 0,
    ...settings,
  });
  const gateway = await createGateway(config, overrides);
  const { url, metricsUrl } = await gateway.listen();
  const headers = { authorization: `Bearer ${TEST_KEY}` };
  return {
    url,
    metricsUrl,
    create: async (request, init) => {
      const reply = await fetch(`${url}/api/v1/responses`, {
        ...init,
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json', ...init?.headers },
        body: JSON.stringify(request),
      });
      return asDescribed('post /api/v1/responses', reply);
    },
    get: (path) => fetch(`${url}${path}`, { headers }),
    reload: () => gateway.reload(splitSettings(settings).env),
    drain: () => gateway.drain(),
    close: () => gateway.close(),
  };
}
