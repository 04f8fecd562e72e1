/** Every limit: how many connections it allows, and how to raise it. Pure. */
import { FLEET_RESERVED_FILES, MAX_FLEET_PROCESSES } from '../../protocol/generator.ts';
import { integer } from '../../report/text/format.ts';
import { perWorkerCapacity, RESERVED_FILES } from '../../server/stack/plan.ts';
import type { LimitName } from './checks.ts';
import { coresNeeded } from './cores.ts';
import {
  conntrackEntries,
  endsPerConnection,
  memoryBytes,
  pingCores,
  tasksOf,
  WORKER_START_BYTES,
  workerConnectionBytes,
} from './costs.ts';
import { planFor } from './deployment.ts';
import type { LimitCheck } from './limit-check.ts';
import type { Machine } from './machine.ts';
import { generatorPorts, proxyPorts } from './ports.ts';
import type { Situation } from './situation.ts';

export interface Limit {
  name: LimitName;
  /** Highest number of connections; null if it grows with the target, or there is no limit. */
  max: number | null;
  /** How to raise it to what the scenario needs or, if that fits already, to twice `max`. Null without a limit. */
  raise: string | null;
}

/** A limit beyond this number does not count. */
const SEARCH_END = 100_000_000;
const MB = 2 ** 20;

/**
 * Each check counts TCP connections; a connection that holds two of them counts twice, for its memory as well.
 * @returns all limits, lowest first
 */
export function findLimits(situation: Situation): Limit[] {
  const { connections, sockets } = situation.load;
  return limitChecks(situation)
    .map(({ name, fits, raise }) => {
      const max = highest((n) => fits(n * sockets), connections);
      const wanted = max !== null && max < connections ? connections : 2 * (max ?? 0);
      return { name, max, raise: max === null ? null : raise(wanted * sockets) };
    })
    .sort((a, b) => (a.max ?? SEARCH_END) - (b.max ?? SEARCH_END));
}

/**
 * The end of the range around `asked` that fits, or else of a range below it. Plans grow in steps, so a number that does
 * not fit can be followed by larger ones that do.
 * @returns null if everything from `asked` on fits
 */
export function highest(fits: (connections: number) => boolean, asked: number): number | null {
  let [low, high] = [0, asked];
  while (fits(high)) {
    if (high >= SEARCH_END) return null;
    [low, high] = [high, Math.max(1, high) * 2];
  }
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (fits(middle)) low = middle;
    else high = middle;
  }
  return low;
}

function limitChecks(situation: Situation): LimitCheck[] {
  const everywhere = [
    generatorFiles(situation),
    generatorPorts(situation),
    memory(situation),
    systemFiles(situation),
    ...conntrack(situation),
    ...containerTasks(situation),
  ];
  const { profile } = situation.deployment;
  if (profile === null) return everywhere;
  const ofStack = [...everywhere, pings(situation), workerFiles(situation), ...workerRestart(situation)];
  return profile === 'full' ? [...ofStack, nginxConnections(situation), proxyPorts(situation)] : ofStack;
}

function generatorFiles({ machine, load }: Situation): LimitCheck {
  // Artillery's workers are threads of one process, which holds the connections of a third-party engine.
  const processes = load.client === 'external' ? 1 : MAX_FLEET_PROCESSES * machine.artilleryWorkers;
  return {
    name: 'generatorFiles',
    fits: (n) => n <= processes * (machine.openFiles.hard - FLEET_RESERVED_FILES),
    raise: (n) => raiseFiles(machine, Math.ceil(n / processes) + FLEET_RESERVED_FILES),
  };
}

/** Of the machine, or of the container where that has less left. */
function memory(situation: Situation): LimitCheck {
  const { memoryAvailableBytes: available, memoryLimitedBy } = situation.machine;
  const isContainer = memoryLimitedBy === 'container';
  return {
    name: isContainer ? 'containerMemory' : 'machineMemory',
    fits: (n) => memoryBytes(situation, n) <= available,
    raise: (n) => {
      const missing = `${integer(Math.ceil((memoryBytes(situation, n) - available) / MB))} MB`;
      return isContainer ? `raise the memory limit of the container by ${missing}` : `free or add ${missing} of memory`;
    },
  };
}

