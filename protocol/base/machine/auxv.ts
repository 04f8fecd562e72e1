/**
 * Two kernel constants that Node does not expose, from the process's auxiliary vector: (type, value) pairs of machine words. Reads only
 * 64-bit little-endian words, as on nearly every Linux with Node 22; falls back to the values of x86-64.
 */
import { readFileSync } from 'node:fs';
import { attempt } from '../attempt.ts';

const AT_PAGESZ = 6n;
const AT_CLKTCK = 17n;

const vector = readAuxiliaryVector();

/** Bytes of a memory page; 16 or 64 KiB on some ARM machines. */
export const PAGE_SIZE_BYTES = Number(vector.get(AT_PAGESZ) ?? 4096n);

/** Microseconds of one clock tick, the unit of CPU times in /proc. */
export const TICK_US = 1_000_000 / Number(vector.get(AT_CLKTCK) ?? 100n);

function readAuxiliaryVector(): Map<bigint, bigint> {
  const bytes = attempt(() => readFileSync('/proc/self/auxv')) ?? Buffer.alloc(0);
  const words = new BigUint64Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength));
  return new Map(Array.from({ length: words.length / 2 }, (_, i) => [words[i * 2] ?? 0n, words[i * 2 + 1] ?? 0n]));
}
