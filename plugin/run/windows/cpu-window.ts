/** Windows of the run in which CPU is measured. */
import type { Sampler } from '../../samplers/index.ts';
import type { CpuWindow } from '../measurements/measured-windows.ts';
import type { Population } from '../population.ts';

/** Where a window began. */
export type Mark = Awaited<ReturnType<typeof mark>>;

/** What reads CPU time, and counts the connections. */
export type WindowContext = { sampler: Pick<Sampler, 'cpu'>; population: Pick<Population, 'connections' | 'made'> };

export async function mark({ sampler, population }: WindowContext) {
  const connections = population.connections();
  // Reading takes time, on a busy machine much of it: the CPU was used until some moment between these two.
  const askedAtMs = performance.now();
  return { cpu: await sampler.cpu(), connections, askedAtMs, atMs: performance.now() };
}

/** @param units connections made, or messages delivered, since `begin` */
export async function windowSince(context: WindowContext, begin: Mark, units: number): Promise<CpuWindow> {
  return between(begin, await mark(context), units);
}

/** One window after the other, without a gap. */
export class Windows {
  readonly #context: WindowContext;
  readonly #unitsSoFar: () => number;
  readonly #done: CpuWindow[] = [];
  /** Where the current one began; the readings are made in the order of the calls. */
  #begin: Promise<{ mark: Mark; units: number }>;

  /** The first one begins now. @param unitsSoFar grows only */
  constructor(context: WindowContext, unitsSoFar: () => number) {
    this.#context = context;
    this.#unitsSoFar = unitsSoFar;
    this.#begin = this.#read();
  }

  /** The current window ends, and the next one begins. Never rejects. */
  async next(): Promise<void> {
    const begin = this.#begin;
    this.#begin = begin.then(async (from) => {
      const to = await this.#read();
      this.#done.push(between(from.mark, to.mark, to.units - from.units));
      return to;
    });
    await this.#begin;
  }

  /** The last window ends. @returns all of them */
  async end(): Promise<CpuWindow[]> {
    await this.next();
    return this.#done;
  }

  async #read(): Promise<{ mark: Mark; units: number }> {
    const begin = await mark(this.#context);
    return { mark: begin, units: this.#unitsSoFar() };
  }
}

/** Takes the layers that could be read at both ends. */
function between(begin: Mark, end: Mark, units: number): CpuWindow {
  const used = Object.entries(end.cpu).flatMap(([layer, us]) => {
    const before = begin.cpu[layer];
    return before === undefined ? [] : [[layer, us - before] as const];
  });
  const seconds = (end.atMs - begin.atMs) / 1000;
  const secondsAtMost = (end.atMs - begin.askedAtMs) / 1000;
  const held = (begin.connections + end.connections) / 2;
  return { seconds, secondsAtMost, cpuUs: Object.fromEntries(used), units, held };
}
