/** Tests connections that are spread over rooms of a real server. The ledger gets one broadcast to each room. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { BroadcastSent } from '../../../protocol/wire/events.ts';
import { type RoomPlan, roomName } from '../../../protocol/wire/rooms.ts';
import { ask, connectControl, startApp } from '../../helpers/app.ts';
import { column } from '../../helpers/columns.ts';
import { fleetSettings, joinAll, startFleet } from '../../helpers/fleet.ts';
import { eventually } from '../../helpers/poll.ts';

const rooms: RoomPlan = { name: 'capacity', count: 4, perConnection: 2, order: 'turn', seed: 1 };
const MEMBERS = 4;

for (const client of ['light', 'official'] as const) {
  test(`the fleet expects copies of a broadcast to a room only at its members, with the ${client} client`, async (t) => {
    const app = await startApp(t);
    const control = await connectControl(app.controlPort);
    const fleet = await startFleet(t, { ...fleetSettings(app.url, client), rooms }, 2);
    await joinAll(fleet, 3);
    await fleet.reset();
    const connections = await joinAll(fleet, 8);
    // Waits for the joins as well. Counts are sent periodically, and an older count would also show no pending joins.
    await eventually('all joins are acknowledged', () => {
      const { joining, joined } = fleet.status();
      return joining === 0 && joined === 8;
    });

    const sent: BroadcastSent[] = [];
    for (let index = 0; index < rooms.count; index++) {
      const order = { room: roomName(rooms, index), bytes: 100, seq: index + 1 };
      sent.push(await ask<BroadcastSent>(control, 'broadcast', order));
    }
    assert.deepEqual(column(sent, 'expected'), [MEMBERS, MEMBERS, MEMBERS, MEMBERS]);
    app.io.to('capacity:1').emit('broadcast', { seq: 1, sentAtUs: 1, worker: 'w0', data: 'x'.repeat(100) });
    await eventually('all copies are received', async () => fleet.status().received === 5 * MEMBERS);
    const rows = await fleet.freeze(
      sent.map(({ seq, sentAtUs }) => ({ seq, room: roomName(rooms, seq - 1), sentAtUs, intendedAtUs: sentAtUs })),
    );
    const total = (seq: number, key: 'expected' | 'received' | 'notMember' | 'duplicates') =>
      rows.filter((row) => row.seq === seq).reduce((sum, row) => sum + row[key], 0);
    for (const { seq } of sent) {
      assert.deepEqual([total(seq, 'expected'), total(seq, 'received')], [MEMBERS, MEMBERS], `broadcast ${seq}`);
      if (seq > 1) assert.equal(total(seq, 'notMember') + total(seq, 'duplicates'), 0);
    }
    assert.equal(total(1, 'notMember') + total(1, 'duplicates'), MEMBERS);
    assert.ok(total(1, 'notMember') > 0);
    await Promise.all(connections.map((connection) => connection.close()));
  });
}
