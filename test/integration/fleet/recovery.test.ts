/**
 * Tests that dropped connections reconnect, and that sessions are restored if the server supports it. Both clients
 * behave in the same way.
 */
import assert from 'node:assert/strict';
import { suite, type TestContext, test } from 'node:test';
import type { Fleet } from '../../../plugin/fleet/fleet.ts';
import { decodeHistogram } from '../../../protocol/base/histogram.ts';
import { column, columns } from '../../helpers/columns.ts';
import { startDropping } from '../../helpers/dropping-server.ts';
import { fleetSettings, joinAll, startFleet } from '../../helpers/fleet.ts';
import { eventually } from '../../helpers/poll.ts';

const CONNECTIONS = 20;
/**
 * Delays before a reconnect. They are longer than the status interval of a fleet process, so that the test sees all
 * connections disconnected.
 */
const BACKOFF = { attempts: 3, delayMs: 500, maxDelayMs: 500, jitter: 0.1 };
type Server = Awaited<ReturnType<typeof startDropping>>;
/** Compression contexts belong to a connection, and start again after a reconnect. */
const COMPRESSED = { perMessageDeflate: { threshold: 0 } };
const RECOVERY = { ...COMPRESSED, connectionStateRecovery: { maxDisconnectionDuration: 60_000 } };

for (const client of ['light', 'official'] as const) {
  const start = (t: TestContext, { url }: Server) => {
    const settings = fleetSettings(url, client, { auth: { token: 'x' }, compression: true });
    return startFleet(t, { ...settings, reconnection: BACKOFF });
  };
  /** Sends a broadcast before the drop, one while all clients are disconnected, and one after all have reconnected. */
  const dropBetween = async (server: Server, fleet: Fleet) => {
    await joinAll(fleet, CONNECTIONS);
    server.broadcast();
    await eventually('the first broadcast', () => fleet.status().reached === CONNECTIONS);
    server.drop();
    await eventually('all to be disconnected', () => fleet.status().away === CONNECTIONS);
    server.broadcast();
    await eventually(
      'all to have reconnected',
      () => fleet.status().away === 0 && fleet.status().joined === CONNECTIONS,
    );
    server.broadcast();
    await eventually('the last broadcast', () => fleet.status().reached >= 2 * CONNECTIONS);
  };

  suite(`${client} client`, () => {
    test(`the ${client} client recovers its session and its missed messages, without another join`, async (t) => {
      const server = await startDropping(t, RECOVERY);
      const fleet = await start(t, server);
      await dropBetween(server, fleet);
      await eventually('all copies', () => fleet.status().reached === 3 * CONNECTIONS);
      const { accounts, returns, compressed } = await fleet.snapshot();
      assert.equal(compressed, CONNECTIONS, 'each connection counts once, however often it opens');
      assert.deepEqual([accounts.asked, accounts.alive, accounts.returned, accounts.ended], [20, 20, 20, {}]);
      const { awayUs, retries: _, ...counts } = returns;
      assert.deepEqual(counts, { dropped: 20, returned: 20, recovered: 20, gaveUp: 0, left: 0, away: 0 });
      assert.equal(decodeHistogram(awayUs).totalCount, CONNECTIONS);
      assert.deepEqual([server.counts.joins, server.counts.recovered], [CONNECTIONS, CONNECTIONS]);
      const rows = await fleet.freeze(server.orders);
      assert.deepEqual(columns(rows, 'expected', 'received', 'missed', 'resent', 'notMember'), {
        expected: [20, 20, 20],
        received: [20, 20, 20],
        missed: [0, 20, 0],
        resent: [0, 20, 0],
        notMember: [0, 0, 0],
      });
      assert.ok((rows[1]?.firstUs ?? 0) > 0, 'later than it was sent');
      // The worker of restored connections is unknown: they do not join again, and session ids of this server do not
      // contain the worker.
      assert.deepEqual(column(rows, 'unplaced'), [undefined, true, true]);
      const reconnects = server.connects.slice(CONNECTIONS);
      assert.equal(reconnects.length, CONNECTIONS);
      for (const packet of reconnects) assert.match(packet, /^0\{"pid":"[\w-]{20}","offset":"[\w-]+","token":"x"\}$/);
    });

    test(`the ${client} client joins again, as a new connection, if the server keeps no sessions`, async (t) => {
      const server = await startDropping(t, COMPRESSED);
      const fleet = await start(t, server);
      await dropBetween(server, fleet);
      const { accounts, returns } = await fleet.snapshot();
      assert.deepEqual([accounts.alive, accounts.returned, accounts.ended], [20, 20, {}]);
      assert.deepEqual([returns.returned, returns.recovered], [20, 0]);
      assert.equal(server.counts.joins, 2 * CONNECTIONS);
      const rows = await fleet.freeze(server.orders);
      assert.deepEqual(columns(rows, 'expected', 'received', 'missed'), {
        expected: [20, 0, 20],
        received: [20, 0, 20],
        missed: [0, 0, 0],
      });
      assert.deepEqual(new Set(server.connects), new Set(['0{"token":"x"}']));
    });

    test(`the ${client} client is lost after its last attempt to reconnect, with the reason of its drop`, async (t) => {
      const server = await startDropping(t, RECOVERY);
      const fleet = await start(t, server);
      const [connection] = await joinAll(fleet, 1);
      const lost = new Promise((resolve) => connection?.watch({ returned: resolve }));
      await server.io.close();
      const { lostBy } = (await lost) as { lostBy: string };
      assert.match(lostBy, /^transport (close|error)$/);
      const { accounts, returns } = await fleet.snapshot();
      assert.deepEqual([accounts.alive, accounts.ended], [0, { [lostBy]: 1 }]);
      assert.deepEqual([returns.dropped, returns.gaveUp, returns.retries], [1, 1, BACKOFF.attempts - 1]);
    });
  });
}
