/** Memory that the connections leave behind: read when all of them have left. */

import type { Checkpoints } from '../checkpoints/checkpoints.ts';
import type { RunContext } from '../context.ts';
import { measureSettled, without } from './at-rest.ts';

export async function measureResidual(context: RunContext, checkpoints: Checkpoints): Promise<void> {
  const { record, measurements } = context;
  const when = 'after all had left';
  await checkpoints.check(when);
  // Processes that a fault has replaced have another baseline.
  if (measurements.fault) return;
  const { layers, falling } = await measureSettled(context, when, 'there is no residual');
  measurements.afterDisconnect = without(layers, falling);
  record.append('after-disconnect', { layers: measurements.afterDisconnect });
}
