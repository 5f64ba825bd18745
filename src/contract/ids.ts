/** Ids are branded strings, so that the compiler finds an `item_id` used where a `call_id` belongs. `core/ids.ts` makes them. */

declare const brand: unique symbol;
export type Branded<Name extends string> = string & { readonly [brand]: Name };

/** `resp_<unique>`: the response as the caller sees it. */
export type ResponseId = Branded<'ResponseId'>;
/** `req_<unique>`: the record of the request; shares its unique part with the response id. */
export type RequestId = Branded<'RequestId'>;
/** `msg_…`, `fc_…`, `rs_…`: one output item. */
export type ItemId = Branded<'ItemId'>;
/** The backend's name for a tool call, which its output refers to. */
export type CallId = Branded<'CallId'>;
/** `key_<unique>`: a key which the gateway has issued; stays the same when its secret is rotated. */
export type KeyId = Branded<'KeyId'>;

/**
 * The type of an input item that is none of those known here. It is an enum, which does not exist when the program runs,
 * because the compiler cannot tell the members of a union apart by a brand.
 */
export declare enum UnknownItemType {
  Any = '',
}
