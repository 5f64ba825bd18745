import type { Config } from '../config/config.ts';

/** Where clients reach the gateway that has these settings, without a slash at its end. */
export function toGatewayUrl({ publicBaseUrl, host, port }: Pick<Config, 'publicBaseUrl' | 'host' | 'port'>): string {
  return publicBaseUrl ?? `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}
