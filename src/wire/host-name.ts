const HOST = /^(?<name>[\w.~-]+|\[[\da-f:.]+\])(?::\d{1,5})?$/i;

/** Most requests name the host that the request before has named. */
let last: { readonly host: string; readonly name: string | undefined } = { host: '', name: undefined };

/**
 * Returns the name in a Host header, without the port; undefined if it is no valid host, or has an
 * address or a port that cannot be.
 */
export function hostNameOf(host: string): string | undefined {
  if (host !== last.host) {
    const name = HOST.exec(host)?.groups?.['name']?.toLowerCase();
    last = { host, name: name !== undefined && URL.canParse(`http://${host}`) ? name : undefined };
  }
  return last.name;
}
