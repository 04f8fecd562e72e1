/**
 * Measures one generator against a worker: CPU of the ramp, of an idle window, of a window with broadcasts, and memory
 * before the ramp and at the full number of connections. All of it is of the generator's whole process tree, without
 * its start.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { until } from '../wait-for-message.ts';
import { type BroadcastPlan, PING_INTERVAL_MS, type Worker } from '../worker.ts';
import { type Generator, type Started, versionOf } from './measured-generator.ts';
import type { Load } from './programs/load-program.ts';

export type Measured = Awaited<ReturnType<typeof measureStarted>>;

/** Before the ramp, for a runtime's work after its start. */
const WARM_MS = 2000;
/** After the last connection, for its join. */
const JOIN_MS = 500;
/** Before the idle window. */
const SETTLE_MS = 2000;
const RAMP_TIMEOUT_MS = 60_000;
const DRAIN_TIMEOUT_MS = 90_000;
/** A polling client that is ended without a word is gone when it misses a ping. */
const END_TIMEOUT_MS = 90_000;
const DRAIN_STEP_MS = 500;
/** A generator whose CPU use exceeds that of the idle window by less than this has processed all messages. */
const QUIET_CORES = 0.03;

/** @throws Error when the generator fails, does not get all connections, or loses messages that it counts */
export async function measure(
  generator: Generator,
  worker: Worker,
  load: Load,
  plan: BroadcastPlan,
  folder: string,
  signal: AbortSignal,
): Promise<Measured> {
  const { tool } = generator;
  if (tool && versionOf(tool) === undefined) throw new Error(`not installed: \`${tool.install}\``);
  // Those that the last generator left would be counted as connections of this one.
  await until(
    async () => (await worker.stats()).connections === 0,
    END_TIMEOUT_MS,
    'earlier connections to end',
    signal,
  );
  const started = await generator.start(load, worker, folder);
  try {
    return await measureStarted(started, worker, load, plan, signal);
  } finally {
    await started.close();
  }
}

async function measureStarted(
  started: Started,
  worker: Worker,
  { connections }: Load,
  plan: BroadcastPlan,
  signal: AbortSignal,
) {
  const { tree } = started;
  await delay(WARM_MS, undefined, { signal });
  const beforeBytes = started.startBytes ?? tree.pssBytes();
  await started.ramp();
  // Some begin by themselves, later, and some have connections of their own: the last reading with next to none counts.
  let [earlierUs, latestUs] = [tree.cpuUs(), tree.cpuUs()];
  const hasBegun = async () => {
    [earlierUs, latestUs] = [latestUs, tree.cpuUs()];
    return (await worker.stats()).connections >= connections / 100;
  };
  await until(hasBegun, RAMP_TIMEOUT_MS, 'the first connections', signal);
  const rampStartMs = performance.now();
  const isFull = async () => (await worker.stats()).connections >= connections;
  await until(isFull, RAMP_TIMEOUT_MS + (connections / 100) * 1000, `${connections} connections`, signal);
  const rampSeconds = (performance.now() - rampStartMs) / 1000;
  await delay(JOIN_MS, undefined, { signal });
  const rampCpuUs = tree.cpuUs() - earlierUs;

  await delay(SETTLE_MS, undefined, { signal });
  const idleCpuUs = await cpuDuring(tree, () => delay(PING_INTERVAL_MS, undefined, { signal }));
  const pssBytes = tree.pssBytes();
  const idleCores = idleCpuUs / (PING_INTERVAL_MS * 1000);

  const windowStartMs = performance.now();
  const cpuUs = await cpuDuring(tree, async () => {
    await worker.publish(plan, connections, signal);
    await drained(tree, idleCores, signal);
  });
  const windowUs = (performance.now() - windowStartMs) * 1000;

  const messages = plan.count * connections;
  const received = await started.finish();
  if (received !== undefined && received !== messages) throw new Error(`received ${received} of ${messages} messages`);
  return {
    cpuPerConnectionUs: rampCpuUs / connections,
    cpuPerMessageUs: (cpuUs - idleCores * windowUs) / messages,
    /** Proportional set size. */
    memoryPerConnectionBytes: (pssBytes - beforeBytes) / connections,
    rampSeconds,
    /** CPU of the held, idle connections, in percent of one core; each was pinged once. */
    idlePercent: idleCores * 100,
    messages,
  };
}

async function drained(tree: Started['tree'], idleCores: number, signal: AbortSignal): Promise<void> {
  const isQuiet = async () => {
    const cpuUs = await cpuDuring(tree, () => delay(DRAIN_STEP_MS, undefined, { signal }));
    return cpuUs / (DRAIN_STEP_MS * 1000) < idleCores * 2 + QUIET_CORES;
  };
  await until(isQuiet, DRAIN_TIMEOUT_MS, 'the generator to process the broadcasts', signal);
}

async function cpuDuring(tree: Started['tree'], work: () => Promise<unknown>): Promise<number> {
  const beforeUs = tree.cpuUs();
  await work();
  return tree.cpuUs() - beforeUs;
}
