/**
 * What connections cost this machine: files, tracked flows and memory. Measured on the included stack with 32,000
 * connections (docs/reference/doctor.md); what compression adds, with 1,000. Estimates for any other server.
 */
import { fleetProcesses } from '../../protocol/generator.ts';
import { planFor } from './deployment.ts';
import type { Situation } from './situation.ts';

const KB = 1024;
const MB = 1024 * KB;

/** RSS of a worker without connections, and what each connection adds. */
export const WORKER_START_BYTES = 125 * MB;
const WORKER_CONNECTION_BYTES = 16 * KB;

/** By the memory of the whole machine, so that shared pages count once. */
const PER_CONNECTION = {
  worker: 10 * KB,
  nginx: 14 * KB,
  /** In the kernel, for one end. */
  socket: 3.75 * KB,
  /** Fleet process and Artillery's virtual user. */
  generator: { light: 8 * KB, official: 42 * KB, external: 42 * KB },
};

/** What each connection adds whose messages are compressed: two zlib contexts in the worker, one in the generator. */
const COMPRESSED_CONNECTION_BYTES = { worker: 290 * KB, generator: 62 * KB };

/** At 0 connections. */
const PER_PROCESS = { artillery: 360 * MB, fleet: 60 * MB, nginxWorker: 6 * MB, pm2: 30 * MB, redis: 8 * MB };
/** nginx reserves it for each of its `worker_connections` at start. */
const NGINX_SLOT_BYTES = 400;

/** @returns RSS that a connection adds to its worker */
export function workerConnectionBytes({ compression }: Situation['load']): number {
  return WORKER_CONNECTION_BYTES + (compression ? COMPRESSED_CONNECTION_BYTES.worker : 0);
}

/** @returns ends of one connection on this machine, each an open file; a full local stack has two hops */
export function endsPerConnection({ load, deployment }: Situation): number {
  if (!load.local) return 1;
  return deployment.profile === 'full' ? 4 : 2;
}

/** @returns conntrack entries of one connection: on loopback, both ends share one */
export function conntrackEntries(situation: Situation): number {
  return Math.ceil(endsPerConnection(situation) / 2);
}

/** @returns memory of everything that a run would start here for that many connections */
export function memoryBytes(situation: Situation, connections: number): number {
  const { load, deployment } = situation;
  const each =
    endsPerConnection(situation) * PER_CONNECTION.socket +
    (load.local ? PER_CONNECTION.worker : 0) +
    (deployment.profile === 'full' ? PER_CONNECTION.nginx : 0) +
    PER_CONNECTION.generator[load.client] +
    compressionBytes(situation);
  return Math.ceil(generatorStart(situation, connections) + stackStart(situation, connections) + connections * each);
}

function compressionBytes({ load }: Situation): number {
  if (!load.compression) return 0;
  const { worker, generator } = COMPRESSED_CONNECTION_BYTES;
  return generator + (load.local ? worker : 0);
}

function generatorStart({ machine, load }: Situation, connections: number): number {
  if (load.client === 'external') return PER_PROCESS.artillery;
  const { artilleryWorkers, openFiles } = machine;
  const processes = artilleryWorkers * fleetProcesses(connections / artilleryWorkers, openFiles.hard);
  return PER_PROCESS.artillery + processes * PER_PROCESS.fleet;
}

function stackStart({ machine, deployment }: Situation, connections: number): number {
  const plan = deployment.kind === 'planned' ? planFor(deployment, machine, connections) : null;
  if (!plan) return 0;
  const { nginx, redis } = deployment.starts;
  const proxy = plan.nginx.workers * (PER_PROCESS.nginxWorker + plan.nginx.connectionsPerWorker * NGINX_SLOT_BYTES);
  const workers = plan.workers * WORKER_START_BYTES + PER_PROCESS.pm2;
  return workers + (nginx ? proxy : 0) + (redis ? PER_PROCESS.redis : 0);
}
