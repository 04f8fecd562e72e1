/** Changes of a scenario, in the form of Artillery's `--overrides`. */

/** Merges like Artillery: objects key by key, everything else as a whole. */
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
  // Avoids assignment, by which a key such as `__proto__` would change other objects.
  return keys.reduceRight((inner, key) => Object.fromEntries([[key, inner]]), value) as object;
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
