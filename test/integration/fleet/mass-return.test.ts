/** Hundreds of compressed connections drop at once, in the middle of a broadcast, and all of them come back. */
import assert from 'node:assert/strict';
import { suite, type TestContext, test } from 'node:test';
import { Fleet } from '../../../plugin/fleet/fleet.ts';
import type { ClientKind } from '../../../protocol/connection.ts';
import type { FrozenBroadcast } from '../../../protocol/link/ledger.ts';
import { DroppingServer } from '../../helpers/dropping-server.ts';
import { fleetSettings, joinAll } from '../../helpers/fleet.ts';
import { eventually } from '../../helpers/poll.ts';

const PROCESSES = 2;
/** The first attempt comes after 750 ms at the soonest, so that a busy machine, too, sees all of them away. */
const BACKOFF = { attempts: 5, delayMs: 1500, maxDelayMs: 1500, jitter: 0.5 };
/** Compressed, with contexts that both sides keep from one message to the next. */
const COMPRESSION = { perMessageDeflate: { threshold: 0 } };
const RECOVERY = { connectionStateRecovery: { maxDisconnectionDuration: 60_000 } };
const CHARACTERS = 2000;

async function start(t: TestContext, server: DroppingServer, client: ClientKind) {
  const settings = fleetSettings(server.url, client);
  const defaults = { ...settings.defaults, compression: true };
  const broadcasts = { count: 10, bytes: CHARACTERS };
  const fleet = await Fleet.start({ ...settings, defaults, broadcasts, reconnection: BACKOFF }, PROCESSES);
  t.after(() => fleet.close());
  return fleet;
}

/** Before the drop, in it, while all are away, and when all are back. */
async function dropAmongBroadcasts(server: DroppingServer, fleet: Fleet, connections: number, abruptly: boolean) {
  await joinAll(fleet, connections);
  server.broadcast(CHARACTERS);
  await eventually('the first broadcast', () => fleet.status().reached === connections);
  server.broadcast(CHARACTERS);
  server.drop(abruptly);
  await eventually('all to be away', () => fleet.status().away === connections);
  server.broadcast(CHARACTERS);
  await eventually('all to be back', () => fleet.status().away === 0 && fleet.status().joined === connections);
  const before = fleet.status().reached;
  server.broadcast(CHARACTERS);
  await eventually('the last broadcast', () => fleet.status().reached >= before + connections);
}

function sumOf(rows: FrozenBroadcast[], seq: number) {
  const ofOne = rows.filter((row) => row.seq === seq);
  const sum = (key: 'expected' | 'received' | 'lostDisconnected' | 'lostConnected' | 'duplicates' | 'unexpected') =>
    ofOne.reduce((total, row) => total + row[key], 0);
  return {
    expected: sum('expected'),
    received: sum('received'),
    lost: sum('lostConnected') + sum('lostDisconnected'),
    others: sum('duplicates') + sum('unexpected'),
  };
}

const CASES: [client: ClientKind, connections: number, abruptly: boolean][] = [
  ['light', 300, false],
  ['light', 300, true],
  ['official', 50, true],
];

suite('compressed connections that drop at once', () => {
  for (const [client, connections, abruptly] of CASES) {
    const how = `${connections} of the ${client} client, ${abruptly ? 'by resets' : 'closed'}`;

    test(`${how}: restored sessions get every copy, exactly once`, async (t) => {
      const server = await DroppingServer.start(t, { ...COMPRESSION, ...RECOVERY });
      const fleet = await start(t, server, client);
      await dropAmongBroadcasts(server, fleet, connections, abruptly);
      await eventually('all copies', () => fleet.status().reached === 4 * connections);
      const { accounts, returns, compressed, receipts } = await fleet.snapshot();
      assert.deepEqual(
        [accounts.asked, accounts.alive, accounts.returned, accounts.pending, accounts.failed, accounts.ended],
        [connections, connections, connections, 0, {}, {}],
      );
      const { awayUs: _, retries: __, ...counts } = returns;
      const all = { dropped: connections, returned: connections, recovered: connections };
      assert.deepEqual(counts, { ...all, gaveUp: 0, left: 0, away: 0 });
      assert.equal(compressed, connections, 'each connection once, however often it opens');
      assert.deepEqual([server.joins, server.recovered], [connections, connections]);
      const rows = await fleet.freeze(server.orders);
      const complete = { expected: connections, received: connections, lost: 0, others: 0 };
      for (const { seq } of server.orders) assert.deepEqual(sumOf(rows, seq), complete, `broadcast ${seq}`);
      assert.deepEqual([receipts.unreadable, receipts.neverOrdered], [0, 0]);
    });

    test(`${how}: without sessions, they join again, and what was lost is counted`, async (t) => {
      const server = await DroppingServer.start(t, COMPRESSION);
      const fleet = await start(t, server, client);
      await dropAmongBroadcasts(server, fleet, connections, abruptly);
      const { accounts, returns } = await fleet.snapshot();
      assert.deepEqual([accounts.alive, accounts.returned, accounts.ended], [connections, connections, {}]);
      assert.deepEqual([returns.dropped, returns.returned, returns.recovered], [connections, connections, 0]);
      assert.equal(server.joins, 2 * connections);
      const rows = await fleet.freeze(server.orders);
      const found = server.orders.map(({ seq }) => sumOf(rows, seq));
      for (const { expected, received, lost, others } of found) {
        assert.equal(expected, received + lost);
        assert.equal(others, 0);
      }
      assert.deepEqual(
        found.map(({ expected }) => expected),
        [connections, connections, 0, connections],
      );
      assert.deepEqual([found[0]?.received, found[3]?.received], [connections, connections]);
    });
  }
});
