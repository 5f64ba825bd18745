/** Ids are branded strings, so that the compiler finds an `item_id` used as a `call_id`. */
declare const brand: unique symbol;
export type Branded<Name extends string> = string & {
    readonly [brand]: Name;
};
export type ResponseId = Branded<'ResponseId'>;
/** `req_<unique>`, with the unique part of its response id. */
export type RequestId = Branded<'RequestId'>;
/** `msg_…`, `fc_…` or `rs_…`. */
export type ItemId = Branded<'ItemId'>;
export type CallId = Branded<'CallId'>;
/** Stays the same when its secret is rotated. */
export type KeyId = Branded<'KeyId'>;
export type GroupId = Branded<'GroupId'>;
/** Names what has funds, limits and a ledger. */
export type AccountId = KeyId | GroupId;
/** An enum without a runtime value: a brand cannot distinguish the members of a union. */
export declare enum UnknownItemType {
    Any = ""
}
export {};
