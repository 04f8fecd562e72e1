/** Detects whether different processes answer at one URL, each with only its own figures. */
import { hasCounterFallen, type PageCounters } from './page-counters.ts';

export interface PageAnswer {
  /** Text that identifies the process, as far as the metrics page shows it. */
  identity: string;
  /** CPU time of the process in seconds. It never falls while a process runs. */
  cpuSeconds: number | undefined;
  /** Other counters of the process. They never fall while a process runs. */
  counters: PageCounters;
  /** Maximum number of cores that the process can use; infinite for a metrics page about many processes. */
  maxCores: number;
  atMs: number;
}

/**
 * Number of repeated requests after the process behind a URL has changed. If two processes answer in turn, each request
 * reaches the former process with a probability of 50 %.
 */
const REPEATS = 5;
/**
 * Number of rises of CPU time, each faster than possible and without a fall in between, after which the unit of the CPU
 * time counts as wrong. If processes answered in turn, CPU time would also fall.
 */
const IMPOSSIBLE_RISES = 3;
/** Tolerance for CPU times in seconds: they have a resolution of ticks, and some servers update them once a second. */
const MARGIN_SECONDS = 2;

export class AnsweringProcess {
  alternates = false;
  /** Whether CPU time repeatedly rose faster than possible, so that its unit must be wrong. */
  impossible = false;
  /** Number of process changes for which a fall of counters was the only sign. It is part of the process's identity. */
  restarts = 0;
  #impossibleRises = 0;
  #last: PageAnswer | undefined;
  readonly #former = new Set<string>();

  /**
   * Compares an answer of the metrics page with the previous answer.
   * @param again requests another answer, to check whether the former process still answers
   * @returns the last answer; rejects if `again` rejects
   */
  async note<A extends PageAnswer>(answer: A, again: () => Promise<A>): Promise<A> {
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

function isOther(before: PageAnswer, now: PageAnswer): boolean {
  if (now.identity !== before.identity || hasCounterFallen(before.counters, now.counters)) return true;
  return (now.cpuSeconds ?? 0) < (before.cpuSeconds ?? 0);
}

function isBack(before: PageAnswer, between: PageAnswer, now: PageAnswer): boolean {
  if (before.identity !== between.identity) return now.identity === before.identity;
  const high = now.cpuSeconds ?? 0;
  // If one process cannot have used so much CPU time since the last answer, the former process has answered.
  return high >= (before.cpuSeconds ?? 0) && usedMoreThanPossible(between, now, 0);
}

function usedMoreThanPossible(before: PageAnswer, now: PageAnswer, marginSeconds = MARGIN_SECONDS): boolean {
  const seconds = (now.cpuSeconds ?? 0) - (before.cpuSeconds ?? 0);
  return seconds > (now.maxCores * (now.atMs - before.atMs)) / 1000 + marginSeconds;
}
