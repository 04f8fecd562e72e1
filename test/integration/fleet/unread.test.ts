/** Servers that acknowledge what nobody sent, and servers that read nothing: neither costs the generator more than its bounds. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { after, test } from 'node:test';
import { Fleet } from '../../../plugin/fleet/fleet.ts';
import type { ClientKind } from '../../../protocol/connection.ts';
import { OPEN_PACKET, text, upgradeAnswer } from '../../helpers/fake-wire.ts';
import { fleetSettings } from '../../helpers/fleet.ts';
import { eventually } from '../../helpers/poll.ts';

const OPENED = [text(OPEN_PACKET), text('40{"sid":"s"}')];

/** A server that upgrades, sends `frames`, and from then on does what `then` does. */
async function fleetAt(client: ClientKind, frames: Buffer[], then: (socket: Socket) => void): Promise<Fleet> {
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket.on('error', () => {}));
    socket.once('data', (request) => {
      socket.write(Buffer.concat([upgradeAnswer(request), ...frames]));
      then(socket);
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const fleet = await Fleet.start(fleetSettings(`http://127.0.0.1:${port}`, client), 1);
  after(async () => {
    await fleet.close();
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return fleet;
}

for (const client of ['light', 'official'] as ClientKind[]) {
  test(`${client}: a flood of acknowledgements of nothing is counted where it arrives`, async () => {
    const flood = Array.from({ length: 5000 }, (_, id) => text(`43${1000 + id}["${'x'.repeat(100)}"]`));
    const fleet = await fleetAt(client, [...OPENED, ...flood], (socket) => socket.resume());
    await fleet.connection().open('/');
    await eventually('all of them', async () => (await fleet.snapshot()).unknownAcks === flood.length);
  });
}

test('a connection whose server reads nothing ends when too much waits for it', async () => {
  const fleet = await fleetAt('light', OPENED, (socket) => socket.pause());
  const connection = fleet.connection();
  const dropped = new Promise((resolve) => connection.watch({ dropped: resolve }));
  await connection.open('/');
  // More than the limit and the buffers of both kernels.
  const message = 'x'.repeat(1024 ** 2);
  let ended = false;
  void dropped.then(() => {
    ended = true;
  });
  for (let sent = 0; sent < 64 && !ended; sent++) {
    connection.emit('/', 'chat', [message]);
    await fleet.snapshot();
  }
  assert.equal(await dropped, 'send buffer full');
  assert.deepEqual((await fleet.snapshot()).disconnects, { 'send buffer full': 1 });
});
