/**
 * Calibrates memory and CPU by place. Functions of a known server keep known amounts of memory and use a known CPU
 * time.
 */
import { cpuByPlace } from '../../plugin/result/places/cpu-places.ts';
import { memoryPlaces } from '../../plugin/result/places/memory-places.ts';
import { readAtRest } from '../../plugin/run/memory/readings.ts';
import { cpuUsOf } from '../../test/helpers/beside.ts';
import { join, type Setup, samplerOf, warmUp, withSetup } from './calibration-setup.ts';
import { type Bound, type Comparison, interval, known, near, type Section } from './comparison.ts';

interface PlacesSize {
  connections: number;
  /** CPU time per connect in microseconds. */
  connectCpuUs: number;
  bound: Bound;
  cpuBound: Bound;
}

/** Bytes of an array beside its elements. */
const HEADER_BYTES = 16;
/** A function that V8 inlines counts for its caller. */
const NOT_INLINED = ['--max-inlined-bytecode-size=0', '--max-maglev-inlined-bytecode-size=0'];
/** Memory kept by each function, in KB. */
const KEPT = { keep2: 2, keep8: 8, keep32: 32 };

export async function places(size: PlacesSize): Promise<Section> {
  const plan = { keepsByPlace: true, connectCpuUs: size.connectCpuUs };
  const work = async (setup: Setup) => {
    await warmUp(setup, 1);
    return [...(await memoryRows(setup, size)), ...(await cpuRows(setup, size))];
  };
  const rows = await withSetup(plan, work, { execArgv: NOT_INLINED });
  return {
    title: 'Memory and CPU by place',
    text:
      `${size.connections} connections: three functions of a server keep 2, 8 and 32 KB for each, and one uses ` +
      `${size.connectCpuUs} µs of CPU at each connect.`,
    rows,
  };
}

async function memoryRows(setup: Setup, { connections, bound }: PlacesSize): Promise<Comparison[]> {
  const { control, fleet } = setup;
  const sampler = samplerOf(setup);
  const read = async (count: number) => ({ connections: count, layers: (await readAtRest(control, sampler)).layers });
  const first = await read(0);
  await control.startProfiles('heap');
  await join(fleet, connections);
  const last = await read(connections);
  const found = memoryPlaces({ heapProfiles: await control.takeProfiles(), plateaus: [first, last] });
  const kept = Object.entries(KEPT).flatMap(([name, kilobytes]) => {
    const row = found?.functions.find((candidate) => candidate.name === name);
    const [what, bytes, halfWidth] = [
      `a function that keeps ${kilobytes} KB`,
      known(row?.bytes),
      row?.halfWidth95 ?? 0,
    ];
    return [
      near(what, 'bytes', kilobytes * 1024, bytes, bound),
      interval(`${what}, 95 % interval`, kilobytes * 1024 + HEADER_BYTES, bytes - halfWidth, bytes + halfWidth),
    ];
  });
  const sum = known(found?.growthBytes) - known(found?.unattributedBytes);
  return [...kept, near('sum of all places', 'bytes', known(found?.growthBytes), sum, bound)];
}

/** The kernel's count of the threads that stay does not have the profiler's thread, which has ended. */
async function cpuRows({ server, control, fleet }: Setup, { connections, connectCpuUs, cpuBound }: PlacesSize) {
  const beforeUs = cpuUsOf(server.pid);
  await control.startProfiles('cpu');
  await join(fleet, connections);
  const profiles = await control.takeProfiles();
  const usPerConnect = (cpuUsOf(server.pid) - beforeUs) / connections;
  const found = cpuByPlace({ connect: { profiles, units: connections } })?.connect;
  const row = found?.functions.find(({ name }) => name === 'burn');
  const sum = known(found?.us) - known(found?.unattributedUs);
  return [
    near('a function that uses CPU', 'µs', connectCpuUs, known(row?.us), cpuBound),
    near('sum of all CPU', 'µs', usPerConnect, sum, cpuBound),
  ];
}
