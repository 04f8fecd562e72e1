/** Opens what a run measures with, in the order in which a mistake is reported best: the target before everything else. */
import type { WorkerStats } from '../../protocol/events.ts';
import { thisHost } from '../../protocol/host.ts';
import { ControlClients, RedisReader, Sampler } from '../samplers/index.ts';
import { ENGINE } from '../script/script.ts';
import type { Settings } from '../script/settings.ts';
import type { Closers } from './closers.ts';
import type { RunContext } from './context.ts';
import type { EngineLink } from './link.ts';
import type { Measurements } from './measurements.ts';
import { FleetPopulation, ServerPopulation } from './population.ts';
import { Probe } from './receivers/probe.ts';
import { Sentinel } from './receivers/sentinel.ts';
import type { RunRecord } from './record.ts';
import { singleRoom } from './round-trips.ts';
import { openTarget, type Target } from './target.ts';

export interface ResourceOptions {
  config: Settings;
  measurements: Measurements;
  record: RunRecord;
  link: EngineLink;
  closers: Closers;
  signal: AbortSignal;
  log: (text: string) => void;
}

/** What a run has open, and what it found there. */
export interface RunResources {
  context: RunContext;
  target: Target;
  workers: WorkerStats[];
}

/**
 * @returns everything that measures, and where; `closers` close it all
 * @throws CapacityError of whatever cannot be opened, or the signal's reason
 */
export async function openResources(options: ResourceOptions): Promise<RunResources> {
  const { config, measurements, record, link, closers, signal, log } = options;
  const opening = openTarget(config, measurements.targetConnections, log, signal);
  closers.add(() => opening.then((target) => target.close()).catch(() => {}));
  const target = await opening;
  measurements.target = target.url;
  measurements.profile = target.profile;
  const connection = { ...config.connection, url: new URL(target.url).origin };
  const probe = await Probe.connect(connection, signal);
  closers.add(() => probe.close());
  const control = await ControlClients.connect(target.control.urls, target.control.token);
  closers.add(() => control.close());
  // A server that refuses the scenario's room ends the run here, before any load.
  await probe.join(singleRoom(config.room));
  const redis = target.redisUrl ? new RedisReader(target.redisUrl) : undefined;
  if (redis) closers.add(() => redis.close());
  await redis?.ready();

  // The engines' processes are part of the baseline.
  await link.ready(signal);
  const ledger = measurements.engine === ENGINE;
  const sentinel = ledger ? await Sentinel.start(connection, signal) : undefined;
  if (sentinel) closers.add(() => sentinel.close());
  const fleetPids = (await link.snapshots()).flatMap(({ processes }) => processes.map(({ pid }) => pid));
  const population = ledger ? new FleetPopulation(link) : new ServerPopulation(control, 1);
  closers.add(() => population.close());
  const workers = await control.stats();
  const here = workers.map(({ host }) => host.kernel === thisHost().kernel);
  measurements.sharedHost = here.every(Boolean);
  const sampler = new Sampler({
    redis,
    workers: control,
    ownMachineOnly: !measurements.sharedHost,
    pids: async () => ({ ...(await target.pids(workers)), fleet: fleetPids, artillery: [process.pid] }),
    connections: () => population.connections(),
  });
  closers.add(() => sampler.close());
  const deployment = () => identify(target, workers, redis);
  signal.throwIfAborted();
  const holds = ledger || config.external;
  const measuring = { link, control, sampler, probe, sentinel, connection, population, redis, deployment };
  return { context: { config, measurements, record, ...measuring, ledger, here, holds, signal }, target, workers };
}

/** Workers are identified by their own statistics. */
async function identify(
  target: Target,
  workers: WorkerStats[],
  redis: RedisReader | undefined,
): Promise<Record<string, string>> {
  const { pm2 = [], nginx = [] } = await target.pids(workers);
  const { runId } = (await redis?.read()) ?? {};
  const parts = { PM2: pm2.join(), nginx: nginx.toSorted((a, b) => a - b).join(), Redis: runId ?? '' };
  return Object.fromEntries(Object.entries(parts).filter(([, identity]) => identity !== ''));
}
