/** Measures CPU time in measurement windows of the run. */
import type { Sampler } from '../../samplers/index.ts';
import type { CpuWindow } from '../measurements/measured-windows.ts';
import type { ConnectionPopulation } from '../population.ts';

/** CPU times, number of connections and time at the start of a window. */
type Mark = Awaited<ReturnType<typeof markWindowStart>>;
export type WindowContext = {
  sampler: Pick<Sampler, 'cpu'>;
  population: Pick<ConnectionPopulation, 'connections' | 'made'>;
};

export async function markWindowStart({ sampler, population }: WindowContext) {
  const connections = population.connections();
  // Times before and after the CPU times are read, because reading takes long on a busy machine.
  const askedAtMs = performance.now();
  return { cpu: await sampler.cpu(), connections, askedAtMs, atMs: performance.now() };
}

/**
 * Returns the CPU window since `begin`.
 * @param units number of connections made, or messages delivered, since `begin`
 */
export async function cpuWindowSince(context: WindowContext, begin: Mark, units: number): Promise<CpuWindow> {
  return windowBetween(begin, await markWindowStart(context), units);
}

/** Measures consecutive CPU windows without gaps. */
export class ConsecutiveWindows {
  readonly #context: WindowContext;
  readonly #unitsSoFar: () => number;
  readonly #done: CpuWindow[] = [];
  /**
   * The latest CPU reading. Each reading waits for the previous reading, so that readings stay in the order of the
   * calls.
   */
  #begin: Promise<{ mark: Mark; units: number }>;

  constructor(context: WindowContext, unitsSoFar: () => number) {
    this.#context = context;
    this.#unitsSoFar = unitsSoFar;
    this.#begin = this.#read();
  }

  /** Ends the current CPU window and begins the next. Never rejects. */
  async next(): Promise<void> {
    const begin = this.#begin;
    this.#begin = begin.then(async (from) => {
      const to = await this.#read();
      this.#done.push(windowBetween(from.mark, to.mark, to.units - from.units));
      return to;
    });
    await this.#begin;
  }

  /**
   * Ends the last CPU window.
   * @returns all windows
   */
  async end(): Promise<CpuWindow[]> {
    await this.next();
    return this.#done;
  }

  async #read(): Promise<{ mark: Mark; units: number }> {
    const begin = await markWindowStart(this.#context);
    return { mark: begin, units: this.#unitsSoFar() };
  }
}

/** Returns the CPU time that each layer used between two readings. Leaves out layers that are not in both readings. */
function windowBetween(begin: Mark, end: Mark, units: number): CpuWindow {
  const used = Object.entries(end.cpu).flatMap(([layer, us]) => {
    const before = begin.cpu[layer];
    return before === undefined ? [] : [[layer, us - before] as const];
  });
  const seconds = (end.atMs - begin.atMs) / 1000;
  const secondsAtMost = (end.atMs - begin.askedAtMs) / 1000;
  const held = (begin.connections + end.connections) / 2;
  return { seconds, secondsAtMost, cpuUs: Object.fromEntries(used), units, held };
}
