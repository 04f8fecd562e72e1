/** What a scenario asks of the machine and of the target. */

import { ENGINE, type Script } from '../hook/script.ts';
import { isLoopback } from '../run/target.ts';
import { staySeconds } from '../script/flow.ts';
import { configuredRatePerSec } from '../script/load-profile.ts';
import { type Phase, totalArrivals } from '../script/phases.ts';
import type { HookConfig } from '../script/plugin-options.ts';

export interface Load {
  target: string;
  /** At once, an upper estimate where virtual users leave by themselves. */
  connections: number;
  /** New connections per second while there are arrivals; null without any. */
  ratePerSec: number | null;
  /** Null when the run sends none. */
  broadcasts: { bytes: number; intervalSeconds: number } | null;
  /** `stock`: another engine than ours, which keeps its connections inside of Artillery. */
  client: 'light' | 'official' | 'stock';
  /** The target is on this machine. */
  local: boolean;
  /** Source addresses that the scenario names. */
  localAddresses: string[];
}

export function readLoad(script: Script, config: HookConfig): Load {
  const { hostname } = new URL(config.target);
  const { config: settings, scenarios = [] } = script;
  const flows = scenarios.map(({ flow }) => flow ?? []);
  const options = engineOptions(settings);
  const ours = config.engine === ENGINE;
  const { count, bytes, interval } = config.broadcasts;
  return {
    target: config.target,
    connections: config.crowd.count * virtualUsersAtOnce(config.phases, flows),
    ratePerSec: configuredRatePerSec(config.phases, config.crowd),
    broadcasts: count > 0 ? { bytes, intervalSeconds: interval } : null,
    client: !ours ? 'stock' : options.client === 'official' ? 'official' : 'light',
    local: isLoopback(hostname),
    localAddresses: ours && Array.isArray(options.localAddresses) ? options.localAddresses.map(String) : [],
  };
}

/** All arrivals of flows that hold; otherwise the highest rate times the longest stay. */
function virtualUsersAtOnce(phases: Phase[], flows: unknown[][]): number {
  const arrivals = totalArrivals(phases);
  const stay = Math.max(0, ...flows.map(staySeconds));
  if (!Number.isFinite(stay)) return arrivals;
  const rates = phases.map(({ pause, duration = 1, arrivalRate = 0, rampTo = 0, arrivalCount = 0 }) =>
    pause === undefined ? Math.max(arrivalRate, rampTo, arrivalCount / duration) : 0,
  );
  return Math.min(arrivals, Math.ceil(Math.max(0, ...rates) * stay));
}

/** The engine's own validation says what is wrong with them; its older places are read too. */
function engineOptions(config: Script['config']): { client?: unknown; localAddresses?: unknown } {
  return { ...(config.socketio as object), ...(config[ENGINE] as object), ...(config.engines?.[ENGINE] as object) };
}
