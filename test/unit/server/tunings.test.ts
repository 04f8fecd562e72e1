import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeTunings, entries, type TuningName, type Tunings, tuningsInForce } from '../../../server/tunings.ts';
import type { WebSocketsName } from '../../../server/websockets/index.ts';

const all = (on: boolean) => Object.fromEntries(entries().map(([name]) => [name, on])) as Tunings;
const namesOf = (tunings: Tunings) => (Object.keys(tunings) as TuningName[]).filter((name) => tunings[name]);

test('every chosen tuning is on with ws', () => {
  assert.deepEqual(tuningsInForce(all(true), 'ws'), all(true));
  assert.deepEqual(tuningsInForce(all(false), 'ws'), all(false));
});

test('with another WebSocket server, a tuning that relies on internals of ws is off, even if chosen', () => {
  const inForce = tuningsInForce(all(true), 'another' as WebSocketsName);
  assert.deepEqual(Object.keys(inForce), Object.keys(all(true)));
  assert.deepEqual(namesOf(inForce), [
    'dropRequest',
    'dropHandshake',
    'sharePingTimer',
    'perMessageDeflate',
    'httpCompression',
  ]);
});

test('a server is untuned if every switch is where Socket.IO has it', () => {
  const plain = Object.fromEntries(entries().map(([name, { inSocketIo }]) => [name, inSocketIo])) as Tunings;
  assert.equal(describeTunings(plain).kind, 'untuned');
  const { kind, tunings } = describeTunings({ ...plain, dropRequest: true });
  assert.deepEqual([kind, tunings.dropRequest, tunings.dropHandshake], ['tuned', 'on', 'off']);
});
