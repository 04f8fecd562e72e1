/** Bytes that arrive in pieces. Grows by doubling, so that many small pieces cost no more than one large one. */
export class ByteQueue {
  /** Valid up to `length`. */
  bytes: Buffer;
  length = 0;

  constructor(capacity: number) {
    // Not from Node's buffer pool: a few waiting bytes must not keep a whole slab of it alive.
    this.bytes = Buffer.allocUnsafeSlow(capacity);
  }

  /** Copies `from[start, end)`. */
  append(from: Uint8Array, start: number, end: number): void {
    const needed = this.length + end - start;
    if (needed > this.bytes.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(needed, this.bytes.length * 2));
      larger.set(this.bytes.subarray(0, this.length));
      this.bytes = larger;
    }
    this.bytes.set(from.subarray(start, end), this.length);
    this.length = needed;
  }
}
