import type { Fleet } from '../../plugin/fleet/fleet.ts';
import type { FleetSettings } from '../../plugin/fleet/messages.ts';
import type { FleetConnection } from '../../plugin/fleet/remote-connection.ts';
import type { ClientKind } from '../../protocol/connection.ts';

export function fleetSettings(url: string, client: ClientKind = 'light'): FleetSettings {
  return {
    client,
    defaults: {
      url,
      path: '/socket.io/',
      transports: ['websocket'],
      query: {},
      headers: {},
      auth: undefined,
      tls: {},
      connectTimeoutMs: 5000,
      localAddress: undefined,
    },
    localAddresses: [],
    ledger: true,
    disconnectRatePerSec: 10_000,
    fleet: { index: 0, of: 1 },
  };
}

/** Connects `count` connections, all members of the room when it resolves. */
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
