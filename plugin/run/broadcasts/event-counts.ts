/** Counts copies of events without ids while all connections are held. */
import type { RunContext } from '../context.ts';

type Context = Pick<RunContext, 'link' | 'measurements' | 'metrics'> & { config: Pick<RunContext['config'], 'counts'> };

/** Begins to count. @returns ends, and writes the counts into the measurements */
export async function beginCounts(context: Context) {
  const { link, measurements, config } = context;
  const events = config.counts ?? [];
  await link.events();
  const beganMs = performance.now();
  const before = await readCounters(context);
  return {
    async end(): Promise<void> {
      // Counters are read within the time of the copies, so that no copy is missing that was sent outside of it.
      const now = await readCounters(context);
      const seconds = (performance.now() - beganMs) / 1000;
      const rises = events.flatMap(({ event, counter }) => {
        if (counter === undefined) return [];
        const [first, last] = [before.get(counter), now.get(counter)];
        return [[event, first === undefined || last === undefined || last < first ? null : last - first] as const];
      });
      const fromUsers = events.flatMap(({ event, from }) => (from === undefined ? [] : event));
      const counts = await link.events();
      measurements.eventCounts = { seconds, counts, counters: Object.fromEntries(rises), fromUsers };
    },
  };
}

/** Reads the server's counters, each added up over all pages and labels; none if a page does not answer. */
async function readCounters({ config, metrics }: Context): Promise<Map<string, number>> {
  const names = (config.counts ?? []).flatMap(({ counter }) => counter ?? []);
  if (names.length === 0) return new Map();
  const pages = (await metrics.worker?.readEach()) ?? [];
  if (pages.some(({ reading }) => !reading)) return new Map();
  const samples = pages.flatMap(({ reading }) => Object.entries(reading?.counters ?? {}));
  return new Map(
    names.flatMap((name) => {
      const own = samples.filter(([key]) => key === name || key.startsWith(`${name}{`));
      return own.length === 0 ? [] : [[name, own.reduce((sum, [, value]) => sum + value, 0)] as const];
    }),
  );
}