/** `pids.max` counts threads, too. */
function containerTasks(situation: Situation): LimitCheck[] {
  const { tasks } = situation.machine;
  if (!tasks) return [];
  return [
    {
      name: 'containerTasks',
      fits: (n) => tasks.used + tasksOf(situation, n) <= tasks.max,
      raise: (n) => `raise the container's limit of processes (pids.max) to ${tasks.used + tasksOf(situation, n)}`,
    },
  ];
}

/** Of a stack of ours, whose ping interval is known: nothing would be left of the cores to connect or to broadcast with. */
function pings(situation: Situation): LimitCheck {
  const { machine, deployment } = situation;
  return {
    name: 'pings',
    fits: (n) => pingCores(situation, n) <= machine.cores,
    raise: (n) => {
      const cores = pingCores(situation, n);
      const intervalMs = Math.ceil((cores / machine.cores) * (deployment.ping.intervalMs / 1000)) * 1000;
      return `CAPACITY_PING_INTERVAL_MS=${intervalMs}, or ${coresNeeded(machine, cores)}`;
    },
  };
}

function systemFiles(situation: Situation): LimitCheck {
  const { max, used } = situation.machine.systemFiles;
  const each = endsPerConnection(situation);
  return {
    name: 'systemFiles',
    fits: (n) => used + n * each <= max,
    raise: (n) => `sysctl -w fs.file-max=${used + n * each}`,
  };
}

function conntrack(situation: Situation): LimitCheck[] {
  if (!situation.machine.conntrack) return [];
  const { max, used } = situation.machine.conntrack;
  const each = conntrackEntries(situation);
  return [
    {
      name: 'conntrack',
      fits: (n) => used + n * each <= max,
      raise: (n) => `sysctl -w net.netfilter.nf_conntrack_max=${used + n * each}`,
    },
  ];
}

function workerFiles(situation: Situation): LimitCheck {
  const { machine } = situation;
  return {
    name: 'workerFiles',
    fits: (n) => n <= workersAt(situation, n) * (machine.openFiles.hard - RESERVED_FILES),
    raise: (n) =>
      restartStack(situation, n) ?? raiseFiles(machine, Math.ceil(n / workersAt(situation, n)) + RESERVED_FILES),
  };
}

function workerRestart(situation: Situation): LimitCheck[] {
  const { load, deployment } = situation;
  const { workerRestartBytes } = deployment;
  if (workerRestartBytes === null) return [];
  const each = Math.floor((workerRestartBytes - WORKER_START_BYTES) / workerConnectionBytes(load));
  return [
    {
      name: 'workerRestart',
      fits: (n) => n <= workersAt(situation, n) * each,
      raise: () => 'ecosystem.config.js: remove max_memory_restart',
    },
  ];
}

/** nginx's `worker_connections` counts both sides of a connection. */
function nginxConnections(situation: Situation): LimitCheck {
  const { machine, deployment } = situation;
  return {
    name: 'nginxConnections',
    fits: (n) => {
      const nginx = planFor(deployment, machine, n)?.nginx;
      return nginx === undefined || n <= perWorkerCapacity(nginx.connectionsPerWorker / 2, nginx.workers);
    },
    // A stack that a run starts is planned for the number. Only a very low open-file limit leaves no room for uneven hashing.
    raise: (n) => restartStack(situation, n) ?? raiseFiles(machine, 1024),
  };
}

function workersAt({ deployment, machine }: Situation, connections: number): number {
  return planFor(deployment, machine, connections)?.workers ?? 1;
}

function raiseFiles({ openFiles }: Machine, needed: number): string {
  const ceiling = needed > openFiles.ceiling ? `sysctl -w fs.nr_open=${needed} && ` : '';
  return `${ceiling}ulimit -n ${needed} (as root)`;
}

/** A stack that is up was planned for a fixed number of connections. */
function restartStack({ deployment }: Situation, connections: number): string | undefined {
  if (deployment.kind !== 'up') return undefined;
  return `npx socketio-capacity stack down && npx socketio-capacity stack up --connections ${connections}`;
}
