/** Where the gateway listens. It has a file of its own, since who embeds the gateway gets its type, and not those of Express. */
export interface Addresses {
  /** Without a slash at its end, like the other. */
  readonly url: string;
  readonly metricsUrl?: string;
}
