/** When a run has been stopped: what its result lacks, as far as it can still be asked for. */
import type { Conductor } from '../run/conductor.ts';
import type { RunContext } from '../run/context.ts';
import { identityOf } from '../run/measurements/worker-identity.ts';
import { succeed, within } from '../run/wait.ts';

const ANSWER_TIMEOUT_MS = 5000;
/** For a worker that died to be restarted, so that the result can name it. */
const RESTART_TIMEOUT_MS = 5000;

export async function askForTheRest(conductor: Conductor, { measurements, control, link }: RunContext): Promise<void> {
  await succeed(() => conductor.stopped(), ANSWER_TIMEOUT_MS);
  if (measurements.snapshots.length === 0)
    measurements.snapshots = (await within(link.snapshots(), ANSWER_TIMEOUT_MS)) ?? [];
  if (measurements.eventLoops.length === 0)
    measurements.eventLoops = (await within(control.eventLoops(false), ANSWER_TIMEOUT_MS)) ?? [];
  if (measurements.workersAtEnd.length === 0) {
    const workers = await succeed(() => control.stats(), RESTART_TIMEOUT_MS);
    measurements.workersAtEnd = workers?.map(identityOf) ?? [];
  }
}
