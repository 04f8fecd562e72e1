/**
 * One full reading of all layers, in bytes, under the names that the result document uses. What cannot be told is
 * missing, with the reason beside it.
 */
import { describeError } from '../../protocol/errors.ts';
import type { WorkerStats } from '../../protocol/events.ts';
import { type KernelReading, readKernel } from './kernel.ts';
import { LAYERS, type Layer, type LayerPids, layerMemory } from './layers.ts';
import { readProcesses } from './proc.ts';
import type { RedisReader } from './redis.ts';
import type { ControlClients } from './workers.ts';

export interface Reading {
  /** E.g. `workerRss`, `nginxPss`, `redisUsedMemory`, `kernelTcp`, `systemUsed`. */
  bytes: Record<string, number>;
  /** Names that could have been there, and why they are not. */
  absent: Record<string, string>;
}

export interface ReadingSources {
  redis?: Pick<RedisReader, 'read' | 'failures' | 'lastFailure'>;
  workers?: Pick<ControlClients, 'stats'>;
  /** The deployment is on another machine, whose kernel tells us nothing. */
  ownMachineOnly?: boolean;
}

const NO_PSS =
  process.platform === 'linux' ? '/proc/<pid>/smaps_rollup is readable by its user and root only' : 'only Linux tells';

const NOT_HERE = "the workers run on another machine, and this one's kernel knows the generator's end only";
const MEMINFO_LAYERS = ['kernelPageTables', 'systemUsed', 'systemHeld'];

/** Never throws. */
export async function takeReading(pids: LayerPids, sources: ReadingSources): Promise<Reading> {
  const reading: Reading = { bytes: {}, absent: {} };
  const kernel = readKernel();
  const [processes] = await Promise.all([
    readProcesses(Object.values(pids).flat(), { pss: true }),
    addRedis(reading, sources.redis),
    addWorkers(reading, sources.workers),
  ]);
  for (const layer of LAYERS) addLayer(reading, layer, layerMemory(pids[layer], processes));
  if (sources.ownMachineOnly) leaveOutKernel(reading);
  else addKernel(reading, kernel);
  return reading;
}

function addLayer({ bytes, absent }: Reading, layer: Layer, memory: ReturnType<typeof layerMemory>): void {
  if (!memory.known) {
    // Redis and the workers may have told their RSS themselves, over the network.
    if (bytes[`${layer}Rss`] === undefined) absent[`${layer}Rss`] = memory.reason;
    absent[`${layer}Pss`] = memory.reason;
    return;
  }
  bytes[`${layer}Rss`] = memory.rssBytes;
  if (memory.pssBytes === undefined) absent[`${layer}Pss`] = NO_PSS;
  else bytes[`${layer}Pss`] = memory.pssBytes;
}

async function addRedis({ bytes, absent }: Reading, redis: ReadingSources['redis']): Promise<void> {
  const info = await redis?.read();
  if (info === undefined) {
    const reason = redis === undefined ? 'no Redis in this run' : `Redis did not answer: ${redis.lastFailure}`;
    absent.redisUsedMemory = reason;
    absent.redisClientBuffers = reason;
    return;
  }
  bytes.redisUsedMemory = info.usedMemoryBytes;
  bytes.redisRss = info.rssBytes;
  bytes.redisClientBuffers = info.pubSubTotalBytes;
}

async function addWorkers({ bytes, absent }: Reading, workers: ReadingSources['workers']): Promise<void> {
  let stats: WorkerStats[];
  try {
    if (workers === undefined) throw new Error('no control connection to the workers');
    stats = await workers.stats();
  } catch (error) {
    absent.workerHeapUsed = absent.workerExternal = describeError(error).split('\n')[0] as string;
    return;
  }
  const sum = (figure: (worker: WorkerStats) => number) => stats.reduce((total, worker) => total + figure(worker), 0);
  bytes.workerRss = sum((worker) => worker.rssBytes);
  bytes.workerHeapUsed = sum((worker) => worker.heapUsedBytes);
  bytes.workerExternal = sum((worker) => worker.externalBytes);
}

function addKernel({ bytes, absent }: Reading, kernel: KernelReading): void {
  if (kernel.tcp) bytes.kernelTcp = kernel.tcp.memoryBytes;
  else absent.kernelTcp = kernel.absent.tcp ?? '';
  if (kernel.slabBytes !== undefined) bytes.kernelSlab = kernel.slabBytes;
  else absent.kernelSlab = kernel.absent.slabBytes ?? '';
  if (kernel.memory) {
    const { totalBytes, availableBytes, heldBytes, pageTablesBytes } = kernel.memory;
    Object.assign(bytes, { systemUsed: totalBytes - availableBytes, systemHeld: heldBytes });
    bytes.kernelPageTables = pageTablesBytes;
  } else for (const layer of MEMINFO_LAYERS) absent[layer] = kernel.absent.memory ?? '';
}

/** What this machine's kernel says would be taken for the server's. */
function leaveOutKernel({ absent }: Reading): void {
  for (const layer of ['kernelTcp', 'kernelSlab', ...MEMINFO_LAYERS]) absent[layer] = NOT_HERE;
}
