import type { BufferBudget } from './buffer-budget.ts';

/** Collects bytes that arrive in pieces. Doubles its capacity, so that many small pieces cost no more than a single large one. */
export class ByteQueue {
  /** Collected bytes; valid up to `length`. */
  bytes: Buffer;
  length = 0;
  readonly #budget: BufferBudget;

  /** @throws ProtocolError `buffers_full`, like `append` */
  constructor(capacity: number, budget: BufferBudget) {
    budget.hold(capacity);
    this.#budget = budget;
    // Avoids Node's buffer pool, because a few bytes would keep a whole slab of the pool in memory.
    this.bytes = Buffer.allocUnsafeSlow(capacity);
  }

  /** Copies `from[start, end)`. */
  append(from: Uint8Array, start: number, end: number): void {
    const needed = this.length + end - start;
    if (needed > this.bytes.length) {
      const capacity = Math.max(needed, this.bytes.length * 2);
      this.#budget.hold(capacity - this.bytes.length);
      const larger = Buffer.allocUnsafeSlow(capacity);
      larger.set(this.bytes.subarray(0, this.length));
      this.bytes = larger;
    }
    this.bytes.set(from.subarray(start, end), this.length);
    this.length = needed;
  }

  /** Returns the bytes to the budget. Must be called exactly once. */
  release(): void {
    this.#budget.release(this.bytes.length);
  }
}
