import assert from 'node:assert/strict';
import { it, type TestContext } from 'node:test';
import { Meter } from '../../../plugin/virtual-user/meter.ts';
import { VirtualTime } from '../../helpers/virtual-time.ts';

function start(t: TestContext) {
  const time = new VirtualTime(t);
  const given: unknown[][] = [];
  const meter = new Meter();
  meter.attach({ emit: (...args: unknown[]) => void given.push(args) });
  t.after(() => meter.close());
  return { time, meter, given };
}

it('passes counters and times to Artillery once a second', async (t) => {
  const { time, meter, given } = start(t);
  meter.count('emit');
  meter.count('emit');
  meter.count('disconnect', 'transport_close');
  meter.record('ackTime', 5);
  meter.record('ackTime', 7);
  await time.pass(900);
  assert.deepEqual(given, []);
  await time.pass(200);
  const once = [
    ['counter', 'socketio.emit', 2],
    ['counter', 'socketio.disconnect.transport_close', 1],
    ['histogram', 'socketio.ack_time', 5],
    ['histogram', 'socketio.ack_time', 7],
  ];
  assert.deepEqual(given, once);
  await time.pass(5000);
  assert.deepEqual(given, once);
});

it('passes rates and errors to Artillery immediately', (t) => {
  const { meter, given } = start(t);
  meter.rate('emitRate');
  meter.error('http_502');
  assert.deepEqual(given, [
    ['rate', 'socketio.emit_rate'],
    ['error', 'http_502'],
  ]);
});

it('passes remaining counters to Artillery when the meter is closed, and nothing afterwards', async (t) => {
  const { time, meter, given } = start(t);
  // All scenarios of a worker share the meter and its clock.
  meter.attach({ emit: (...args: unknown[]) => void given.push(args) });
  meter.count('emit');
  meter.close();
  assert.deepEqual(given, [['counter', 'socketio.emit', 1]]);
  meter.count('emit');
  await time.pass(5000);
  assert.equal(given.length, 1);
});
