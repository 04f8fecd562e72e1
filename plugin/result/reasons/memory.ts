/** Workers whose memory is no line through the plateaus, so that there is no memory per connection. */

import type { Reason, ReasonCode } from '../../../protocol/codes/verdict-reasons.ts';
import type { Result } from '../../../protocol/result/result.ts';
import { inServicePoints } from '../../../report/figures/in-service.ts';
import { mainWorkerLayer } from '../../../report/figures/layers.ts';
import type { Point } from '../../../report/statistics/statistics.ts';
import { bendOf } from '../../../report/statistics/straightness.ts';
import type { Measurements } from '../../run/measurements/measurements.ts';

/** A slope that is only not known well enough makes no figure, and no doubt of the others. */
export function* memoryProblems({ perConnectionBytes, inService, plateaus }: Result['memory']): Generator<Reason> {
  const layer = mainWorkerLayer(perConnectionBytes);
  const atRest = perConnectionBytes[layer]?.doubt;
  if (atRest === 'grows') {
    yield {
      code: 'MEMORY_GROWS',
      message: `${layer} grew while the number of connections stayed the same, and a collection did not free it: the slope takes this for the cost of connections, or lacks what they took after the plateaus`,
      fix: 'look for a leak in the server (timers, caches, listeners), or for memory that a connection takes only after a while: a longer `hold` and longer pauses show both better',
    };
  }
  if (atRest === 'curved') {
    const points = plateaus.flatMap(({ connections, [layer]: y }) => (y === undefined ? [] : [{ x: connections, y }]));
    yield notLinear(`${layer} at rest`, points);
  } else if (inService?.perConnectionBytes[layer]?.doubt === 'curved') {
    yield notLinear(`${layer} in service`, inServicePoints({ plateaus, inService }, layer));
  }
}

/** What says why memory is missing. */
const EXPLAINED: ReasonCode[] = ['METRICS_GONE', 'DEPLOYMENT_CHANGED', 'COLLECTION_MISSING'];

/** A figure that some plateaus lack has no line, and would be missing from the report without a word. */
export function* missingMemory(
  { aborted, warnings }: Pick<Measurements, 'aborted' | 'warnings'>,
  { plateaus, inService, absent }: Result['memory'],
): Generator<Reason> {
  if (aborted || warnings.some(({ code }) => EXPLAINED.includes(code))) return;
  const all = [lackingIn(plateaus), lackingIn(inService?.plateaus ?? [])];
  const lacking = [...new Set(all.flatMap(({ ids }) => ids))];
  if (lacking.length === 0) return;
  const times = Math.max(...all.map((one) => one.times));
  const why = lacking.map((id) => absent[id]).find((reason) => reason !== undefined);
  yield {
    code: 'MEMORY_MISSING',
    message: `${lacking.join(' and ')} could not be read at ${times} of ${plateaus.length} plateaus${why ? `: ${why}` : ''}`,
    fix: 'name the processes that are there during the whole run, and run as root or as their user',
  };
}

/** @returns figures that some readings have, and how many readings lack one of them */
function lackingIn(readings: Record<string, number>[]): { ids: string[]; times: number } {
  const known = [...new Set(readings.flatMap(Object.keys))].filter((id) => id.startsWith('worker'));
  const ids = known.filter((id) => readings.some((reading) => !(id in reading)));
  return { ids, times: readings.filter((reading) => ids.some((id) => !(id in reading))).length };
}

function notLinear(what: string, points: Point[]): Reason {
  const percent = 100 * Math.abs(bendOf(points)?.share ?? 0);
  const direction = (bendOf(points)?.share ?? 0) > 0 ? 'more' : 'less';
  return {
    code: 'MEMORY_NOT_LINEAR',
    message: `${what} is not a straight line: the last connections cost ${direction} than the first ones, by ${percent.toFixed(0)} % of the average`,
    fix: 'measure with the number of connections that you expect, and read the table of plateaus',
  };
}
