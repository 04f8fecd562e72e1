/** Workers whose memory is no line through the plateaus, so that there is no memory per connection. */

import type { Reason } from '../../../protocol/codes/verdict-reasons.ts';
import type { Result } from '../../../protocol/result/result.ts';
import { inServicePoints } from '../../../report/in-service.ts';
import { mainWorkerLayer } from '../../../report/layers.ts';
import type { Point } from '../../../report/statistics/statistics.ts';
import { bendOf } from '../../../report/statistics/straightness.ts';

/** A slope that is only not known well enough makes no figure, and no doubt of the others. */
export function* memoryProblems({ perConnectionBytes, inService, plateaus }: Result['memory']): Generator<Reason> {
  const layer = mainWorkerLayer(perConnectionBytes);
  const atRest = perConnectionBytes[layer]?.doubt;
  if (atRest === 'grows') {
    yield {
      code: 'MEMORY_GROWS',
      message: `${layer} grew while the number of connections stayed the same, and a collection did not free it: the slope would take this for the cost of connections`,
      fix: 'look for a leak in the server: timers, caches, listeners; a longer `hold` shows it better',
    };
  }
  if (atRest === 'curved') {
    const points = plateaus.flatMap(({ connections, [layer]: y }) => (y === undefined ? [] : [{ x: connections, y }]));
    yield notLinear(`${layer} at rest`, points);
  } else if (inService?.perConnectionBytes[layer]?.doubt === 'curved') {
    yield notLinear(`${layer} in service`, inServicePoints({ plateaus, inService }, layer));
  }
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
