/**
 * Measures a generator with a worker: CPU of the ramp, of an idle window and of a window with broadcasts; memory before
 * the ramp and with all connections. The figures include all processes of the generator, but not its start.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { waitUntil } from '../wait-for-message.ts';
import { type BenchBroadcastPlan, type BenchWorker, PING_INTERVAL_MS } from '../worker.ts';
import { type MeasuredGenerator, ProcessTree, type StartedGenerator, toolVersion } from './measured-generator.ts';
import type { BenchLoad } from './programs/load-program.ts';

export type MeasuredClients = Awaited<ReturnType<typeof measureStarted>>;

/** Wait before the ramp, in which the runtime finishes work of its start. */
const WARM_MS = 2000;
/** Wait after the last connection for its join. */
const JOIN_MS = 500;
/** Wait before the idle window. */
const SETTLE_MS = 2000;
const RAMP_TIMEOUT_MS = 60_000;
const DRAIN_TIMEOUT_MS = 90_000;
/** Time for earlier connections to close. A killed polling client counts as connected until it misses a ping. */
const END_TIMEOUT_MS = 90_000;
const DRAIN_STEP_MS = 500;
/** Tolerance in cores. A generator has processed all messages when its CPU use is within this of the idle window. */
const QUIET_CORES = 0.03;

/** @throws Error if the generator fails, does not open all connections, or loses messages that it counts */
export async function measureClients(
  generator: MeasuredGenerator,
  worker: BenchWorker,
  load: BenchLoad,
  plan: BenchBroadcastPlan,
  folder: string,
  signal: AbortSignal,
): Promise<MeasuredClients> {
  const { tool } = generator;
  if (tool && toolVersion(tool) === undefined) throw new Error(`not installed: \`${tool.install}\``);
  // Waits, so that connections of the previous generator are not counted.
  await waitUntil(
    async () => (await worker.stats()).connections === 0,
    END_TIMEOUT_MS,
    'earlier connections to close',
    signal,
  );
  worker.tell('plain');
  const started = await generator.start(load, worker, folder);
  try {
    return await measureStarted(started, worker, load, plan, signal);
  } finally {
    await started.close();
  }
}

async function measureStarted(
  started: StartedGenerator,
  worker: BenchWorker,
  { connections }: BenchLoad,
  plan: BenchBroadcastPlan,
  signal: AbortSignal,
) {
  const { tree } = started;
  await delay(WARM_MS, undefined, { signal });
  const beforeBytes = started.startBytes ?? tree.pssBytes();
  await started.ramp();
  // Some generators start their ramp later by themselves, or open additional connections. The CPU of the ramp is
  // therefore counted from the last reading with less than 1 % of the connections.
  const workerTree = new ProcessTree(worker.pid);
  const readCpu = () => ({
    atMs: performance.now(),
    ownUs: tree.cpuUs(),
    mainUs: tree.mainThreadCpuUs(),
    workerUs: workerTree.cpuUs(),
  });
  let [earlier, latest] = [readCpu(), readCpu()];
  const hasBegun = async () => {
    [earlier, latest] = [latest, readCpu()];
    return (await worker.stats()).connections >= connections / 100;
  };
  await waitUntil(hasBegun, RAMP_TIMEOUT_MS, 'the first connections', signal);
  const rampStartMs = performance.now();
  const isFull = async () => (await worker.stats()).connections >= connections;
  await waitUntil(isFull, RAMP_TIMEOUT_MS + (connections / 100) * 1000, `${connections} connections`, signal);
  const rampSeconds = (performance.now() - rampStartMs) / 1000;
  await delay(JOIN_MS, undefined, { signal });
  const rampCpuUs = tree.cpuUs() - earlier.ownUs;

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
  const last = readCpu();

  const messages = plan.count * connections;
  const received = await started.finish();
  if (received !== undefined && received !== messages) throw new Error(`received ${received} of ${messages} messages`);
  return {
    cpuPerConnectionUs: rampCpuUs / connections,
    cpuPerMessageUs: (cpuUs - idleCores * windowUs) / messages,
    /** Memory per connection, from the proportional set size (PSS). */
    memoryPerConnectionBytes: (pssBytes - beforeBytes) / connections,
    /** CPU of the worker from the ramp to the end of the broadcasts, per connection. */
    workerCpuUs: (last.workerUs - earlier.workerUs) / connections,
    /** CPU use of the main thread from the ramp to the end of the broadcasts, in percent of a core. */
    mainThreadPercent: (last.mainUs - earlier.mainUs) / (last.atMs - earlier.atMs) / 10,
    rampSeconds,
    /** CPU use of the idle connections, in percent of a core. Each connection is pinged once in the window. */
    idlePercent: idleCores * 100,
    messages,
  };
}

async function drained(tree: StartedGenerator['tree'], idleCores: number, signal: AbortSignal): Promise<void> {
  const isQuiet = async () => {
    const cpuUs = await cpuDuring(tree, () => delay(DRAIN_STEP_MS, undefined, { signal }));
    return cpuUs / (DRAIN_STEP_MS * 1000) < idleCores * 2 + QUIET_CORES;
  };
  await waitUntil(isQuiet, DRAIN_TIMEOUT_MS, 'the generator to process the broadcasts', signal);
}

async function cpuDuring(tree: StartedGenerator['tree'], work: () => Promise<unknown>): Promise<number> {
  const beforeUs = tree.cpuUs();
  await work();
  return tree.cpuUs() - beforeUs;
}
