/** Servers that try to end a fleet process: they end their connection, with a cause, and the process serves the next one. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { after, test } from 'node:test';
import { Fleet } from '../../../plugin/fleet/fleet.ts';
import type { ClientKind } from '../../../protocol/connection.ts';
import { column } from '../../helpers/columns.ts';
import { OPEN_PACKET, serverFrame, TEXT, text, upgradeAnswer } from '../../helpers/fake-wire.ts';
import { fleetSettings } from '../../helpers/fleet.ts';

const OBJECTS = '{"valueOf":1,"toString":1}';
/** What is sent after the upgrade, and the cause with the light and with the official client. */
const HOSTILE: [light: string, official: string, frames: Buffer[]][] = [
  ['not_engineio', 'unreadable_data', [text('0{')]],
  ['unreadable_data', 'unreadable_data', [text(OPEN_PACKET), text(`44{"message":${OBJECTS}}`)]],
  ['message_too_large', 'message_too_large', [text(OPEN_PACKET), serverFrame(TEXT, '4'.repeat(100_000))]],
];

for (const client of ['light', 'official'] as ClientKind[]) {
  test(`${client}: a fleet process outlives what servers send`, async () => {
    const sockets: Socket[] = [];
    let frames: Buffer[] = [];
    const server = createServer((socket) => {
      sockets.push(socket.on('error', () => {}));
      socket.once('data', (request) => socket.write(Buffer.concat([upgradeAnswer(request), ...frames])));
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const settings = fleetSettings(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, client);
    settings.defaults.maxPayloadBytes = 10_000;
    const fleet = await Fleet.start(settings, 1);
    after(async () => {
      await fleet.close();
      for (const socket of sockets) socket.destroy();
      server.close();
    });
    for (const [light, official, sent] of HOSTILE) {
      frames = sent;
      await assert.rejects(fleet.connection().open('/'), { code: client === 'light' ? light : official });
    }
    const opened = [text(OPEN_PACKET), text('40{"sid":"s"}')];
    const nested = text(`42["wanted",${'['.repeat(4000)}${']'.repeat(4000)}]`);
    const ends: [reason: string, frame: Buffer][] = [
      ['parse error', nested],
      ['message too large', text('x'.repeat(100_000))],
    ];
    for (const [reason, frame] of ends) {
      frames = [...opened, frame];
      const connection = fleet.connection();
      const dropped = new Promise((resolve) => connection.watch({ dropped: resolve }));
      connection.on('/', 'wanted', () => {});
      await connection.open('/');
      assert.equal(await dropped, reason);
    }
    frames = opened;
    await fleet.connection().open('/');
    assert.deepEqual(column((await fleet.snapshot()).processes, 'alive'), [true]);
  });
}
