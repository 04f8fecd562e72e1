/**
 * Computes the number of machines for a number of users: by held connections, memory in service and the CPU of idle
 * connections. A machine never gets more connections than were held in a run.
 */

import type { MachineSizing, SizingLimit } from '../../protocol/documents/search-schema.ts';
import type { Result } from '../../protocol/result/result.ts';
import { cpuPerIdleConnection, deploymentCpuFigures, type KnownOrReason } from '../figures/idle-cpu.ts';
import { isConclusiveCost } from '../figures/per-connection.ts';
import { sharesMachine } from '../figures/places.ts';
import { coreCountText, environmentCores, environmentMemoryBytes } from '../figures/usable-resources.ts';
import { sum } from '../statistics/statistics.ts';
import { decimalsText, integerText, kilobytesText, megabytesText } from '../text/format.ts';

const USERS = [10_000, 50_000, 100_000, 1_000_000];

/**
 * Computes the number of machines. Returns null if no connections were held, or if no connection fits on a machine.
 * @param result result of a run at the highest level that held
 * @param broke whether a higher level broke, so that the held connections are the deployment's limit
 * @param headroom share of each limit that stays free
 */
export function computeSizing(result: Result, broke: boolean, headroom: number): MachineSizing | null {
  const held = result.connections.held ?? result.connections.peak;
  const memory = memoryOf(result);
  const cpu = cpuOf(result);
  const cores = environmentCores(result.environment);
  const memoryBytes = environmentMemoryBytes(result.environment);
  const usable = 1 - headroom;
  const walls: (SizingLimit & { usable: number | null })[] = [
    {
      name: 'held',
      max: held,
      usable: Math.floor(held * usable),
      assumption: `${integerText(held)} connections were held${broke ? '' : '; the machine may hold more'}`,
    },
    memory.known
      ? {
          name: 'memory',
          max: connectionsIn(memoryBytes, memory),
          usable: connectionsIn(memoryBytes * usable, memory),
          assumption: `Each connection takes ${atLeast(memory)}${kilobytesText(memory.each)} KB in service, with garbage and buffers (it keeps ${kilobytesText(memory.kept)} KB), and the processes without connections ${megabytesText(memory.base)} MB; the machine has ${megabytesText(memoryBytes)} MB`,
        }
      : { name: 'memory', max: null, usable: null, assumption: memory.why },
    cpu.known
      ? {
          name: 'cpu',
          max: Math.floor(cores / cpu.idleCores),
          usable: Math.floor((cores * usable) / cpu.idleCores),
          assumption: `Idle connections take ${atLeast(cpu)}${decimalsText(cpu.idleCores * 1000, 3)} cores per 1,000 with a ping every ${decimalsText(cpu.pingIntervalMs / 1000, 0)} s${cpu.connectSeconds === null ? '' : `, and 1,000 connects ${decimalsText(cpu.connectSeconds, 2)} s of CPU`}; there are ${coreCountText(cores)} cores`,
        }
      : { name: 'cpu', max: null, usable: null, assumption: cpu.why },
  ];
  const [lowest] = walls
    .flatMap(({ name, usable: max }) => (max === null ? [] : [{ name, max }]))
    .sort((a, b) => a.max - b.max);
  if (!lowest || lowest.max === 0) return null;
  const perMachine = lowest.max;
  return {
    atMost: !broke && lowest.name === 'held',
    walls: walls.map(({ name, max, assumption }) => ({ name, max, assumption })),
    decides: lowest.name,
    perMachine,
    rows: USERS.map((users) => {
      const machines = Math.ceil(users / perMachine);
      const each = Math.ceil(users / machines);
      const idleCores = cpu.known ? cpu.idleCores * each : null;
      const free = cores * usable - (idleCores ?? 0);
      return {
        users,
        machines,
        memoryBytes: memory.known ? Math.round(memory.base + memory.each * each) : null,
        idleCores,
        reconnectSeconds: cpu.known && cpu.connectSeconds !== null ? (cpu.connectSeconds * each) / 1000 / free : null,
      };
    }),
  };
}

/**
 * Returns the prefix `at least` if the number is a lower limit, because the run could not read some parts of the
 * deployment.
 */
function atLeast({ isAtLeast }: { isAtLeast: boolean }): string {
  return isAtLeast ? 'at least ' : '';
}

function connectionsIn(bytes: number, { base, each }: { base: number; each: number }): number {
  return Math.max(0, Math.floor((bytes - base) / each));
}

/**
 * Returns memory per connection in service (with garbage and buffers), and the deployment's memory without connections.
 */
function memoryOf(result: Result): KnownOrReason<{ each: number; kept: number; base: number; isAtLeast: boolean }> {
  const { memory, absent } = result;
  if (absent.memory !== undefined) return { known: false, why: `Memory was not measured: ${absent.memory}` };
  if (!sharesMachine(result)) {
    return { known: false, why: 'The deployment runs elsewhere, so the memory of its machine is unknown' };
  }
  const cost = memory.perConnection;
  if (!cost || !isConclusiveCost(cost) || cost.inService === null || cost.inService <= 0) {
    return { known: false, why: 'The run could not tell the memory per connection' };
  }
  const atZero: Record<string, number> = memory.plateaus.find(({ connections }) => connections === 0) ?? {};
  const own = memory.layers.filter((one) => one.unit === 'bytes' && one.belongsTo !== 'generator' && one.inSum);
  const base = sum(own.map(({ id }) => atZero[id] ?? 0));
  return { known: true, each: cost.inService, kept: cost.bytes, base, isAtLeast: cost.unread.length > 0 };
}

/** Returns the cores that an idle connection uses, and the CPU seconds for a thousand connects. */
function cpuOf(
  result: Result,
): KnownOrReason<{ idleCores: number; pingIntervalMs: number; connectSeconds: number | null; isAtLeast: boolean }> {
  if (!sharesMachine(result)) {
    return { known: false, why: 'The deployment runs elsewhere, so the CPU of its machine is unknown' };
  }
  const idle = cpuPerIdleConnection(result);
  if (!idle.known) return { known: false, why: `The CPU of idle connections is unknown: ${idle.why}` };
  const connects = deploymentCpuFigures(result).flatMap((layer) => layer.rampSecondsPerThousandConnects ?? []);
  return {
    known: true,
    idleCores: idle.cores,
    pingIntervalMs: idle.pingIntervalMs,
    isAtLeast: idle.isAtLeast,
    connectSeconds: connects.length > 0 ? sum(connects) : null,
  };
}
