import type { ClientOptions } from '../../plugin/fleet/client/client.ts';
import { Fleet } from '../../plugin/fleet/fleet.ts';
import type { FleetSettings } from '../../plugin/fleet/fleet-messages.ts';
import type { FleetConnection } from '../../plugin/fleet/remote-connection.ts';
import type { ClientKind } from '../../protocol/wire/connection.ts';
import type { Cleaner } from './raw-listen.ts';
import { clientOptions } from './recording-sink.ts';

export function fleetSettings(
  url: string,
  client: ClientKind = 'light',
  changes: Partial<ClientOptions> = {},
): FleetSettings {
  return {
    client,
    defaults: clientOptions({ url, ...changes }),
    localAddresses: [],
    ledger: true,
    disconnectRatePerSec: 10_000,
    fleet: { index: 0, of: 1 },
  };
}

/** Starts fleet processes. They are closed after the test. */
export async function startFleet(t: Cleaner, settings: FleetSettings, processes = 1, silentAfterMs?: number) {
  const fleet = await Fleet.start(settings, processes, silentAfterMs);
  t.after(() => fleet.close());
  return fleet;
}

/** Opens `count` connections, and joins them to the room. */
export async function joinAll(fleet: Fleet, count: number): Promise<FleetConnection[]> {
  const connections = Array.from({ length: count }, () => fleet.connection());
  await Promise.all(
    connections.map(async (connection) => {
      await connection.open('/');
      await connection.emitWithAck('/', 'join_room', [{ clientKey: 'capacity' }], 5000);
    }),
  );
  return connections;
}
