/** Tests that every opened connection is counted under exactly one transport, whatever happens to it later. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TRANSPORTS } from '../../../protocol/wire/connection.ts';
import { startChat } from '../../helpers/chat-server.ts';
import { startDropping } from '../../helpers/dropping-server.ts';
import { fleetSettings, startFleet } from '../../helpers/fleet.ts';
import { eventually } from '../../helpers/poll.ts';

const CONNECTIONS = 40;

for (const client of ['light', 'official'] as const) {
  test(`the ${client} client counts connections that poll first as upgraded, also after a drop`, async (t) => {
    const server = await startDropping(t);
    const settings = fleetSettings(server.url, client, { transports: TRANSPORTS.default });
    const fleet = await startFleet(t, { ...settings, localAddresses: ['127.0.0.2', '127.0.0.3'] });
    const connections = Array.from({ length: CONNECTIONS }, () => fleet.connection());
    const lost = Promise.race(
      connections.map(
        (connection) => new Promise((resolve) => connection.watch({ dropped: () => resolve(connection) })),
      ),
    );
    const emit = { event: 'join_room', args: [{ clientKey: 'capacity' }] };
    await Promise.all(connections.map((connection) => connection.open('/', { emit })));
    const settled = (opened: number) =>
      eventually(`${opened} openings and upgrades`, async () => {
        const snapshot = await fleet.snapshot();
        return snapshot.openings.counts.reduce((sum, count) => sum + count, 0) === opened &&
          snapshot.transports.polling === 0
          ? snapshot
          : undefined;
      });
    const before = await settled(CONNECTIONS);
    assert.deepEqual(before.transports, { websocket: 0, upgraded: CONNECTIONS, polling: 0 });
    assert.deepEqual(before.upgradeFailures, {});
    await eventually('all have joined', () => server.members() === CONNECTIONS);

    const [first] = server.io.sockets.sockets.values();
    first?.disconnect(true);
    const reopened = (await lost) as (typeof connections)[number];
    await reopened.open('/');
    const { transports, accounts } = await settled(CONNECTIONS + 1);
    assert.deepEqual(transports, { websocket: 0, upgraded: CONNECTIONS, polling: 0 });
    assert.equal(accounts.alive, CONNECTIONS);
  });

  test(`the ${client} client counts connections as polling if the server offers no upgrade`, async (t) => {
    const { url } = await startChat(t, () => {}, { allowUpgrades: false, pingInterval: 7000, pingTimeout: 3000 });
    const fleet = await startFleet(t, fleetSettings(url, client, { transports: TRANSPORTS.default }));
    const connection = fleet.connection();
    await connection.open('/');
    const { transports, upgradeFailures } = await fleet.snapshot();
    assert.deepEqual([transports.polling, upgradeFailures], [1, { no_upgrade: 1 }]);
  });
}
