/** @returns a copy with room for at least so many slots, and for twice as many as before */
export function grown<A extends Uint32Array | Uint8Array>(values: A, slots: number): A {
  const larger = new (values.constructor as new (length: number) => A)(Math.max(slots, values.length * 2));
  larger.set(values);
  return larger;
}
