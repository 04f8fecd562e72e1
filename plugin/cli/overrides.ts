/** Changes of a scenario, in the form of Artillery's `--overrides`. */

/** As Artillery merges them: objects key by key, everything else as a whole. */
export function merged(into: unknown, from: unknown): unknown {
  if (!isObject(into) || !isObject(from)) return from;
  const entries = Object.entries(from).map(([key, value]) => [
    key,
    Object.hasOwn(into, key) ? merged(into[key], value) : value,
  ]);
  return { ...into, ...Object.fromEntries(entries) };
}

/** @returns the value below these keys */
export function nested(keys: string[], value: unknown): object {
  // Not by assignment, with which a key such as `__proto__` would change what other objects inherit.
  return keys.reduceRight((inner, key) => Object.fromEntries([[key, inner]]), value) as object;
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
