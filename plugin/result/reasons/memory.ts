/** Memory that is missing, or no line through the plateaus, so that there is no memory per connection. */
import type { Result } from '../../../protocol/result/result.ts';
import { inServicePoints } from '../../../report/figures/in-service.ts';
import { mainWorkerLayer } from '../../../report/figures/layers.ts';
import type { Point } from '../../../report/statistics/statistics.ts';
import { bendOf } from '../../../report/statistics/straightness.ts';
import type { Measurements } from '../../run/measurements/measurements.ts';
import { withoutBaseline } from '../memory/memory.ts';
import type { Check, Detail } from './check.ts';

/** Two points always lie on a line. */
const MIN_PLATEAUS = 3;

/** A slope that is only not known well enough makes no figure, and no doubt of the others. */
export const memory: Check[] = [
  {
    code: 'MEMORY_GROWS',
    find({ memory: { perConnectionBytes } }) {
      const layer = mainWorkerLayer(perConnectionBytes);
      return perConnectionBytes[layer]?.doubt === 'grows'
        ? { message: `${layer} grew while the number of connections did not; the slope includes that growth` }
        : undefined;
    },
  },
  { code: 'MEMORY_NOT_LINEAR', find: ({ memory }) => bend(memory) },
  { code: 'READINGS_MISSING', notAfter: 'abort', find: ({ memory }, measured) => missing(memory, measured) },
  {
    code: 'TOO_FEW_PLATEAUS',
    notAfter: 'abort',
    find(_, { plateaus, memory, overTime, fault }) {
      // Their question is not what a connection costs, but what it leaves behind, or how it comes back.
      if (overTime || fault || !memory) return undefined;
      const different = new Set(plateaus.map(({ connections }) => connections));
      if (different.size === 0 || different.size >= MIN_PLATEAUS) return undefined;
      return { message: `memory was read at ${[...different].join(' and ')} connections` };
    },
  },
];

/** At rest, of the figure that the headline quotes: pages that a process takes in steps bend a line that its heap does not. */
function bend({ perConnection, perConnectionBytes, inService, plateaus }: Result['memory']): Detail | undefined {
  const layer = mainWorkerLayer(perConnectionBytes);
  const quoted = perConnection?.parts.find(({ title }) => title === 'workers')?.layer ?? layer;
  if (perConnectionBytes[quoted]?.doubt === 'curved') {
    const points = withoutBaseline(plateaus).flatMap(({ connections, [quoted]: y }) =>
      y === undefined ? [] : [{ x: connections, y }],
    );
    return notLinear(`${quoted} at rest`, points);
  }
  if (inService?.perConnectionBytes[layer]?.doubt !== 'curved') return undefined;
  return notLinear(`${layer} in service`, inServicePoints({ plateaus, inService }, layer));
}

function notLinear(what: string, points: Point[]): Detail {
  const share = bendOf(points)?.share ?? 0;
  const percent = (100 * Math.abs(share)).toFixed(0);
  return {
    message: `${what}: the last connections cost ${share > 0 ? 'more' : 'less'} than the first ones, by ${percent} % of the average`,
  };
}

/** A figure that some plateaus lack has no line, and would be missing from the report without a word. */
function missing(
  { plateaus, inService, absent }: Result['memory'],
  { uncollected }: Pick<Measurements, 'uncollected'>,
): Detail | undefined {
  const all = [lackingIn(plateaus, uncollected), lackingIn(inService?.plateaus ?? [], uncollected)];
  const lacking = [...new Set(all.flatMap(({ ids }) => ids))];
  if (lacking.length === 0) return undefined;
  const times = Math.max(...all.map((one) => one.times));
  const why = lacking.map((id) => absent[id]).find((reason) => reason !== undefined);
  return {
    message: `${lacking.join(' and ')} could not be read at ${times} of ${plateaus.length} plateaus${why ? `: ${why}` : ''}`,
    fix: 'name the processes that are there during the whole run, and run as root or as their user',
  };
}

/** What workers have started may end while it is read. */
const MAY_BE_GONE = 'workerChildrenPss';

/**
 * @param known figures whose absence has a reason of its own
 * @returns figures that some readings have, and how many readings lack one of them
 */
function lackingIn(readings: Record<string, number>[], known: string[]): { ids: string[]; times: number } {
  const figures = [...new Set(readings.flatMap(Object.keys))].filter((id) => id.startsWith('worker'));
  const ids = figures.filter(
    (id) => id !== MAY_BE_GONE && !known.includes(id) && readings.some((reading) => !(id in reading)),
  );
  return { ids, times: readings.filter((reading) => ids.some((id) => !(id in reading))).length };
}
