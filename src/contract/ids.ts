/**
 * Ids are branded strings, so that the compiler finds an `item_id` used as a `call_id`.
 * `core/ids.ts` makes them.
 */

declare const brand: unique symbol;
export type Branded<Name extends string> = string & { readonly [brand]: Name };

/** `resp_<unique>`: a response. */
export type ResponseId = Branded<'ResponseId'>;
/** `req_<unique>`: the record of a request, with the unique part of its response id. */
export type RequestId = Branded<'RequestId'>;
/** `msg_…`, `fc_…`, `rs_…`: an output item. */
export type ItemId = Branded<'ItemId'>;
/** The id of a tool call, which its output refers to. */
export type CallId = Branded<'CallId'>;
/** `key_<unique>`: a key that the gateway issued. It stays the same when its secret is rotated. */
export type KeyId = Branded<'KeyId'>;

/**
 * The type of an unknown input item. It is an enum without a runtime value, because the compiler
 * cannot distinguish the members of a union by a brand.
 */
export declare enum UnknownItemType {
  Any = '',
}
