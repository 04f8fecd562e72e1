/** Whether the same process answers at a URL each time: behind one port, several can take turns, and each has its own figures. */

export interface Answer {
  /** Of the process, as far as the page tells. */
  identity: string;
  /** A counter: a process never has less than before. */
  cpuSeconds: number | undefined;
  /** On the clock of `performance`. */
  atMs: number;
}

/** How often a change is looked at: each time, one of two processes that take turns stays hidden half of the time. */
const LOOKS = 5;
/** What one process can use: fewer seconds of CPU per second than that. */
const MAX_CORES = 8;

export class AnsweringProcess {
  /** Another process answered, and then the former one again. */
  alternates = false;
  #last: Answer | undefined;
  readonly #former = new Set<string>();
  #startedAnew = 0;

  /** How often the page showed a new process only by a CPU time that went back: part of its identity. */
  get startedAnew(): number {
    return this.#startedAnew;
  }

  /**
   * @param again answers anew, to see whether the former process comes back
   * @returns the last answer. Rejects as `again` does
   */
  async note<A extends Answer>(answer: A, again: () => Promise<A>): Promise<A> {
    const before = this.#last;
    let last = answer;
    if (before && !this.alternates && isOther(before, answer)) {
      for (let look = 0; look < LOOKS && !this.alternates; look++) {
        last = await again();
        this.alternates = isBack(before, answer, last);
      }
      this.alternates ||= this.#former.has(answer.identity);
      if (answer.identity === before.identity && !this.alternates) {
        this.alternates = this.#startedAnew > 0;
        this.#startedAnew++;
      } else this.#former.add(before.identity);
    }
    this.#last = last;
    return last;
  }
}

function isOther(before: Answer, now: Answer): boolean {
  return now.identity !== before.identity || (now.cpuSeconds ?? 0) < (before.cpuSeconds ?? 0);
}

function isBack(before: Answer, between: Answer, now: Answer): boolean {
  if (before.identity !== between.identity) return now.identity === before.identity;
  const [former = 0, low = 0, high = 0] = [before, between, now].map(({ cpuSeconds }) => cpuSeconds);
  // Too much for one process to have used since.
  return high >= former && high - low > (MAX_CORES * (now.atMs - between.atMs)) / 1000;
}
