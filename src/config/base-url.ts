import { showValue } from './settings.ts';

/** Returns what is wrong about the base URL of a backend or of the gateway, as lines with its name. */
export function findUrlProblems(name: string, text: string | undefined): readonly string[] {
  if (text === undefined) return [];
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    return [`${name}: must be a URL that begins with http:// or https://${showValue(name, text)}`];
  }
  if (/\s/.test(text)) return [`${name}: must hold no white space; a second setting goes on a line of its own`];
  // Credentials would end up in logs and links. Only Azure needs a query.
  const hasOtherQuery = [...url.searchParams.keys()].some((key) => key !== 'api-version');
  const extra = url.username !== '' || url.password !== '' || hasOtherQuery || url.hash !== '';
  if (extra) return [`${name}: must hold no user name, password or fragment, and no query but api-version`];
  const endpoint = /\/(?:chat\/completions|responses|models)\/*$/.exec(url.pathname)?.[0];
  return endpoint === undefined ? [] : [`${name}: must be the URL before the paths; leave ${endpoint} out`];
}

/** Returns the URL without a slash at the end of its path. */
export function toBaseUrl(text: string | undefined): string | null {
  if (text === undefined) return null;
  const { origin, pathname, search } = new URL(text);
  return origin + pathname.replace(/\/+$/, '') + search;
}
