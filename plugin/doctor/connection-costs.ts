/**
 * Resources that connections need on this machine: files, conntrack entries, memory, and CPU time of pings. Measured
 * with the included stack: memory with 32,000 connections, CPU with 100,800, compression with 1,000. For other servers,
 * the numbers are estimates.
 */
import { fleetProcessCount } from '../../protocol/base/machine/generator-resources.ts';
import { deploymentPlan } from './deployment.ts';
import type { DoctorSituation } from './situation.ts';

const KB = 1024;
const MB = 1024 * KB;

/** Memory (RSS) of a worker without connections, in bytes. */
const WORKER_START_BYTES = 125 * MB;

/**
 * Memory of the worker per connection. It was measured as memory of the whole machine, so that shared pages count once.
 */
const PER_CONNECTION = {
  worker: 10 * KB,
  nginx: 14 * KB,
  /** Kernel memory of one end of a TCP connection, in bytes. */
  socket: 3.75 * KB,
  /** Memory per connection, in bytes: of the fleet process and of Artillery's virtual user together. */
  generator: { light: 8 * KB, official: 42 * KB, external: 42 * KB },
};

/** Additional memory of a connection with compression: two zlib contexts in the worker and one in the generator. */
const COMPRESSED_CONNECTION_BYTES = { worker: 290 * KB, generator: 62 * KB };

/** CPU time of one ping and its pong, in seconds. */
const PING_SECONDS = { worker: 87e-6, nginx: 47e-6, generator: 42e-6 };

/** Memory of one process without connections, in bytes. */
const PER_PROCESS = { artillery: 360 * MB, fleet: 60 * MB, nginxWorker: 6 * MB, pm2: 30 * MB, redis: 8 * MB };
/** Memory that nginx reserves at its start for each of its `worker_connections`. */
const NGINX_SLOT_BYTES = 400;

/**
 * Returns how many ends of TCP connections a Socket.IO connection has on this machine. Each end is an open file. With a
 * full local stack, a Socket.IO connection consists of two TCP connections.
 */
export function endsPerConnection({ load, deployment }: DoctorSituation): number {
  if (!load.local) return 1;
  return deployment.profile === 'full' ? 4 : 2;
}

/**
 * Returns the number of conntrack entries for a Socket.IO connection. On loopback, both ends of a TCP connection share
 * one entry.
 */
export function conntrackEntries(situation: DoctorSituation): number {
  return Math.ceil(endsPerConnection(situation) / 2);
}

/** Returns the memory of all processes that a run would start on this machine, in bytes. */
export function runMemoryBytes(situation: DoctorSituation, connections: number): number {
  const { load, deployment } = situation;
  const each =
    endsPerConnection(situation) * PER_CONNECTION.socket +
    (load.local ? PER_CONNECTION.worker : 0) +
    (deployment.profile === 'full' ? PER_CONNECTION.nginx : 0) +
    PER_CONNECTION.generator[load.client] +
    compressionBytes(situation);
  const generator = PER_PROCESS.artillery + fleetSize(situation, connections) * PER_PROCESS.fleet;
  return Math.ceil(generator + stackStart(situation, connections) + connections * each);
}

/** Returns the number of cores that pings to idle connections use on this machine. */
export function pingCores({ load, deployment }: DoctorSituation, connections: number): number {
  const each =
    PING_SECONDS.generator +
    (load.local ? PING_SECONDS.worker : 0) +
    (deployment.profile === 'full' ? PING_SECONDS.nginx : 0);
  return (connections * each * 1000) / deployment.ping.intervalMs;
}

function compressionBytes({ load }: DoctorSituation): number {
  if (!load.compression) return 0;
  const { worker, generator } = COMPRESSED_CONNECTION_BYTES;
  return generator + (load.local ? worker : 0);
}

/** Returns the number of fleet processes; 0 with an external engine. */
function fleetSize({ machine, load }: DoctorSituation, connections: number): number {
  if (load.client === 'external') return 0;
  const { artilleryWorkers, openFiles } = machine;
  return artilleryWorkers * fleetProcessCount(connections / artilleryWorkers, openFiles.hard, load.client);
}

function stackStart({ machine, deployment }: DoctorSituation, connections: number): number {
  const plan = deployment.kind === 'planned' ? deploymentPlan(deployment, machine, connections) : null;
  if (!plan) return 0;
  const { nginx, redis } = deployment.starts;
  const proxy = plan.nginx.workers * (PER_PROCESS.nginxWorker + plan.nginx.connectionsPerWorker * NGINX_SLOT_BYTES);
  const workers = plan.workers * WORKER_START_BYTES + PER_PROCESS.pm2;
  return workers + (nginx ? proxy : 0) + redis * PER_PROCESS.redis;
}
