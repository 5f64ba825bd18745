export interface Marking {
  /** An HMAC made with `GATEWAY_SECRET`. Undefined until a gateway has started on the database. */
  readonly mark: string | undefined;
  readonly isEmpty: boolean;
}

export interface MarkChange {
  readonly from: string | undefined;
  readonly to: string;
}
