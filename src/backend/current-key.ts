import { mapValues } from '../core/map-values.ts';
import type { BackendSpec } from '../core/routes.ts';

const EVERY_MS = 1000;

export interface CurrentKeyOptions {
  /** Undefined where the file holds no key at the moment. */
  readonly readKeyFile: (path: string) => string | undefined;
  readonly nowMs: () => number;
  readonly log: { error(fields: Readonly<Record<string, unknown>>, message: string): void };
}

/**
 * Returns the backend with the key and the headers that its files hold at the moment, such as a token of an hour. A file is read for
 * the requests that need it, at most once a second. While it holds no key, since it is being written, that of before is sent.
 */
export function withCurrentKey(spec: BackendSpec, options: CurrentKeyOptions): BackendSpec {
  const { apiKeyFile, headers = {} } = spec;
  const read = followFiles(options);
  const hasFiles = Object.values(headers).some((value) => value.search(FILE) !== -1);
  if (apiKeyFile === undefined && !hasFiles) return spec;
  if (apiKeyFile !== undefined) read(apiKeyFile, spec.apiKey ?? undefined);
  return {
    ...spec,
    get apiKey() {
      return apiKeyFile === undefined ? spec.apiKey : read(apiKeyFile);
    },
    get headers() {
      return currentHeaders(headers, read);
    },
  };
}

const FILE = /\$\{file:([^}]*)\}/g;

/** Returns the headers with what `read` says of the files in them. */
export function currentHeaders(
  headers: BackendSpec['headers'] = {},
  read: (path: string) => string | undefined,
): Readonly<Record<string, string>> {
  return mapValues(headers, (value) => value.replaceAll(FILE, (_, path: string) => read(path) ?? ''));
}

function followFiles({ readKeyFile, nowMs, log }: CurrentKeyOptions): (path: string, first?: string) => string {
  const files = new Map<string, { key: string; readAtMs: number; isLost: boolean }>();
  return (path, first) => {
    let file = files.get(path);
    if (file === undefined) {
      file = { key: first ?? readKeyFile(path) ?? '', readAtMs: nowMs(), isLost: false };
      files.set(path, file);
    }
    if (nowMs() - file.readAtMs < EVERY_MS) return file.key;
    file.readAtMs = nowMs();
    const read = readKeyFile(path);
    if (read === undefined && !file.isLost)
      log.error(
        { file: path },
        'the file with the key of the backend cannot be read or holds no key, so the former key is sent',
      );
    file.isLost = read === undefined;
    file.key = read ?? file.key;
    return file.key;
  };
}
