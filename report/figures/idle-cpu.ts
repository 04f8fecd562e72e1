/**
 * Computes the CPU that idle connections use in the deployment for pings and pongs, in addition to the CPU that the
 * deployment uses without connections.
 */

import type { Result } from '../../protocol/result/result.ts';
import type { Interval } from '../../protocol/result/shared-schemas.ts';
import { decimalsText } from '../text/format.ts';
import { heldConnections } from './held.ts';
import { sharesMachine } from './places.ts';

/** A known value, or the reason why it is unknown. */
export type KnownOrReason<T> = ({ known: true } & T) | { known: false; why: string };

interface IdleCost {
  /** Share of a CPU core that one idle connection uses. */
  cores: number;
  interval: NonNullable<Interval>;
  pingIntervalMs: number;
  /** Whether the CPU time of some processes in the deployment could not be read, so that the true value is higher. */
  isAtLeast: boolean;
}

/**
 * Returns the CPU use per idle connection. It is unknown unless the hold covers a whole ping interval, because pings
 * come in waves and part of an interval can contain any share of them.
 */
export function cpuPerIdleConnection(
  result: Omit<Result, 'answer' | 'outcome' | 'verdict' | 'findings' | 'capacity'>,
): KnownOrReason<IdleCost> {
  const unknown = (why: string) => ({ known: false as const, why });
  if (result.absent.cpu !== undefined) return unknown(`CPU was not measured: ${result.absent.cpu}`);
  if (!sharesMachine(result) && result.workers.length === 0)
    return unknown('the deployment runs elsewhere, and its workers do not report how many cores they have');
  if (result.messages) return unknown('connections send messages all the time, so none of them is idle');
  const pingIntervalMs = pingIntervalOf(result);
  if (pingIntervalMs === null) return unknown('the server does not report its ping interval');
  // Seconds for which connections were held before the broadcasts.
  const hold = result.stages.findIndex(({ name }) => name === 'hold');
  const [begin, end] = [result.stages[hold], result.stages[hold + 1]];
  const seconds = begin && end ? end.t - begin.t : 0;
  if (seconds < pingIntervalMs / 1000) {
    const cycle = decimalsText(pingIntervalMs / 1000, 0);
    return unknown(
      `the hold of ${decimalsText(seconds, 0)} s is shorter than the ${cycle} s in which each connection is pinged once`,
    );
  }
  const held = heldConnections(result.connections);
  const figures = deploymentCpuFigures(result);
  const worker = result.cpu.worker?.idleConnectionsPercent ?? null;
  if (held === 0 || worker === null) return unknown('it does not exceed its noise: use a longer `hold`');
  // Pings reach worker and proxy at the same time, so the errors of both layers add up.
  const each = (of: (figure: Result['cpu'][string]) => number | undefined) =>
    figures.reduce((sum, figure) => sum + (of(figure) ?? 0), 0) / 100 / held;
  return {
    known: true,
    cores: each(({ idleConnectionsPercent }) => idleConnectionsPercent ?? 0),
    interval: {
      low95: each(({ intervals }) => intervals?.idleConnectionsPercent?.low95),
      high95: each(({ intervals }) => intervals?.idleConnectionsPercent?.high95),
    },
    pingIntervalMs,
    isAtLeast: figures.some((figure) => figure.isAtLeast === true),
  };
}

/** Returns the CPU figures of the deployment's layers: workers, proxy, Redis and PM2. */
export function deploymentCpuFigures(result: Pick<Result, 'memory' | 'cpu'>): Result['cpu'][string][] {
  return result.memory.layers
    .filter(({ unit, belongsTo }) => unit === 'cpuSeconds' && belongsTo === 'deployment')
    .flatMap(({ id }) => result.cpu[id] ?? []);
}

/**
 * Returns the server's ping interval in milliseconds. Null if the server does not report it, or if its workers differ.
 */
export function pingIntervalOf({ environment }: Pick<Result, 'environment'>): number | null {
  const intervalMs = Number(environment.server?.options.pingInterval);
  return intervalMs > 0 ? intervalMs : null;
}
