/** Servers that drop, duplicate, delay, reorder, kick or send to outsiders: both clients count the faults exactly. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Fleet } from '../../../plugin/fleet/fleet.ts';
import type { ClientKind } from '../../../protocol/connection.ts';
import type { Batch } from '../../../protocol/result/delivery.ts';
import { type Faults, type FaultyServer, startFaultyServer } from '../../helpers/faulty-server.ts';
import { fleetSettings, joinAll } from '../../helpers/fleet.ts';
import { ledgerRowsOf } from '../../helpers/ledger-rows.ts';
import { eventually } from '../../helpers/poll.ts';

const MEMBERS = 40;
const STRANGERS = 5;
const PROCESSES = 2;

for (const client of ['light', 'official'] as ClientKind[]) {
  let server: FaultyServer;
  let fleet: Fleet;
  let seq = 0;

  before(async () => {
    server = await startFaultyServer();
    fleet = await Fleet.start(fleetSettings(server.url, client), PROCESSES);
    await joinAll(fleet, MEMBERS);
    await Promise.all(Array.from({ length: STRANGERS }, () => fleet.connection().open('/')));
  });
  after(async () => {
    await fleet?.close();
    await server?.close();
  });

  async function rowOf(faults: Faults, receipts: number): Promise<Batch> {
    seq++;
    const [row] = await ledgerRowsOf(fleet, server, seq, [faults], receipts);
    return row as Batch;
  }

  test(`${client}: an honest server loses nothing`, async () => {
    const row = await rowOf({}, MEMBERS);
    assert.deepEqual([row.expected, row.received, row.duplicates, row.unexpected], [MEMBERS, MEMBERS, 0, 0]);
  });

  test(`${client}: seven dropped, four duplicated, three to outsiders`, async () => {
    const row = await rowOf({ drop: 7, duplicate: 4, outsiders: 3 }, MEMBERS - 7 + 4 + 3);
    assert.deepEqual([row.received, row.lostConnected, row.duplicates, row.notMember], [MEMBERS - 7, 7, 4, 3]);
  });

  test(`${client}: six delayed beyond the drain are lost, and counted as late when they come`, async () => {
    const row = await rowOf({ late: 6, lateMs: 300 }, MEMBERS - 6);
    assert.equal(row.lostConnected, 6);
    const late = async () => (await fleet.snapshot()).receipts.late;
    await eventually('six late receipts', async () => (await late()) === 6);
  });

  test(`${client}: five that get a broadcast after the next one`, async () => {
    seq += 2;
    const [held, next] = await ledgerRowsOf(fleet, server, seq - 1, [{ reorder: 5 }, {}], 2 * MEMBERS);
    assert.deepEqual([held?.received, held?.reordered, held?.lostConnected], [MEMBERS, 5, 0]);
    assert.deepEqual([next?.received, next?.reordered], [MEMBERS, 0]);
  });

  test(`${client}: two kicked out are lost as disconnected, with the reason`, async () => {
    const row = await rowOf({ kick: 2 }, MEMBERS - 2);
    assert.deepEqual([row.lostConnected + row.lostDisconnected, row.received], [2, MEMBERS - 2]);
    assert.equal(row.lostDisconnected, 2);
    const { disconnects } = await fleet.snapshot();
    assert.equal(
      Object.values(disconnects).reduce((total, count) => total + count, 0),
      2,
    );
  });
}
