/** Limits of connections, and how to raise each. Pure. */
import { FLEET_RESERVED_FILES, MAX_FLEET_PROCESSES } from '../../protocol/base/machine/generator-resources.ts';
import { integer } from '../../report/text/format.ts';
import { perWorkerCapacity, RESERVED_FILES } from '../../server/stack/plan.ts';
import { coresNeeded, type Machine } from './check-machine.ts';
import { generatorPorts, proxyPorts } from './check-ports.ts';
import { conntrackEntries, endsPerConnection, memoryBytes, pingCores } from './connection-costs.ts';
import { planFor } from './deployment.ts';
import type { LimitCheck, LimitName } from './doctor-checks.ts';
import type { Situation } from './situation.ts';

export interface Limit {
  name: LimitName;
  /** Highest number of connections; null if it grows with the target, or there is no limit. */
  max: number | null;
  /** How to raise it for the scenario's connections or, if they fit already, for twice `max`. Null without a limit. */
  raise: string | null;
}

/** Largest number of connections to try; higher limits count as none. */
const SEARCH_END = 100_000_000;
const MB = 2 ** 20;

/** Returns all limits, lowest first. A connection over two TCP connections counts twice, also for memory. */
export function findLimits(situation: Situation): Limit[] {
  const { connections, sockets } = situation.load;
  return limitChecks(situation)
    .map(({ name, needs, has, raise }) => {
      const max = highest((n) => needs(n * sockets) <= has(n * sockets), connections);
      const wanted = (max !== null && max < connections ? connections : 2 * (max ?? 0)) * sockets;
      return { name, max, raise: max === null ? null : raise(needs(wanted), wanted) };
    })
    .sort((a, b) => (a.max ?? SEARCH_END) - (b.max ?? SEARCH_END));
}

/**
 * Returns the upper end of a range of numbers that fit: the range that contains `requested`, else one below it. Null if everything
 * from `requested` on fits. There can be several ranges, because plans grow in steps.
 */
export function highest(fits: (connections: number) => boolean, requested: number): number | null {
  let [low, high] = [0, requested];
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
  const { profile } = situation.deployment;
  const common = [...generatorLimits(situation), ...machineLimits(situation), generatorPorts(situation)];
  if (profile === null) return common;
  const embedded = [...common, ...workerLimits(situation)];
  return profile === 'full' ? [...embedded, nginxConnections(situation), proxyPorts(situation)] : embedded;
}

function generatorLimits({ machine, load }: Situation): LimitCheck[] {
  // Artillery's workers are threads of one process, which holds the connections of a third-party engine.
  const processes = load.client === 'external' ? 1 : MAX_FLEET_PROCESSES * machine.artilleryWorkers;
  return [
    {
      name: 'generatorFiles',
      needs: (n) => Math.ceil(n / processes) + FLEET_RESERVED_FILES,
      has: () => machine.openFiles.hard,
      raise: (files) => raiseFiles(machine, files),
    },
  ];
}

function machineLimits(situation: Situation): LimitCheck[] {
  const { memoryAvailableBytes, memoryLimitedBy, systemFiles, conntrack } = situation.machine;
  const isContainer = memoryLimitedBy === 'container';
  return [
    {
      name: isContainer ? 'containerMemory' : 'machineMemory',
      needs: (n) => memoryBytes(situation, n),
      has: () => memoryAvailableBytes,
      raise: (bytes) => {
        const missing = `${integer(Math.ceil((bytes - memoryAvailableBytes) / MB))} MB`;
        return isContainer
          ? `raise the memory limit of the container by ${missing}`
          : `free or add ${missing} of memory`;
      },
    },
    {
      name: 'systemFiles',
      needs: (n) => systemFiles.used + n * endsPerConnection(situation),
      has: () => systemFiles.max,
      raise: (files) => `sysctl -w fs.file-max=${files}`,
    },
    ...(conntrack
      ? [
          {
            name: 'conntrack' as const,
            needs: (n: number) => conntrack.used + n * conntrackEntries(situation),
            has: () => conntrack.max,
            raise: (entries: number) => `sysctl -w net.netfilter.nf_conntrack_max=${entries}`,
          },
        ]
      : []),
  ];
}

/** Limits of the bundled stack, whose ping interval is known. */
function workerLimits(situation: Situation): LimitCheck[] {
  const { machine, deployment } = situation;
  const { ping } = deployment;
  return [
    {
      // Allows pings all cores, although connects and broadcasts need CPU time, too: an upper bound.
      name: 'pings',
      needs: (n) => pingCores(situation, n),
      has: () => machine.cores,
      raise: (cores) => {
        const intervalMs = Math.ceil((cores / machine.cores) * (ping.intervalMs / 1000)) * 1000;
        return `CAPACITY_PING_INTERVAL_MS=${intervalMs}, or ${coresNeeded(machine, cores)}`;
      },
    },
    {
      name: 'workerFiles',
      needs: (n) => Math.ceil(n / (planFor(deployment, machine, n)?.workers ?? 1)) + RESERVED_FILES,
      has: () => machine.openFiles.hard,
      raise: (files, n) => restartStack(situation, n) ?? raiseFiles(machine, files),
    },
  ];
}

/** nginx's `worker_connections` counts both sides of a connection. */
function nginxConnections(situation: Situation): LimitCheck {
  const { machine, deployment } = situation;
  return {
    name: 'nginxConnections',
    needs: (n) => n,
    has: (n) => {
      const nginx = planFor(deployment, machine, n)?.nginx;
      return nginx ? perWorkerCapacity(nginx.connectionsPerWorker / 2, nginx.workers) : Number.POSITIVE_INFINITY;
    },
    // A stack that a run starts is planned for the connections, so only a very low limit of open files can be exceeded here.
    raise: (_, n) => restartStack(situation, n) ?? raiseFiles(machine, 1024),
  };
}

function raiseFiles({ openFiles }: Machine, needed: number): string {
  const ceiling = needed > openFiles.ceiling ? `sysctl -w fs.nr_open=${needed} && ` : '';
  return `${ceiling}ulimit -n ${needed} (as root)`;
}

/** Returns the fix for a running stack, which was planned for a fixed number of connections; undefined for other deployments. */
function restartStack({ deployment }: Situation, connections: number): string | undefined {
  if (deployment.kind !== 'up') return undefined;
  return `npx socketio-capacity stack down && npx socketio-capacity stack up --connections ${connections}`;
}
