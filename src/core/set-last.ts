/** Sets an entry as the last of its Map, which keeps the order of insertion, and forgets the first one of more than `most`. */
export function setLast<Value>(map: Map<string, Value>, key: string, value: Value, most: number): void {
  map.delete(key);
  map.set(key, value);
  if (map.size <= most) return;
  const [first = key] = map.keys();
  map.delete(first);
}
