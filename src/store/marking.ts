export interface Marking {
  /** An HMAC made with `GATEWAY_SECRET`. Undefined until a gateway has started on the database. */
  readonly mark: string | undefined;
  readonly isEmpty: boolean;
  /** The names of keys that are known by another secret alone, the newest first. */
  readonly keysOfPrevious: readonly string[];
}

export interface MarkChange {
  readonly from: string | undefined;
  readonly to: string;
  /** Whether keys that are known by another secret alone are given up, so that no start asks for it. */
  readonly givesUp?: boolean;
}
