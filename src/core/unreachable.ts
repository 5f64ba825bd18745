/** Ends a `switch` over a union: a new member fails to compile here. Throws when data from outside gets this far. */
export function unreachable(value: never): never {
  throw new TypeError(`unexpected value of type ${typeof value}`);
}
