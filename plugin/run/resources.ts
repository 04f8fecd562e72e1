/** Opens what a run measures with, in the order in which a mistake is told best: the target before everything else. */

import { thisHost } from '../../protocol/host.ts';
import type { Result } from '../../protocol/result.ts';
import { requireFit } from '../doctor/diagnosis.ts';
import { artillery } from '../hook/artillery.ts';
import { ENGINE, type Script } from '../hook/script.ts';
import { describeEnvironment } from '../result/environment.ts';
import { ControlClients, RedisReader, Sampler } from '../samplers/index.ts';
import type { HookConfig } from '../script/plugin-options.ts';
import type { Closers } from './closers.ts';
import type { RunContext } from './context.ts';
import type { EngineLink } from './link.ts';
import type { Facts } from './measurements.ts';
import { FleetPopulation, ServerPopulation } from './population.ts';
import type { ClientOptions } from './receivers/official-client.ts';
import { Probe } from './receivers/probe.ts';
import { Sentinel } from './receivers/sentinel.ts';
import type { RunRecord } from './record.ts';
import { openTarget, type Target } from './target.ts';

export interface PartsOptions {
  script: Script;
  config: HookConfig;
  facts: Facts;
  record: RunRecord;
  link: EngineLink;
  closers: Closers;
  signal: AbortSignal;
  say: (text: string) => void;
}

/**
 * @returns everything that measures, and where; `closers` close it all
 * @throws CapacityError of whatever cannot be opened, or the signal's reason
 */
export async function openParts(
  options: PartsOptions,
): Promise<{ context: RunContext; environment: Result['environment'] }> {
  const { script, config, facts, record, link, closers, signal, say } = options;
  await requireFit(script, config, say);
  const opening = openTarget(config, facts.targetConnections, say, signal);
  closers.add(() => opening.then((target) => target.close()).catch(() => {}));
  const target = await opening;
  facts.target = target.url;
  facts.profile = target.profile;
  const client = { target: target.url, ...clientOptions(script) };
  const probe = await Probe.connect(client, signal);
  closers.add(() => probe.close());
  const control = await ControlClients.connect(target.control.urls, target.control.token);
  closers.add(() => control.close());
  const redis = target.redisUrl ? new RedisReader(target.redisUrl) : undefined;
  if (redis) closers.add(() => redis.close());
  await redis?.ready();

  // The engines' processes are part of the baseline.
  await link.ready(signal);
  const ledger = facts.engine === ENGINE;
  const sentinel = ledger ? await Sentinel.start(client, signal) : undefined;
  if (sentinel) closers.add(() => sentinel.close());
  const fleetPids = (await link.snapshots()).flatMap(({ processes }) => processes.map(({ pid }) => pid));
  const population = ledger ? new FleetPopulation(link) : new ServerPopulation(control, 1);
  closers.add(() => population.close());
  const workers = await control.stats();
  const here = workers.map(({ host }) => host.kernel === thisHost().kernel);
  facts.sharedHost = here.every(Boolean);
  const sampler = new Sampler({
    redis,
    workers: control,
    ownMachineOnly: !facts.sharedHost,
    pids: async () => ({ ...(await target.pids(workers)), fleet: fleetPids, artillery: [process.pid] }),
    connections: () => population.connections(),
  });
  closers.add(() => sampler.close());
  signal.throwIfAborted();
  const holds = ledger || config.stock;
  const measuring = { link, control, sampler, probe, sentinel, client, population, redis };
  return {
    context: { config, facts, record, ...measuring, ledger, here, holds, signal },
    environment: describeEnvironment(settingsOf(script, config, target), workers, artillery().version),
  };
}

/** As the load will connect. */
function clientOptions({ config }: Script): Omit<ClientOptions, 'target'> {
  const options = (config.engines?.[ENGINE] ?? {}) as Record<string, unknown>;
  const tls = (options.tls ?? config.tls ?? {}) as { rejectUnauthorized?: boolean };
  return {
    path: String(options.path ?? '/socket.io/'),
    namespace: '/',
    auth: options.auth as Record<string, unknown> | undefined,
    query: (options.query ?? {}) as Record<string, string>,
    extraHeaders: (options.headers ?? options.extraHeaders ?? {}) as Record<string, string>,
    rejectUnauthorized: tls.rejectUnauthorized ?? true,
  };
}

/** Everything that decides the figures, secrets left out. */
function settingsOf(script: Script, config: HookConfig, { profile, url, redisUrl }: Target): Record<string, unknown> {
  const { control, redisUrl: _redisUrl, livePort: _livePort, ...settings } = config;
  return {
    ...settings,
    control: control && { urls: control.urls },
    redis: redisUrl !== undefined,
    profile,
    target: url,
    engineOptions: publicOptions(script.config.engines?.[ENGINE]),
    flow: script.scenarios,
  };
}

function publicOptions(options: unknown): Record<string, unknown> {
  const secret = ['auth', 'headers', 'extraHeaders', 'query', 'tls'];
  return Object.fromEntries(Object.entries(options ?? {}).filter(([name]) => !secret.includes(name)));
}
