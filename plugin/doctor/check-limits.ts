/** Computes the limits on the number of connections, and how to raise each limit. Has no side effects. */
import { FLEET_RESERVED_FILES, MAX_FLEET_PROCESSES } from '../../protocol/base/machine/generator-resources.ts';
import { integerText } from '../../report/text/format.ts';
import { connectionsAtFullNginxWorker, RESERVED_FILES } from '../../server/stack/plan.ts';
import { coresNeeded, type DoctorMachine } from './check-machine.ts';
import { generatorPorts, proxyPorts } from './check-ports.ts';
import { conntrackEntries, endsPerConnection, pingCores, runMemoryBytes } from './connection-costs.ts';
import { deploymentPlan } from './deployment.ts';
import type { DoctorLimitName, LimitCheck } from './doctor-checks.ts';
import type { DoctorSituation } from './situation.ts';

export interface ConnectionLimit {
  name: DoctorLimitName;
  /**
   * Highest number of connections that the limit allows; null if there is no limit, or if the limit rises with the
   * planned connections.
   */
  max: number | null;
  /**
   * Text that describes how to raise the limit for the scenario's connections, or for twice `max` if these already fit.
   * Null without a limit.
   */
  raise: string | null;
}

/** Largest number of connections for which limits are computed. A limit above it is treated as no limit. */
const SEARCH_END = 100_000_000;
const MB = 2 ** 20;

/**
 * Returns all limits, the lowest first. A Socket.IO connection that consists of two TCP connections counts twice, also
 * for memory.
 */
export function findLimits(situation: DoctorSituation): ConnectionLimit[] {
  const { connections, sockets } = situation.load;
  return limitChecks(situation)
    .map(({ name, needs, has, raise }) => {
      const max = highestFitting((n) => needs(n * sockets) <= has(n * sockets), connections);
      const wanted = (max !== null && max < connections ? connections : 2 * (max ?? 0)) * sockets;
      return { name, max, raise: max === null ? null : raise(needs(wanted), wanted) };
    })
    .sort((a, b) => (a.max ?? SEARCH_END) - (b.max ?? SEARCH_END));
}

/**
 * Returns the highest number of connections that fits. Plans for a stack grow in steps, so the numbers that fit can
 * form several ranges: the range that contains `requested` is used, otherwise the next lower range. Null if `requested`
 * and all higher numbers fit.
 */
export function highestFitting(fits: (connections: number) => boolean, requested: number): number | null {
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

function limitChecks(situation: DoctorSituation): LimitCheck[] {
  const { profile } = situation.deployment;
  const common = [...generatorLimits(situation), ...machineLimits(situation), generatorPorts(situation)];
  if (profile === null) return common;
  const embedded = [...common, ...workerLimits(situation)];
  return profile === 'full' ? [...embedded, nginxConnections(situation), proxyPorts(situation)] : embedded;
}

function generatorLimits({ machine, load }: DoctorSituation): LimitCheck[] {
  // Workers of Artillery are threads of one process. With a third-party engine, this process holds all connections.
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

function machineLimits(situation: DoctorSituation): LimitCheck[] {
  const { memoryAvailableBytes, memoryLimitedBy, systemFiles, conntrack } = situation.machine;
  const isContainer = memoryLimitedBy === 'container';
  return [
    {
      name: isContainer ? 'containerMemory' : 'machineMemory',
      needs: (n) => runMemoryBytes(situation, n),
      has: () => memoryAvailableBytes,
      raise: (bytes) => {
        const missing = `${integerText(Math.ceil((bytes - memoryAvailableBytes) / MB))} MB`;
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

/** Returns the limits of the included stack, whose ping interval is known. */
function workerLimits(situation: DoctorSituation): LimitCheck[] {
  const { machine, deployment } = situation;
  const { ping } = deployment;
  return [
    {
      // The limit is an upper limit, because it assumes that the cores serve only pings.
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
      needs: (n) => Math.ceil(n / (deploymentPlan(deployment, machine, n)?.workers ?? 1)) + RESERVED_FILES,
      has: () => machine.openFiles.hard,
      raise: (files, n) => restartStack(situation, n) ?? raiseFiles(machine, files),
    },
  ];
}

/**
 * Returns the limit of nginx's `worker_connections`, which counts both the connections to clients and the connections
 * to workers.
 */
function nginxConnections(situation: DoctorSituation): LimitCheck {
  const { machine, deployment } = situation;
  return {
    name: 'nginxConnections',
    needs: (n) => n,
    has: (n) => {
      const nginx = deploymentPlan(deployment, machine, n)?.nginx;
      return nginx
        ? connectionsAtFullNginxWorker(nginx.connectionsPerWorker / 2, nginx.workers)
        : Number.POSITIVE_INFINITY;
    },
    // The run plans a new stack for the number of connections, so only a very low limit of open files is exceeded.
    raise: (_, n) => restartStack(situation, n) ?? raiseFiles(machine, 1024),
  };
}

function raiseFiles({ openFiles }: DoctorMachine, needed: number): string {
  const ceiling = needed > openFiles.ceiling ? `sysctl -w fs.nr_open=${needed} && ` : '';
  return `${ceiling}ulimit -n ${needed} (as root)`;
}

/**
 * Returns the suggested fix for a running stack, which was planned for a fixed number of connections; undefined for
 * other deployments.
 */
function restartStack({ deployment }: DoctorSituation, connections: number): string | undefined {
  if (deployment.kind !== 'up') return undefined;
  return `npx socketio-capacity stack down && npx socketio-capacity stack up --connections ${connections}`;
}
