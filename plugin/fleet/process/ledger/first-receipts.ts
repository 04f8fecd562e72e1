/** When each broadcast first came to this process, in a row of limited length: places those among them that never came. */

export class FirstReceipts {
  readonly #kept: number;
  /** Times of the numbers after `#dropped`, in order. */
  #atUs: number[] = [];
  #dropped = 0;

  /** @param kept at least so many of the newest are known */
  constructor(kept: number) {
    this.#kept = kept;
  }

  /** @param atUs not before that of the previous one @returns the number of the broadcast, from 1 */
  add(atUs: number): number {
    this.#atUs.push(atUs);
    if (this.#atUs.length > this.#kept * 2) {
      this.#dropped += this.#kept;
      this.#atUs = this.#atUs.slice(this.#kept);
    }
    return this.#dropped + this.#atUs.length;
  }

  /** @returns the number of the last broadcast that came before then; 0 if there is none */
  before(atUs: number): number {
    let [low, high] = [0, this.#atUs.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#atUs[middle] as number) < atUs) low = middle + 1;
      else high = middle;
    }
    return this.#dropped + low;
  }
}
