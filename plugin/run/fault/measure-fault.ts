/** Causes a planned fault, waits until the deployment has recovered, and records the replaced processes. */

import { monotonicUs } from '../../../protocol/base/clock/clock.ts';
import { addSnapshots } from '../../../protocol/link/add-up.ts';
import { isStackFault } from '../../../protocol/wire/fault-kinds.ts';
import { partsReplacedBy } from '../../../server/stack/stack-faults.ts';
import type { FaultOptions } from '../../script/options/fault-options.ts';
import type { Checkpoints } from '../checkpoints/checkpoints.ts';
import type { RunContext } from '../context.ts';
import type { FaultMeasured } from '../measurements/fault-measured.ts';
import type { GeneratorWindow } from '../measurements/generator-measured.ts';
import { connectionsPerWorker } from '../measurements/per-worker.ts';
import { isSameProcess, type WorkerIdentity, workerIdentityOf } from '../measurements/worker-identity.ts';
import { abortablePause, pollUntil } from '../wait.ts';
import { endGeneratorWindow } from '../windows/generator-window.ts';
import { causePlannedFault } from './cause.ts';

/**
 * Time limit of the recovery, in milliseconds. It is far longer than the backoff of clients and the start of a worker.
 */
const RECOVERY_TIMEOUT_MS = 120_000;
/**
 * Time without a change after which all connections count as reconnected. It is longer than the status intervals of
 * fleet and engine together.
 */
const QUIET_MS = 1000;
const POLL_MS = 250;

/**
 * Causes the planned fault on time, and waits until the connections have reconnected.
 * @param when `leadMs`: time until the moment from which `fault.at` counts; `window`: the generator's measurement
 * window, which ends with the fault
 */
export async function measureFault(
  context: RunContext,
  checkpoints: Checkpoints,
  fault: FaultOptions,
  { leadMs, window }: { leadMs: number; window: GeneratorWindow },
): Promise<void> {
  const { measurements, link, sampler, target, signal } = context;
  const { stack } = target;
  const dueMs = performance.now() + leadMs + fault.at * 1000;
  const restartsBefore = await stack?.restarts();
  await abortablePause(dueMs - performance.now(), signal);
  if (signal.aborted) return;
  await checkpoints.checkDeployment({ at: 'before fault' });
  const before = { workers: await identities(context), perWorker: await perWorker(context, window) };
  const measured: FaultMeasured = {
    kind: fault.kind,
    command: fault.command,
    atUs: monotonicUs(),
    t: sampler.seconds(),
    ...{ tookMs: undefined, over: undefined, replaced: [], restarted: [] },
    workers: { before: before.workers, after: [] },
    perWorker: { before: before.perWorker, after: {} },
  };
  measurements.fault = measured;
  await link.fault({ stage: 'begin', atUs: measured.atUs, drop: fault.kind === 'drop-connections' });
  try {
    await causePlannedFault(fault, { stack, signal });
    measured.tookMs = (monotonicUs() - measured.atUs) / 1000;
  } catch (error) {
    if (!signal.aborted) measurements.observations.note('faultFailed', { error: (error as Error).message });
  }
  await awaitConnections(context);
  await awaitWorkers(context);
  if (signal.aborted) return;
  await link.fault({ stage: 'end' });
  measured.over = { atUs: monotonicUs(), t: sampler.seconds() };
  measured.workers.after = await identities(context);
  measured.perWorker.after = await perWorker(context, window);
  await recordReplaced(context, checkpoints, fault, measured, restartsBefore);
}

async function awaitConnections({ link, measurements, signal }: RunContext): Promise<void> {
  let busyAtMs = performance.now();
  const isQuiet = () => {
    const { away, connecting, upgrading, joining } = link.status;
    // Servers without a control port may leave joins unacknowledged.
    if (away + connecting + upgrading + (measurements.control ? joining : 0) > 0) busyAtMs = performance.now();
    return performance.now() - busyAtMs >= QUIET_MS;
  };
  await pollUntil(isQuiet, RECOVERY_TIMEOUT_MS, signal);
}

/**
 * Waits until all workers answer, and until the adapter has connected all workers to each other. The adapter may take
 * some seconds to notice a killed worker.
 */
async function awaitWorkers({ control, measurements, signal }: RunContext): Promise<void> {
  const answer = async () => {
    await control.stats();
    for (let via = 0; via < control.size; via++) await control.members(measurements.receiversRoom, via);
    return true;
  };
  await pollUntil(() => answer().catch(() => false), RECOVERY_TIMEOUT_MS, signal, POLL_MS);
}

async function recordReplaced(
  context: RunContext,
  checkpoints: Checkpoints,
  { kind }: FaultOptions,
  measured: FaultMeasured,
  restartsBefore: Record<string, number> | undefined,
): Promise<void> {
  const { stack } = context.target;
  const planned = stack && isStackFault(kind) ? partsReplacedBy(kind, stack.state) : [];
  // The user's command may replace any process of the deployment.
  const isPlanned = (part: string) => kind === 'command' || planned.includes(part);
  const { before, after } = measured.workers;
  const changed = after.filter((worker, index) => !isSameProcess(before[index], worker)).map(({ worker }) => worker);
  const parts = await checkpoints.settle(isPlanned, after);
  measured.replaced = [...changed.filter(isPlanned), ...parts];
  const notReplaced = planned.filter((part) => !measured.replaced.includes(part));
  if (notReplaced.length > 0 && measured.tookMs !== undefined) {
    context.measurements.observations.note('faultFailed', { notReplaced });
  }
  const restarts = kind === 'command' ? undefined : await stack?.restarts();
  const again = Object.entries(restarts ?? {}).filter(
    ([worker, count]) => count - (restartsBefore?.[worker] ?? 0) > (planned.includes(worker) ? 1 : 0),
  );
  measured.restarted = [
    ...new Set([...changed.filter((part) => !isPlanned(part)), ...again.map(([worker]) => worker)]),
  ];
}

async function identities({ control }: RunContext): Promise<WorkerIdentity[]> {
  return (await control.stats()).map(workerIdentityOf);
}

/**
 * Counts the connections of each worker. Also ends the current measurement window of the generator's event loops,
 * because reading the counts starts a new window.
 */
async function perWorker(context: RunContext, window: GeneratorWindow): Promise<Record<string, number>> {
  return connectionsPerWorker(context.measurements, addSnapshots(await endGeneratorWindow(context, window)));
}
