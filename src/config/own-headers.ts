/** Headers that the operator adds to each request to a backend. Their values are secret. */

import type { AuthMode } from '../contract/settings-types.ts';
import type { Environment } from './settings.ts';
import { readKeyFile } from './value-file.ts';

type Headers = Readonly<Record<string, string>>;

const VARIABLE = /\$\{(?!file:)([^}]*)\}/g;
const FILE = /\$\{file:([^}]*)\}/g;
/** They frame the message, belong to the connection, or say what the gateway itself can read. */
const OF_GATEWAY =
  /^(?:accept|accept-encoding|connection|content-.*|expect|host|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|user-agent)$/;
const OF_CALLER = /^(?:authorization|api-key|x-api-key)$/;

/** Returns the headers with what the environment says in them. A file in them is read when it is needed. */
export function toHeaders(headers: Headers, env: Environment): Headers {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name.toLowerCase(),
      value.replaceAll(VARIABLE, (_, variable: string) => env[variable] ?? ''),
    ]),
  );
}

/** Returns what is wrong with each header, in words that follow `headers` or the name of the setting. Shows no value. */
export function findHeaderProblems(headers: Headers, env: Environment, authMode: AuthMode): readonly string[] {
  return Object.entries(headers).flatMap(([name, value]) => {
    const lower = name.toLowerCase();
    if (OF_GATEWAY.test(lower)) return [`must not have ${name}, which the gateway sends itself`];
    if (authMode === 'passthrough' && OF_CALLER.test(lower))
      return [`must not have ${name} with AUTH_MODE=passthrough, where the backend gets the caller's own key`];
    const unset = [...value.matchAll(VARIABLE)].find(([, variable = '']) => (env[variable] ?? '') === '');
    if (unset !== undefined) return [`${name} names ${unset[1]}, which is not set`];
    const unread = [...value.matchAll(FILE)].find(([, path = '']) => readKeyFile(path) === undefined);
    if (unread !== undefined) return [`${name} names ${unread[1]}, which cannot be read or holds no key`];
    const isSent = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(toHeaders({ name: value }, env)['name'] ?? '');
    return isSent ? [] : [`${name} must have visible ASCII characters`];
  });
}
