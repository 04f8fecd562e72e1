import assert from 'node:assert/strict';
import { it } from 'node:test';
import { expectedConnections } from '../../../plugin/engine/load.ts';
import { connectionsPerVirtualUser } from '../../../protocol/flow.ts';
import { Bench } from '../../helpers/virtual-user.ts';

it('counts the connections of a virtual user, also inside loops', () => {
  assert.equal(connectionsPerVirtualUser([{ emit: ['x'] }, { hold: true }]), 1);
  assert.equal(connectionsPerVirtualUser([{ connect: { count: 40, ratePerSec: 10 } }]), 40);
  assert.equal(connectionsPerVirtualUser([{ loop: [{ connect: { count: 3 } }], count: 2 }]), 3);
});

it('plans for all of them', () => {
  const script = {
    config: { phases: [{ duration: 2, arrivalCount: 5 }] },
    scenarios: [{ engine: 'socketio-capacity', flow: [{ connect: { count: 100 } }, { hold: true }] }],
  };
  assert.equal(expectedConnections(script), 500);
});

it('opens all of them, and all do what the flow says', async () => {
  const bench = new Bench();
  const outcome = await bench.play([
    { connect: { count: 30, ratePerSec: 3000 } },
    { emit: ['join_room', { clientKey: 'capacity' }] },
  ]);
  assert.equal(outcome.error, null);
  assert.equal(bench.fleet.connections.length, 30);
  assert.equal(bench.fleet.sent.length, 30);
});

it('counts those that fail, one by one, and goes on with the others', async () => {
  const bench = new Bench();
  bench.fleet.onOpen = () =>
    bench.fleet.failures.splice(0, 0, ...(bench.fleet.connections.length === 1 ? ['http_502', 'ECONNREFUSED'] : []));
  const outcome = await bench.play([{ connect: { count: 10, ratePerSec: 5000 } }, { emit: ['join_room', 'capacity'] }]);
  assert.equal(outcome.error, null);
  assert.deepEqual(bench.run.tally.failures, { http_502: 1, ECONNREFUSED: 1 });
  assert.equal(bench.fleet.sent.length, 8);
});

it('waits for the acknowledgements of all', async () => {
  const bench = new Bench();
  let acked = 0;
  bench.fleet.onAck = () => {
    acked++;
    return ['ok'];
  };
  const outcome = await bench.play([
    { connect: { count: 5, ratePerSec: 5000 } },
    { emit: ['join_room', 'capacity'], acknowledge: true },
  ]);
  assert.equal(outcome.error, null);
  assert.equal(acked, 5);
});
