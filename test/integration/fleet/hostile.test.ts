/**
 * Tests servers that try to crash or fill a fleet process. Only their own connection is closed, with a cause, and
 * memory stays bounded.
 */
import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import type { ClientKind } from '../../../protocol/wire/connection.ts';
import { column } from '../../helpers/columns.ts';
import { CONNECT_PACKET, OPEN_PACKET, serverFrame, TEXT, text, upgradeAnswer } from '../../helpers/fake-wire.ts';
import { fleetSettings, startFleet } from '../../helpers/fleet.ts';
import { eventually } from '../../helpers/poll.ts';
import { rawServer } from '../../helpers/raw-listen.ts';

const OBJECTS = '{"valueOf":1,"toString":1}';
/** Frames after the upgrade, with the causes that the light client and the official client report. */
const HOSTILE: [light: string, official: string, frames: Buffer[]][] = [
  ['not_engineio', 'unreadable_data', [text('0{')]],
  ['unreadable_data', 'unreadable_data', [text(OPEN_PACKET), text(`44{"message":${OBJECTS}}`)]],
  ['message_too_large', 'message_too_large', [text(OPEN_PACKET), serverFrame(TEXT, '4'.repeat(100_000))]],
];
const OPENED = [text(OPEN_PACKET), text(CONNECT_PACKET)];
/** Frames that make an open connection close, with the reason. */
const ENDS: [reason: string, frame: Buffer][] = [
  ['parse error', text(`42["wanted",${'['.repeat(4000)}${']'.repeat(4000)}]`)],
  ['message too large', text('x'.repeat(100_000))],
];

/** Starts a fleet process with a server that accepts the upgrade and then runs `act`. */
async function fleetAt(t: TestContext, client: ClientKind, act: (socket: Socket) => void, maxPayloadBytes?: number) {
  const url = await rawServer(t, (socket, request) => {
    socket.write(upgradeAnswer(request));
    act(socket);
  });
  return startFleet(t, fleetSettings(url, client, maxPayloadBytes === undefined ? {} : { maxPayloadBytes }));
}

for (const client of ['light', 'official'] as ClientKind[]) {
  test(`a fleet process with the ${client} client survives malformed frames`, async (t) => {
    let frames: Buffer[] = [];
    const fleet = await fleetAt(t, client, (socket) => socket.write(Buffer.concat(frames)), 10_000);
    for (const [light, official, sent] of HOSTILE) {
      frames = sent;
      await assert.rejects(fleet.connection().open('/'), { code: client === 'light' ? light : official });
    }
    for (const [reason, frame] of ENDS) {
      frames = [...OPENED, frame];
      const connection = fleet.connection();
      const dropped = new Promise((resolve) => connection.watch({ dropped: resolve }));
      connection.listen('/', 'wanted', () => {})('take');
      await connection.open('/');
      assert.equal(await dropped, reason);
    }
    frames = OPENED;
    await fleet.connection().open('/');
    assert.deepEqual(column((await fleet.snapshot()).processes, 'alive'), [true]);
  });

  test(`a fleet process with the ${client} client counts unexpected acknowledgements`, async (t) => {
    const flood = Array.from({ length: 5000 }, (_, id) => text(`43${1000 + id}["${'x'.repeat(100)}"]`));
    const fleet = await fleetAt(t, client, (socket) => socket.write(Buffer.concat([...OPENED, ...flood])));
    await fleet.connection().open('/');
    await eventually('all of them', async () => (await fleet.snapshot()).unknownAcks === flood.length);
  });
}
