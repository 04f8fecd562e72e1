/**
 * Tests packets that socket.io-client cannot parse. The light client must close its connection for exactly the same
 * packets.
 */
import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import type { ClientKind } from '../../../protocol/wire/connection.ts';
import { CONNECT_PACKET, OPEN_PACKET, serverFrame, text, upgradeAnswer } from '../../helpers/fake-wire.ts';
import { fleetSettings, startFleet } from '../../helpers/fleet.ts';
import { rawServer } from '../../helpers/raw-listen.ts';

const BINARY = 2;
const PLACEHOLDER = '{"_placeholder":true,"num":0}';
const UNREADABLE: (string | [string, string])[] = [
  ...['4', '47["a"]', '4x["a"]'],
  ...['42["a",', '42["a","b', '42{"a":1}', '42"a"', '42[]', '42[null]', '42[true]', '42[{"a":1},2]', '42["a"]x'],
  ...['42["a",{bad}]', '42["a","\u0001"]', '4212{"a"}', '42["connect"]', '42["disconnect",1]', '42["newListener"]'],
  ...['42/other,["a",{x}]', '431{"a":1}', '431["a"', '41{"a":1}', '41/other,{"a":1}', '40{"sid"', '40"x"', '40[1]'],
  ...['44[1]', '44{', `45["a",${PLACEHOLDER}]`, '45x-["a"]', '450-["a"]', '45-1-["a"]', '4511-["a"]', '451.5-["a"]'],
  ...['451-["a",', '451', '451-', '461-[]', '42', '42/', '42/,', '44', 'b', 'bAAAA', '0', '0{}', '0null'],
  '0{"sid":"s","upgrades":[],"pingInterval":25000,"pingTimeout":20000,"maxPayload":1000000}',
  ...([
    [`451-["a",${PLACEHOLDER}]`, '42["b"]'],
    ['451-["a",{"_placeholder":true,"num":5}]', 'binary'],
    [`451-["connect",${PLACEHOLDER}]`, 'binary'],
    ['6', 'binary'],
  ] as [string, string][]),
];
/** Packets without an Engine.IO type. engine.io-client closes the connection. */
const UNKNOWN = ['', ' ', '7', '9', '8["a"]', 'x', '\u0000', '\u00e9'];
const READABLE: (string | [string, string])[] = [
  ...['42[5]', '42/other,["a"]', '42/,["a"]', '42["a"]', '421["a",{"b":[1,"\u00e9"]}]', '4399["a"]', '43["a"]'],
  ...[
    '41/other,',
    '40/other,{"sid":"q"}',
    '44/other,{"message":"m"}',
    ...['1', '2', '2probe', '3', '5', '6', '6x', '40', '421', '43', '431', '43/,1', '42/other,', '42 ', '42 1["a"]'],
    ['451-["a"]', 'binary'] as [string, string],
  ],
];

for (const client of ['light', 'official'] as ClientKind[]) {
  test(`the ${client} client closes a connection on a packet that it cannot parse, and reports the cause`, async (t) => {
    const outcomes = await outcomesOf(t, client, [...UNREADABLE, ...UNKNOWN, ...READABLE]);
    const packetsWith = (wanted: string) =>
      outcomes.filter(([, outcome]) => outcome === wanted).map(([packet]) => packet);
    assert.deepEqual(packetsWith('parse error'), UNREADABLE);
    assert.deepEqual(packetsWith('transport error'), UNKNOWN);
    assert.deepEqual(packetsWith('goes on'), READABLE);
  });
}

async function outcomesOf(t: TestContext, client: ClientKind, packets: (string | [string, string])[]) {
  let server: Socket | undefined;
  const url = await rawServer(t, (socket, request) => {
    server = socket;
    socket.write(Buffer.concat([upgradeAnswer(request), text(OPEN_PACKET), text(CONNECT_PACKET)]));
  });
  const fleet = await startFleet(t, fleetSettings(url, client));
  const outcomes: [string | [string, string], string][] = [];
  for (const packet of packets) {
    const sent = [packet].flat().map((part) => (part === 'binary' ? serverFrame(BINARY, 'x') : text(part)));
    const connection = fleet.connection();
    const outcome = new Promise<string>((resolve) => {
      connection.watch({ dropped: resolve });
      connection.listen('/', 'last', () => resolve('goes on'))('take');
    });
    await connection.open('/');
    server?.write(Buffer.concat([...sent, ...sent, text('42["last"]')]));
    outcomes.push([packet, await outcome]);
  }
  return outcomes;
}
