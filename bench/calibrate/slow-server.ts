/** The server of known handshakes with a fleet that connects to it at a rate. */
import { setTimeout as delay } from 'node:timers/promises';
import { Fleet } from '../../plugin/fleet/fleet.ts';
import type { FleetSnapshot } from '../../protocol/link/snapshot.ts';
import { fleetSettings } from '../../test/helpers/fleet.ts';
import { KnownProcess } from './known-process.ts';
import type { SlowHandshakeConfig, SlowHandshakeStarted, SlowHandshakeTruth } from './slow-handshake.ts';

type SlowServer = KnownProcess<SlowHandshakeStarted, SlowHandshakeTruth>;
type Openings = Pick<FleetSnapshot, 'openings'>;

/** The server cannot record the delay of connections that wait for its garbage collection. */
const NO_COLLECTIONS = ['--min-semi-space-size=128', '--max-semi-space-size=128'];

/**
 * Opens and closes as many connections as will be measured, so that code is compiled, and the kernel's tables of open
 * files have grown: each doubling stops a process for some 10 ms.
 */
export async function warmUp(fleet: Fleet, count: number): Promise<void> {
  const connections = Array.from({ length: count }, () => fleet.connection());
  await Promise.all(connections.map((connection) => connection.open('/')));
  await Promise.all(connections.map((connection) => connection.close()));
}

/** Opens connections on an absolute schedule; failures are only counted. */
export async function openAtRate(fleet: Fleet, count: number, ratePerSec: number, url?: string): Promise<void> {
  const startMs = performance.now();
  const opening: Promise<unknown>[] = [];
  for (let index = 0; index < count; index++) {
    await delay(Math.max(0, startMs + (index * 1000) / ratePerSec - performance.now()));
    const opened = fleet.connection().open('/', url === undefined ? undefined : { overrides: { url } });
    opening.push(opened.catch(() => {}));
  }
  await Promise.all(opening);
}

export async function withSlowServer<T>(
  config: SlowHandshakeConfig,
  connectTimeoutMs: number,
  work: (server: SlowServer, fleet: Fleet) => Promise<T>,
): Promise<T> {
  const server: SlowServer = await KnownProcess.start('slow-handshake.ts', config, NO_COLLECTIONS);
  let fleet: Fleet | undefined;
  try {
    const settings = fleetSettings(server.started.url);
    settings.defaults.connectTimeoutMs = connectTimeoutMs;
    fleet = await Fleet.start(settings, 1);
    return await work(server, fleet);
  } finally {
    await fleet?.close();
    await server.close();
  }
}

/** @returns what was opened between two snapshots */
export function newOpenings(before: Openings, after: Openings): Openings {
  const { counts, ...since } = after.openings;
  const newCounts = counts.map((count, interval) => count - (before.openings.counts[interval] ?? 0));
  return { openings: { ...since, counts: newCounts } };
}
