import type { BackendSpec } from '../core/routes.ts';

const EVERY_MS = 1000;

export interface CurrentKeyOptions {
  /** Undefined where the file holds no key at the moment. */
  readonly readKeyFile: (path: string) => string | undefined;
  readonly nowMs: () => number;
  readonly log: { error(fields: Readonly<Record<string, unknown>>, message: string): void };
}

/**
 * Returns the backend with the key that its file holds at the moment, such as a token of an hour. The file is read for the requests
 * that need the key, at most once a second. While it holds none, since it is being written, the key of before is sent.
 */
export function withCurrentKey(spec: BackendSpec, { readKeyFile, nowMs, log }: CurrentKeyOptions): BackendSpec {
  const { apiKeyFile } = spec;
  if (apiKeyFile === undefined) return spec;
  let { apiKey } = spec;
  let readAtMs = nowMs();
  let isLost = false;
  return {
    ...spec,
    get apiKey() {
      if (nowMs() - readAtMs < EVERY_MS) return apiKey;
      readAtMs = nowMs();
      const read = readKeyFile(apiKeyFile);
      if (read === undefined && !isLost)
        log.error(
          { file: apiKeyFile },
          'the file with the key of the backend cannot be read or holds no key, so the former key is sent',
        );
      isLost = read === undefined;
      apiKey = read ?? apiKey;
      return apiKey;
    },
  };
}
