/** Servers that drop, duplicate, delay, reorder, kick or talk to strangers: found to the exact number, by both clients. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Fleet } from '../../../plugin/fleet/fleet.ts';
import type { ClientKind } from '../../../protocol/connection.ts';
import { fleetSettings, joinAll } from '../../helpers/fleet.ts';
import { ledgerRowsOf, type Page } from '../../helpers/ledger-rows.ts';
import { type Lies, type LyingServer, startLyingServer } from '../../helpers/lying-server.ts';
import { eventually } from '../../helpers/poll.ts';

const MEMBERS = 40;
const STRANGERS = 5;
const PROCESSES = 2;

for (const client of ['light', 'official'] as ClientKind[]) {
  let server: LyingServer;
  let fleet: Fleet;
  let seq = 0;

  before(async () => {
    server = await startLyingServer();
    fleet = await Fleet.start(fleetSettings(server.url, client), PROCESSES);
    await joinAll(fleet, MEMBERS);
    await Promise.all(Array.from({ length: STRANGERS }, () => fleet.connection().open('/')));
  });
  after(async () => {
    await fleet?.close();
    await server?.close();
  });

  async function pageOf(lies: Lies, receipts: number): Promise<Page> {
    seq++;
    const [page] = await ledgerRowsOf(fleet, server, seq, [lies], receipts);
    return page as Page;
  }

  test(`${client}: an honest server loses nothing`, async () => {
    const page = await pageOf({}, MEMBERS);
    assert.deepEqual([page.expected, page.received, page.duplicates, page.unexpected], [MEMBERS, MEMBERS, 0, 0]);
  });

  test(`${client}: seven dropped, four duplicated, three strangers`, async () => {
    const page = await pageOf({ drop: 7, duplicate: 4, strangers: 3 }, MEMBERS - 7 + 4 + 3);
    assert.deepEqual([page.received, page.lostConnected, page.duplicates, page.notMember], [MEMBERS - 7, 7, 4, 3]);
  });

  test(`${client}: six delayed beyond the drain are lost, and counted as late when they come`, async () => {
    const page = await pageOf({ late: 6, lateMs: 300 }, MEMBERS - 6);
    assert.equal(page.lostConnected, 6);
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
    const page = await pageOf({ kick: 2 }, MEMBERS - 2);
    assert.deepEqual([page.lostConnected + page.lostDisconnected, page.received], [2, MEMBERS - 2]);
    assert.equal(page.lostDisconnected, 2);
    const { disconnects } = await fleet.snapshot();
    assert.equal(
      Object.values(disconnects).reduce((total, count) => total + count, 0),
      2,
    );
  });
}
