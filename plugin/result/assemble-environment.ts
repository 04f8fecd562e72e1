/** Builds the environment of a run, for readers who reproduce the figures or compare them with other figures. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';
import { readCgroup } from '../../protocol/base/machine/cgroup.ts';
import { openFileLimits } from '../../protocol/base/machine/open-files.ts';
import { thisMachine } from '../../protocol/base/machine/this-host.ts';
import { allowedCpus, lowestCpuQuota, lowestLimit } from '../../protocol/base/machine/usable.ts';
import { maskedSettings } from '../../protocol/base/secrets/masked-values.ts';
import { ownProperty } from '../../protocol/base/sum-counts.ts';
import type { Result } from '../../protocol/result/result.ts';
import { type ServerDescription, serverSchema } from '../../protocol/result/server-schema.ts';
import type { WorkerStats } from '../../protocol/wire/events.ts';
import type { RunTarget } from '../run/target/target.ts';
import { ENGINE_NAME, type Script } from '../script/script.ts';
import type { Settings } from '../script/settings.ts';

type Environment = Result['environment'];

const SYSCTLS = [
  'net/ipv4/ip_local_port_range',
  'net/core/somaxconn',
  'net/ipv4/tcp_max_syn_backlog',
  'net/ipv4/tcp_mem',
  'net/ipv4/tcp_rmem',
  'net/ipv4/tcp_wmem',
  'fs/file-max',
  'fs/nr_open',
];

/** @param settings all settings of the scenario and the environment, with masked secrets */
export function describeEnvironment(
  settings: Record<string, unknown>,
  workers: WorkerStats[],
  artilleryVersion: string,
): Environment {
  const server = workers[0]?.versions;
  const machine = thisMachine();
  return {
    versions: {
      artillery: artilleryVersion,
      node: process.version,
      ...(server && {
        serverNode: server.node,
        socketIo: server.socketIo,
        adapter: server.adapter,
        webSocketEngine: server.webSocketEngine,
      }),
    },
    server: serverDescription(workers),
    kernel: machine.system,
    cpu: machine.model,
    cpuCount: machine.cores,
    memoryBytes: machine.memoryBytes,
    limits: limitsHere(),
    sysctls: Object.fromEntries(SYSCTLS.flatMap(sysctl)),
    configHash: createHash('sha256').update(JSON.stringify(settings)).digest('hex'),
    settings,
    gitCommit: gitCommit(),
  };
}

/**
 * Returns the limits of this process. A limit that does not exist is left out. A container's memory limit is only
 * included if it is below the machine's memory.
 */
function limitsHere(): Record<string, number> {
  const { soft, hard } = openFileLimits();
  const cgroup = readCgroup();
  const quota = lowestCpuQuota(cgroup);
  const allowed = allowedCpus().length;
  const memory = lowestLimit(cgroup.memory, totalmem());
  const tasks = lowestLimit(cgroup.tasks, Number.POSITIVE_INFINITY);
  return {
    ...(Number.isFinite(hard) && { openFilesSoft: soft, openFilesHard: hard }),
    ...(quota !== undefined && quota < allowed && { cpuQuotaCores: quota }),
    ...(allowed < cpus().length && { cpusAllowed: allowed }),
    ...(memory && { containerMemoryBytes: memory.max }),
    ...(tasks && { containerTasks: tasks.max }),
  };
}

function sysctl(name: string): [string, string][] {
  try {
    const value = readFileSync(`/proc/sys/${name}`, 'utf8').trim().replace(/\s+/g, ' ');
    return [[name.replaceAll('/', '.'), value]];
  } catch {
    return [];
  }
}

function gitCommit(): string | null {
  try {
    return execFileSync('git', ['rev-parse', 'HEAD'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  } catch {
    return null;
  }
}

/** Returns all settings that influence the figures, with masked secrets. */
export function resultSettings(
  script: Script,
  settings: Settings,
  { profile, url, redisUrl }: RunTarget,
): Record<string, unknown> {
  const {
    control,
    rooms,
    redisUrl: _,
    livePort: __,
    connection: ___,
    engineOptions: ____,
    stack: _____,
    ...others
  } = settings;
  return maskedSettings({
    ...others,
    // Uses the same format as results of versions that supported only one room for broadcasts.
    rooms: rooms.count > 1 ? rooms : undefined,
    control: control && { urls: control.urls },
    // The arguments are masked, because they can be secrets.
    fault: settings.fault && { ...settings.fault, command: settings.fault.command?.slice(0, 1) },
    redis: redisUrl !== undefined,
    profile,
    target: url,
    transports: settings.connection.transports,
    engineOptions: { ...(script.config.engines?.[ENGINE_NAME] as object | undefined) },
    flow: script.scenarios,
  });
}

/**
 * Returns the values that the workers report. If workers report different values, the result is a list of all values.
 * Null if no worker reports a value.
 */
export function serverDescription(workers: Pick<WorkerStats, 'server'>[]): Result['environment']['server'] {
  const parsed = workers.map(({ server }) => serverSchema.safeParse(server));
  const descriptions = parsed.flatMap(({ data }) => data ?? []);
  const [first] = descriptions;
  if (!first || descriptions.length < workers.length) return null;
  const kinds = new Set(descriptions.map(({ kind }) => kind));
  return {
    // If there are two kinds of workers, no value is the default.
    kind: kinds.size === 1 ? first.kind : 'own',
    tunings: together(descriptions.map(({ tunings }) => tunings)),
    options: together(descriptions.map(({ options }) => options)),
  };
}

function together(all: ServerDescription['options'][]): ServerDescription['options'] {
  const names = new Set(all.flatMap((one) => Object.keys(one)));
  const values = (name: string) => [...new Set(all.map((one) => ownProperty(one, name) ?? 'not set'))];
  return Object.fromEntries([...names].map((name) => [name, values(name).join(' or ')]));
}
