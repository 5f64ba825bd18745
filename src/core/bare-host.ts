/** Returns the host of a URL as sockets and name servers take it: an IPv6 address has no brackets. */
export function bareHostOf({ hostname }: { readonly hostname: string }): string {
  return hostname.replace(/^\[|\]$/g, '');
}
