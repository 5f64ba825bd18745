import type { TestSettings } from '../support/settings.ts';
import { openGateway, type TestGateway } from '../support/gateway.ts';
import type { Rules } from './complaints.ts';
import { startStrictBackend, type StrictBackend } from './strict-backend.ts';

export interface Scene {
  /** What a client is given: the gateway, with its `/api/v1`. */
  readonly baseUrl: string;
  readonly backend: StrictBackend;
}

/** Settings and rules for a backend whose model reasons, and must be given its thoughts back. */
export const REASONING = {
  settings: { UPSTREAM_DIALECT: 'deepseek' },
  rules: { reasoningField: 'reasoning_content', anyOrder: true },
} as const;

/** For a `describe`: each of its tests gets a new gateway in front of a strict backend, and fails when that complains. */
export function useGateway({
  settings,
  rules,
}: { readonly settings?: TestSettings; readonly rules?: Rules } = {}): Scene {
  let backend: StrictBackend;
  let gateway: TestGateway;

  beforeEach(async () => {
    backend = await startStrictBackend(rules);
    gateway = await openGateway({ UPSTREAM_BASE_URL: backend.baseUrl, ...settings });
  });

  afterEach(async () => {
    await gateway.close();
    await backend.close();
  });

  return {
    get baseUrl() {
      return `${gateway.url}/api/v1`;
    },
    get backend() {
      return backend;
    },
  };
}
