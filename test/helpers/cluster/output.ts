/** Output of a container, which can be read from its start or from now, while it grows. */
import { EventEmitter, once } from 'node:events';

export class Output {
  readonly #parts: Buffer[] = [];
  readonly #changes = new EventEmitter();
  #isOver = false;

  constructor() {
    this.#changes.setMaxListeners(0);
  }

  add(part: Buffer): void {
    this.#parts.push(part);
    this.#changes.emit('change');
  }

  end(): void {
    this.#isOver = true;
    this.#changes.emit('change');
  }

  get length(): number {
    return this.#parts.length;
  }

  /** @returns everything so far */
  now(): Buffer {
    return Buffer.concat(this.#parts);
  }

  /** Reads parts, from the part with that index to the end of the container. */
  async *follow(from: number): AsyncGenerator<Buffer> {
    for (let index = from; ; ) {
      const part = this.#parts[index];
      if (part) {
        index++;
        yield part;
      } else if (this.#isOver) {
        return;
      } else {
        await once(this.#changes, 'change');
      }
    }
  }
}
