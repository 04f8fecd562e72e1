/** Detects whether several processes answer at one URL in turn: each reports only its own figures. */
import { type Counters, hasFallen } from './page-counters.ts';

export interface Answer {
  /** Identifies the process, if the page does. */
  identity: string;
  /** CPU time, which never falls within a process. */
  cpuSeconds: number | undefined;
  /** Other counters, which never fall within a process. */
  counters: Counters;
  /** Maximum number of cores that the process can use; infinite for a page about many processes. */
  maxCores: number;
  atMs: number;
}

/** Number of requests after a change of process: each shows the former one of two alternating processes with a probability of half. */
const REPEATS = 5;
/** Impossible rises of CPU time, without a fall in between, that mean a wrong unit. Alternating processes would also show falls. */
const IMPOSSIBLE_RISES = 3;
/** Tolerance for counting in ticks, and for servers that read their CPU time once a second. */
const MARGIN_SECONDS = 2;

export class AnsweringProcess {
  alternates = false;
  /** CPU time repeatedly rose faster than possible, so its unit must be wrong. */
  impossible = false;
  /** How often only fallen counters showed a new process. Part of the identity. */
  restarts = 0;
  #impossibleRises = 0;
  #last: Answer | undefined;
  readonly #former = new Set<string>();

  /**
   * Compares an answer with the one before.
   * @param again requests another answer, to see whether the former process still answers
   * @returns the last answer; rejects as `again` does
   */
  async note<A extends Answer>(answer: A, again: () => Promise<A>): Promise<A> {
    const before = this.#last;
    let last = answer;
    if (before && isOther(before, answer)) this.#impossibleRises = 0;
    if (before && !this.alternates && isOther(before, answer)) {
      for (let repeat = 0; repeat < REPEATS && !this.alternates; repeat++) {
        last = await again();
        this.alternates = isBack(before, answer, last);
      }
      this.alternates ||= this.#former.has(answer.identity);
      if (answer.identity === before.identity && !this.alternates) {
        this.alternates = this.restarts > 0;
        this.restarts++;
      } else this.#former.add(before.identity);
    }
    this.#last = last;
    if (before && usedMoreThanPossible(before, last)) this.#impossibleRises++;
    this.impossible ||= this.#impossibleRises >= IMPOSSIBLE_RISES;
    return last;
  }
}

function isOther(before: Answer, now: Answer): boolean {
  if (now.identity !== before.identity || hasFallen(before.counters, now.counters)) return true;
  return (now.cpuSeconds ?? 0) < (before.cpuSeconds ?? 0);
}

function isBack(before: Answer, between: Answer, now: Answer): boolean {
  if (before.identity !== between.identity) return now.identity === before.identity;
  const high = now.cpuSeconds ?? 0;
  // If one process could not have used so much since, the former one has answered.
  return high >= (before.cpuSeconds ?? 0) && usedMoreThanPossible(between, now, 0);
}

function usedMoreThanPossible(before: Answer, now: Answer, marginSeconds = MARGIN_SECONDS): boolean {
  const seconds = (now.cpuSeconds ?? 0) - (before.cpuSeconds ?? 0);
  return seconds > (now.maxCores * (now.atMs - before.atMs)) / 1000 + marginSeconds;
}
