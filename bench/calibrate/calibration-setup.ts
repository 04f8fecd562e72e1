/** Starts a known server, and connects the product's fleet processes and control connection to it. */

import { execFileSync } from 'node:child_process';
import { cpus } from 'node:os';
import { Fleet } from '../../plugin/fleet/fleet.ts';
import { publishBroadcasts, type SentBroadcast, type UnsentBroadcast } from '../../plugin/run/broadcasts/publish.ts';
import { Measurements } from '../../plugin/run/measurements/measurements.ts';
import { pollUntil } from '../../plugin/run/wait.ts';
import { ControlClients, Sampler } from '../../plugin/samplers/index.ts';
import { tryOrUndefined } from '../../protocol/base/try-or-undefined.ts';
import { fleetSettings, joinAll } from '../../test/helpers/fleet.ts';
import { type KnownProcess, startKnownProcess } from './known-process.ts';
import type { KnownServerConfig, KnownServerStarted, KnownServerTruth } from './known-server.ts';

export const CALIBRATION_TOKEN = 'token-of-the-calibration';
export const CALIBRATION_ROOM = 'capacity';

/** Number of clients that connect at the same time. With more clients, the listen queue would be measured. */
const TOGETHER = 100;
const WARM_UP_CONNECTIONS = 200;
const WARM_UP_TOGETHER = 10;
/** Number of warm-up batches between two forced collections. */
const COLLECT_EVERY = 5;
const DRAIN_TIMEOUT_MS = 15_000;
export const neverAborted = new AbortController().signal;

/** Assigns the server to the first core and the fleet process to the second. */
export async function pinToSeparateCores({ server, fleet }: CalibrationSetup): Promise<void> {
  const { processes } = await fleet.snapshot();
  pin(server.pid, 0);
  for (const { pid } of processes) pin(pid, 1);
}

export interface CalibrationSetup {
  server: KnownServer;
  control: ControlClients;
  fleet: Fleet;
}

export type ServerPlan = Omit<KnownServerConfig, 'token'>;
type KnownServer = KnownProcess<KnownServerStarted, KnownServerTruth>;

export function startKnownServer(config: ServerPlan, execArgv: string[] = []): Promise<KnownServer> {
  return startKnownProcess('known-server.ts', { ...config, token: CALIBRATION_TOKEN }, execArgv);
}

/**
 * Runs `work` with a new setup, and closes everything afterwards.
 * @param execArgv Node options for the server's process
 */
export async function withCalibrationSetup<T>(
  config: ServerPlan,
  work: (setup: CalibrationSetup) => Promise<T>,
  { execArgv = [] }: { execArgv?: string[] } = {},
): Promise<T> {
  const server = await startKnownServer(config, execArgv);
  let control: ControlClients | undefined;
  let fleet: Fleet | undefined;
  try {
    control = await ControlClients.connect([server.started.controlUrl], CALIBRATION_TOKEN);
    fleet = await Fleet.start(fleetSettings(server.started.url), 1);
    return await work({ server, control, fleet });
  } finally {
    await fleet?.close();
    control?.close();
    await server.close();
  }
}

/** Connects clients. Resolves when all have joined the room. */
export async function joinClients(fleet: Fleet, count: number): Promise<void> {
  for (let joined = 0; joined < count; joined += TOGETHER) await joinAll(fleet, Math.min(TOGETHER, count - joined));
}

/**
 * Opens and closes connections, so that one-time costs such as compilation and reserved memory are not attributed to
 * the measured connections. Only a few are open at a time, because measured connections reuse the memory of closed
 * ones. A run does the same.
 */
export async function warmUpConnections({ fleet, control }: CalibrationSetup, times: number): Promise<void> {
  for (let batch = 0; batch < (times * WARM_UP_CONNECTIONS) / WARM_UP_TOGETHER; batch++) {
    const connections = await joinAll(fleet, WARM_UP_TOGETHER);
    await Promise.all(connections.map((connection) => connection.close()));
    if (batch % COLLECT_EVERY === 0) await control.gc();
  }
  await pollUntil(() => fleet.status().connected === 0, DRAIN_TIMEOUT_MS, neverAborted);
  await control.gc();
}

/**
 * Publishes broadcasts like a run, and finalizes the ledger when all copies have arrived.
 * @returns measurements from which the product computes its figures
 */
export async function publishAndFinalize(
  { control, fleet }: CalibrationSetup,
  plan: { count: number; intervalMs: number; receipts: number; bytes?: number; beforeSend?: (index: number) => void },
): Promise<Measurements> {
  const measurements = emptyMeasurements();
  const before = fleet.status().received;
  const schedule = {
    destinations: Array.from({ length: plan.count }, () => ({ room: CALIBRATION_ROOM, via: 0 })),
    intervalMs: plan.intervalMs,
    bytes: plan.bytes ?? 1000,
    binary: false,
  };
  const sent: SentBroadcast[] = measurements.sent;
  const unsent = ({ message }: UnsentBroadcast) => {
    throw new Error(message);
  };
  const orders = await publishBroadcasts(
    control,
    schedule,
    { beforeSend: plan.beforeSend, onSent: (broadcast) => sent.push(broadcast), onFailed: unsent },
    neverAborted,
  );
  await orders.settled();
  await pollUntil(() => fleet.status().received - before >= plan.receipts, DRAIN_TIMEOUT_MS, neverAborted);
  measurements.frozen = await fleet.freeze(
    sent.map(({ seq, worker, sentAtUs, intendedAtUs }) => ({
      seq,
      room: CALIBRATION_ROOM,
      worker,
      sentAtUs,
      intendedAtUs,
    })),
  );
  return measurements;
}

export function emptyMeasurements(): Measurements {
  return new Measurements('calibration', {
    engine: 'socketio-capacity',
    target: '',
    load: {
      connections: 0,
      connectionsAtOnce: 0,
      stays: false,
      leaves: false,
      staySeconds: 0,
      ratePerSec: null,
      messages: [],
    },
    rooms: { name: CALIBRATION_ROOM, count: 1, perConnection: 1, order: 'turn', seed: 1 },
    connection: { transports: ['websocket'] },
  });
}

export function createSetupSampler({ server, control, fleet }: CalibrationSetup): Sampler {
  return new Sampler({
    pids: () => ({ worker: [server.pid] }),
    connections: () => fleet.status().connected,
    workers: control,
  });
}

/**
 * Pins the main thread of a process to a core with real-time priority. Other threads (compiler, garbage collector) are
 * not pinned, so that they do not compete with it. Does nothing with a single core, without `taskset` and `chrt`, or
 * without permission.
 */
function pin(pid: number, core: number): void {
  const run = (program: string, ...args: string[]) =>
    tryOrUndefined(() => execFileSync(program, args, { stdio: 'ignore' }));
  if (core < cpus().length) run('taskset', '-cp', String(core), String(pid));
  run('chrt', '-fp', '1', String(pid));
}
