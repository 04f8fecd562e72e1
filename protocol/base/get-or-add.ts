interface Table<K, V> {
  get(key: K): V | undefined;
  set(key: K, value: V): unknown;
}

/** Returns the entry of a Map or WeakMap. If there is none, adds the result of `create` first. */
export function getOrAdd<K, V>(table: Table<K, V>, key: K, create: () => V): V {
  const known = table.get(key);
  if (known !== undefined) return known;
  const added = create();
  table.set(key, added);
  return added;
}
