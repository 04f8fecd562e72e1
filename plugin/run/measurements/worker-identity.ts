/**
 * Detects whether a new process has replaced a worker. A restarted worker may have the same name and process id (1 in a
 * container), so its uptime and counters are compared, too.
 */
import type { WorkerStats } from '../../../protocol/wire/events.ts';

export interface WorkerIdentity extends Pick<WorkerStats, 'worker' | 'pid' | 'instance'> {
  /** Values that change when the worker restarts; missing if only the worker's name was read. */
  life?: Life;
  host?: WorkerStats['host'];
}

interface Life {
  /** When the statistics arrived, as a time of `performance.now()`. */
  readAtMs: number;
  uptimeSeconds: number;
  connections: number;
  totals: Record<keyof typeof TOTALS, number>;
}

/** Statistics that only rise while a worker process runs. */
const TOTALS = {
  accepted: 'accepted connections',
  broadcasts: 'broadcasts',
  collections: 'garbage collections',
  cpuUs: 'microseconds of CPU',
};

/** Tolerance for a worker's uptime in seconds, because some servers report whole seconds. */
const ROUNDING_SECONDS = 1;
/** Maximum age of a worker's answer when it arrives. It equals the timeout of control requests. */
const DELAY_SECONDS = 5;
/** The kernel counts CPU time in ticks of 10 ms. */
const TICK_US = 10_000;

export function workerIdentityOf(stats: WorkerStats): WorkerIdentity {
  const { worker, pid, instance, host, uptimeSeconds, connections, accepted, broadcasts, collections } = stats;
  const totals = { accepted, broadcasts, collections, cpuUs: stats.cpuUserUs + stats.cpuSystemUs };
  return { worker, pid, instance, host, life: { readAtMs: performance.now(), uptimeSeconds, connections, totals } };
}

export function isSameProcess(before: WorkerIdentity | undefined, now: WorkerIdentity): boolean {
  return before !== undefined && restartEvidence(before, now) === undefined;
}

/** Returns evidence that a worker's process was replaced between two readings; undefined if there is none. */
export function restartEvidence(before: WorkerIdentity, now: WorkerIdentity): string | undefined {
  if (before.pid !== now.pid) return `process ${before.pid} became ${now.pid}`;
  if (before.instance !== now.instance) return `process ${now.pid} started again`;
  return before.life && now.life && evidenceOf(before.life, now.life);
}

function evidenceOf(before: Life, now: Life): string | undefined {
  const elapsedSeconds = (now.readAtMs - before.readAtMs) / 1000;
  const [wasUp, isUp] = [before.uptimeSeconds, now.uptimeSeconds];
  if (isUp < wasUp - ROUNDING_SECONDS) return `its uptime fell from ${seconds(wasUp)} to ${seconds(isUp)}`;
  // Old statistics that a worker repeats are reported separately.
  if (isUp > wasUp && isUp < elapsedSeconds - DELAY_SECONDS)
    return `its uptime was ${seconds(isUp)} when it had been known for ${seconds(elapsedSeconds)}`;
  for (const key of Object.keys(TOTALS) as (keyof typeof TOTALS)[]) {
    const [earlier, later] = [before.totals[key], now.totals[key]];
    if (later < earlier - (key === 'cpuUs' ? TICK_US : 0)) return `its ${TOTALS[key]} fell from ${earlier} to ${later}`;
  }
  return undefined;
}

/**
 * Compares workers in the order of the control URLs.
 * @returns restarted workers with the evidence, and control URLs that now lead to another worker, such as "that of w0
 * to w1"
 */
export function changesBetween(earlier: WorkerIdentity[], later: WorkerIdentity[]) {
  const restarted = new Map<string, string>();
  const elsewhere: string[] = [];
  for (const [index, now] of later.entries()) {
    const before = earlier[index];
    const evidence = before ? restartEvidence(before, now) : 'it was not there before';
    if (evidence === undefined) continue;
    if (earlier.some((other) => isSameProcess(other, now)))
      elsewhere.push(`that of ${before?.worker ?? 'none'} to ${now.worker}`);
    else restarted.set(now.worker, evidence);
  }
  return { restarted, elsewhere };
}

function seconds(value: number): string {
  return `${Math.round(value)} s`;
}

/** A process of the deployment, with an identity that changes when the process is replaced. */
export interface DeploymentPart {
  /** Id of the process's layer: `worker`, one of the named layers, or `pm2`. */
  layer: string;
  /** Value that changes with a restart, such as process ids or Redis's run id. */
  identity: string;
}

/**
 * @param identities identities by name
 * @returns the processes of the layer by name
 */
export function deploymentPartsOf(
  layer: string,
  identities: Record<string, string> = {},
): Record<string, DeploymentPart> {
  return Object.fromEntries(Object.entries(identities).map(([name, identity]) => [name, { layer, identity }]));
}

export interface ChangedPart extends Pick<DeploymentPart, 'layer'> {
  name: string;
}

/** A worker's restart between two checks. */
export interface Restart {
  evidence: string;
  /** Start time of the new process, in seconds since the start of the sampler. */
  t?: number;
  /** Number of connections of the old process at the last check. */
  connections?: number;
}

export interface SilentWorker {
  worker: string;
  /** Whether the control port refuses connections. Otherwise, the worker may be running without answering. */
  isRefused: boolean;
  /** Number of the worker's connections at the last check. */
  connections: number;
}
