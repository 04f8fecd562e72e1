import type { BufferBudget } from './buffer-budget.ts';

/**
 * Collects bytes that arrive in pieces. Its capacity doubles when needed, so the cost per byte stays constant for many
 * small pieces.
 */
export class ByteQueue {
  /** Buffer whose first `length` bytes are the collected bytes. */
  bytes: Buffer;
  length = 0;
  readonly #budget: BufferBudget;

  /**
   * Allocates the buffer, and reserves its size in the budget.
   * @throws ProtocolError `buffers_full` if the budget is exceeded
   */
  constructor(capacity: number, budget: BufferBudget) {
    budget.hold(capacity);
    this.#budget = budget;
    // A buffer from Node's pool would keep a whole pool slab in memory for a few bytes.
    this.bytes = Buffer.allocUnsafeSlow(capacity);
  }

  /**
   * Appends the bytes `from[start, end)`.
   * @throws ProtocolError `buffers_full` if the budget is exceeded
   */
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

  /** Releases the bytes that the queue has reserved in the budget. Must be called exactly once. */
  release(): void {
    this.#budget.release(this.bytes.length);
  }
}
