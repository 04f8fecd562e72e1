/**
 * Calibrates memory and CPU by place. Functions of a known server keep known amounts of memory and use a known CPU
 * time.
 */
import { cpuByCodePlace } from '../../plugin/result/places/cpu-places.ts';
import { memoryCodePlaces } from '../../plugin/result/places/memory-places.ts';
import { readMemoryAtRest } from '../../plugin/run/memory/readings.ts';
import { cpuUsOf } from '../../test/helpers/beside.ts';
import {
  type CalibrationSetup,
  createSetupSampler,
  joinClients,
  warmUpConnections,
  withCalibrationSetup,
} from './calibration-setup.ts';
import {
  type CalibrationSection,
  compareInterval,
  compareWithin,
  type ErrorBound,
  type TruthComparison,
  valueOrInfinity,
} from './comparison.ts';

interface PlacesSize {
  connections: number;
  /** CPU time per connect in microseconds. */
  connectCpuUs: number;
  bound: ErrorBound;
  cpuBound: ErrorBound;
}

/** Bytes of an array beside its elements. */
const HEADER_BYTES = 16;
/** A function that V8 inlines counts for its caller. */
const NOT_INLINED = ['--max-inlined-bytecode-size=0', '--max-maglev-inlined-bytecode-size=0'];
/** Memory kept by each function, in KB. */
const KEPT = { keep2: 2, keep8: 8, keep32: 32 };

export async function calibrateCodePlaces(size: PlacesSize): Promise<CalibrationSection> {
  const plan = { keepsByPlace: true, connectCpuUs: size.connectCpuUs };
  const work = async (setup: CalibrationSetup) => {
    await warmUpConnections(setup, 1);
    return [...(await memoryRows(setup, size)), ...(await cpuRows(setup, size))];
  };
  const rows = await withCalibrationSetup(plan, work, { execArgv: NOT_INLINED });
  return {
    title: 'Memory and CPU by place',
    text:
      `${size.connections} connections: three functions of a server keep 2, 8 and 32 KB for each, and one uses ` +
      `${size.connectCpuUs} µs of CPU at each connect.`,
    rows,
  };
}

async function memoryRows(setup: CalibrationSetup, { connections, bound }: PlacesSize): Promise<TruthComparison[]> {
  const { control, fleet } = setup;
  const sampler = createSetupSampler(setup);
  const read = async (count: number) => ({
    connections: count,
    layers: (await readMemoryAtRest(control, sampler)).layers,
  });
  const first = await read(0);
  await control.startProfiles('heap');
  await joinClients(fleet, connections);
  const last = await read(connections);
  const found = memoryCodePlaces({ heapProfiles: await control.takeProfiles(), plateaus: [first, last] });
  const kept = Object.entries(KEPT).flatMap(([name, kilobytes]) => {
    const row = found?.functions.find((candidate) => candidate.name === name);
    const [what, bytes, halfWidth] = [
      `a function that keeps ${kilobytes} KB`,
      valueOrInfinity(row?.bytes),
      row?.halfWidth95 ?? 0,
    ];
    return [
      compareWithin(what, 'bytes', kilobytes * 1024, bytes, bound),
      compareInterval(`${what}, 95 % interval`, kilobytes * 1024 + HEADER_BYTES, bytes - halfWidth, bytes + halfWidth),
    ];
  });
  const sum = valueOrInfinity(found?.growthBytes) - valueOrInfinity(found?.unattributedBytes);
  return [...kept, compareWithin('sum of all places', 'bytes', valueOrInfinity(found?.growthBytes), sum, bound)];
}

/** The kernel's count of the threads that stay does not have the profiler's thread, which has ended. */
async function cpuRows(
  { server, control, fleet }: CalibrationSetup,
  { connections, connectCpuUs, cpuBound }: PlacesSize,
) {
  const beforeUs = cpuUsOf(server.pid);
  await control.startProfiles('cpu');
  await joinClients(fleet, connections);
  const profiles = await control.takeProfiles();
  const usPerConnect = (cpuUsOf(server.pid) - beforeUs) / connections;
  const found = cpuByCodePlace({ connect: { profiles, units: connections } })?.connect;
  const row = found?.functions.find(({ name }) => name === 'burn');
  const sum = valueOrInfinity(found?.us) - valueOrInfinity(found?.unattributedUs);
  return [
    compareWithin('a function that uses CPU', 'µs', connectCpuUs, valueOrInfinity(row?.us), cpuBound),
    compareWithin('sum of all CPU', 'µs', usPerConnect, sum, cpuBound),
  ];
}
