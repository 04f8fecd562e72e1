/** Whether the same process answers at a URL each time: behind one port, several can take turns, and each has its own figures. */
import { type Counters, hasFallen } from './page-counters.ts';

export interface Answer {
  /** Which process it is, as far as the page tells. */
  identity: string;
  /** A counter: a process never has less than before. */
  cpuSeconds: number | undefined;
  /** What else only grows in a process. */
  counters: Counters;
  /** That it can use: fewer seconds of CPU per second than that. Infinite for many processes. */
  maxCores: number;
  /** On the clock of `performance`. */
  atMs: number;
}

/** How often a change is looked at: each time, one of two processes that take turns stays hidden half of the time. */
const LOOKS = 5;
/** More CPU time than can be, so many times and never less than before: processes that take turns also show less. */
const IMPOSSIBLE_RISES = 3;
/** Kernels count in ticks, and some servers read their own CPU time once a second. */
const MARGIN_SECONDS = 2;

export class AnsweringProcess {
  /** Another process answered, and then the former one again. */
  alternates = false;
  /** It used more CPU than a process can, again and again: its unit is another. */
  impossible = false;
  /** How often the page showed a new process only by counters that fell: part of its identity. */
  startedAnew = 0;
  #impossibleRises = 0;
  #last: Answer | undefined;
  readonly #former = new Set<string>();

  /**
   * @param again answers anew, to see whether the former process comes back
   * @returns the last answer. Rejects as `again` does
   */
  async note<A extends Answer>(answer: A, again: () => Promise<A>): Promise<A> {
    const before = this.#last;
    let last = answer;
    if (before && isOther(before, answer)) this.#impossibleRises = 0;
    if (before && !this.alternates && isOther(before, answer)) {
      for (let look = 0; look < LOOKS && !this.alternates; look++) {
        last = await again();
        this.alternates = isBack(before, answer, last);
      }
      this.alternates ||= this.#former.has(answer.identity);
      if (answer.identity === before.identity && !this.alternates) {
        this.alternates = this.startedAnew > 0;
        this.startedAnew++;
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
  // Too much for one process to have used since.
  return high >= (before.cpuSeconds ?? 0) && usedMoreThanPossible(between, now, 0);
}

function usedMoreThanPossible(before: Answer, now: Answer, marginSeconds = MARGIN_SECONDS): boolean {
  const seconds = (now.cpuSeconds ?? 0) - (before.cpuSeconds ?? 0);
  return seconds > (now.maxCores * (now.atMs - before.atMs)) / 1000 + marginSeconds;
}
