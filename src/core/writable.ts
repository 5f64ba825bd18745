/**
 * Lets the maker update plain fields where readers expect live values. V8 makes a hidden class for
 * each object literal with getters, which keeps alive what they refer to until a full garbage
 * collection. Getters in one object per request took a quarter of the instructions of a JSON request.
 */
export type Writable<Shape> = { -readonly [Name in keyof Shape]: Shape[Name] };
