import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nodeFlags } from '../../../server/control/versions.ts';
import {
  describeTunings,
  type TuningName,
  type Tunings,
  tuningEntries,
  tuningsInForce,
} from '../../../server/tunings.ts';
import type { WebSocketsName } from '../../../server/websockets/index.ts';

const all = (on: boolean) => Object.fromEntries(tuningEntries().map(([name]) => [name, on])) as Tunings;
const namesOf = (tunings: Tunings) => (Object.keys(tunings) as TuningName[]).filter((name) => tunings[name]);

test('the server turns on every selected tuning if it uses ws', () => {
  assert.deepEqual(tuningsInForce(all(true), 'ws'), all(true));
  assert.deepEqual(tuningsInForce(all(false), 'ws'), all(false));
});

test('the server turns off a tuning that requires ws if it uses another WebSocket library', () => {
  const inForce = tuningsInForce(all(true), 'another' as WebSocketsName);
  assert.deepEqual(Object.keys(inForce), Object.keys(all(true)));
  const relying = namesOf(all(true)).filter((name) => !inForce[name]);
  assert.deepEqual(relying, ['dropListeners']);
});

test("a server counts as untuned if every switch has Socket.IO's default", () => {
  const plain = Object.fromEntries(tuningEntries().map(([name, { inSocketIo }]) => [name, inSocketIo])) as Tunings;
  assert.equal(describeTunings(plain).kind, 'untuned');
  const { kind, tunings } = describeTunings({ ...plain, dropRequest: true });
  assert.deepEqual([kind, tunings.dropRequest, tunings.dropHandshake], ['tuned', 'on', 'off']);
});

test('reports flags of Node with numbers, but without other values, which can be paths or secrets', () => {
  const flags = nodeFlags(
    ['--max-semi-space-size=1', '--require', '/home/ada/hook.js', '--env-file=/etc/secret'],
    ' --max-old-space-size=4096  -r ./x ',
  );
  assert.deepEqual(flags, ['--max-semi-space-size=1', '--require', '--env-file', '--max-old-space-size=4096', '-r']);
  assert.deepEqual(nodeFlags([]), []);
});
