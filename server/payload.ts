/**
 * Payloads of broadcasts: varying text, so that neither compression nor string sharing makes a measurement look better,
 * in ASCII characters that JSON does not escape, so that each character is one byte on the wire.
 */
const ALPHABET = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 .';
/** Runs use one or two sizes. */
const CACHED_SIZES = 16;

const cache = new Map<number, string>();

/** @returns text of that many characters, the same in every call */
export function payload(sizeBytes: number): string {
  let text = cache.get(sizeBytes);
  if (text === undefined) {
    if (cache.size === CACHED_SIZES) cache.clear();
    text = generate(sizeBytes);
    cache.set(sizeBytes, text);
  }
  return text;
}

/** A linear congruential generator (Numerical Recipes'): the same text on every machine. */
function generate(sizeBytes: number): string {
  const bytes = Buffer.allocUnsafe(sizeBytes);
  let state = 1;
  for (let at = 0; at < sizeBytes; at++) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    bytes[at] = ALPHABET.charCodeAt(state >>> 26);
  }
  return bytes.toString('latin1');
}
