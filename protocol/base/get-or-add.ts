interface Table<K, V> {
  get(key: K): V | undefined;
  set(key: K, value: V): unknown;
}

/** @returns what the Map or WeakMap has for the key; what `create` returns is added if that is nothing */
export function getOrAdd<K, V>(table: Table<K, V>, key: K, create: () => V): V {
  const known = table.get(key);
  if (known !== undefined) return known;
  const added = create();
  table.set(key, added);
  return added;
}
