/**
 * Calibrates memory that is read through Node's inspector. The true values are the server's own readings at the same
 * connections.
 */
import { type ChildProcess, execFileSync, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { Fleet } from '../../plugin/fleet/fleet.ts';
import { withoutBaseline } from '../../plugin/result/memory/assemble-memory.ts';
import { readMemoryAtRest } from '../../plugin/run/memory/readings.ts';
import { pollUntil } from '../../plugin/run/wait.ts';
import { Inspectors, Sampler } from '../../plugin/samplers/index.ts';
import { stopChildProcess } from '../../protocol/base/stop-child-process.ts';
import { fitPlateaus } from '../../report/statistics/plateaus.ts';
import { fleetSettings, joinAll } from '../../test/helpers/fleet.ts';
import { HANDLES_BYTES, workerMemoryHeadline } from './calibrate-native-memory.ts';
import { emptyMeasurements, joinClients, neverAborted } from './calibration-setup.ts';
import {
  type CalibrationSection,
  compareInterval,
  compareWithin,
  type ErrorBound,
  type TruthComparison,
  valueOrInfinity,
} from './comparison.ts';

interface InspectorSize {
  /** Number of connections at the last plateau, for each server. */
  connections: number[];
  /** Native memory per connection, for each server. */
  kilobytes: number[];
  plateaus: number;
  bound: ErrorBound;
  /** Paths of the Node executables to test; default: the current one. */
  nodes?: string[];
}

const SERVER = fileURLToPath(new URL('./unchanged-server.cjs', import.meta.url));
const CLOSE_TIMEOUT_MS = 5000;
const LEAVE_TIMEOUT_MS = 15_000;
/** Warm-up like in a run. */
const WARM_UP = { rounds: 8, batches: 5, together: 10 };

export async function calibrateInspector({
  nodes = [process.execPath],
  connections,
  kilobytes,
  plateaus,
  bound,
}: InspectorSize): Promise<CalibrationSection> {
  const rows: TruthComparison[] = [];
  for (const node of nodes) {
    const version = execFileSync(node, ['--version'], { encoding: 'utf8' }).trim();
    for (const count of connections) {
      for (const native of kilobytes) {
        const { slope, low95, high95, truth, workers } = await measured(node, count, plateaus, native * 1024);
        const what = `Node ${version}, ${count} connections`;
        const counted = `${what}: heap and external`;
        rows.push(
          compareWithin(counted, 'bytes', truth, slope, bound),
          compareInterval(`${counted}, 95 % interval`, truth, low95, high95),
        );
        const all = truth + HANDLES_BYTES + native * 1024;
        rows.push(
          compareInterval(
            `${what}, ${native} KB of native memory: workers, 95 % interval`,
            all,
            workers.low,
            workers.high,
          ),
        );
      }
    }
  }
  return {
    title: 'Memory by the inspector',
    text:
      `A server that keeps 100 objects per connection, and the stated native memory in keys of OpenSSL, read at ${plateaus} plateaus. ` +
      'The true value is the slope of its own `process.memoryUsage()` after `gc()`, without compiled code; for the workers with the native memory and 1 KB of handles.',
    rows,
  };
}

async function measured(execPath: string, connections: number, plateaus: number, nativeBytes: number) {
  const execArgv = ['--expose-gc', '--inspect-port=0'];
  const child = fork(SERVER, [`${nativeBytes}`], { execPath, execArgv, stdio: ['ignore', 'ignore', 'ignore', 'ipc'] });
  let inspectors: Inspectors | undefined;
  let fleet: Fleet | undefined;
  try {
    const [port] = await once(child, 'message');
    inspectors = await Inspectors.connect({ pids: async () => [child.pid as number] });
    fleet = await Fleet.start(fleetSettings(`http://127.0.0.1:${port}`), 1);
    return await read(child, inspectors, fleet, { connections, plateaus });
  } finally {
    await fleet?.close();
    await inspectors?.close();
    await stopChildProcess(child, () => child.disconnect(), CLOSE_TIMEOUT_MS);
  }
}

async function read(
  child: ChildProcess,
  inspectors: Inspectors,
  fleet: Fleet,
  { connections, plateaus }: { connections: number; plateaus: number },
) {
  for (let round = 0; round < WARM_UP.rounds; round++) {
    for (let batch = 0; batch < WARM_UP.batches; batch++) {
      const clients = await joinAll(fleet, WARM_UP.together);
      await Promise.all(clients.map((client) => client.close()));
    }
    await pollUntil(() => fleet.status().connected === 0, LEAVE_TIMEOUT_MS, neverAborted);
    await inspectors.gc();
  }
  const sampler = new Sampler({ pids: () => ({ worker: [child.pid as number] }), connections: () => 0, inspectors });
  const measurements = emptyMeasurements();
  measurements.control = false;
  measurements.inspectors = inspectors;
  const truths: { connections: number; y: number }[] = [];
  for (let step = 0; step < plateaus; step++) {
    if (step > 0) await joinClients(fleet, Math.round(connections / (plateaus - 1)));
    const { layers, readings } = await readMemoryAtRest(inspectors, sampler);
    measurements.plateaus.push({ connections: fleet.status().connected, layers, readings });
    child.send('truth');
    const [y] = await once(child, 'message');
    truths.push({ connections: fleet.status().connected, y });
  }
  const { kept, ...workers } = workerMemoryHeadline(measurements, sampler, connections);
  const line = fitPlateaus(withoutBaseline(truths).map((truth) => ({ x: truth.connections, y: truth.y })));
  return {
    slope: valueOrInfinity(kept?.slope),
    low95: valueOrInfinity(kept?.low95),
    high95: valueOrInfinity(kept?.high95),
    truth: valueOrInfinity(line?.slope),
    workers,
  };
}
