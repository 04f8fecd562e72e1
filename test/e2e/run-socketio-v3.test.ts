/** Tests a load by artillery-engine-socketio-v3, measured at the server. */
import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { LISTENER_PORT_RANGE } from '../../server/stack/ports.ts';
import { column } from '../helpers/columns.ts';
import { ROOT } from '../helpers/pages.ts';
import { goodResult, hasAllPlateaus, startRun, TOO_SLOW_TO_READ } from '../helpers/run.ts';

it('scenarios/socketio-v3.yml measures the deployment without counting copies, and the output says so', async (t) => {
  const script = readFileSync(join(ROOT, 'scenarios/socketio-v3.yml'), 'utf8');
  const port = String(randomInt(LISTENER_PORT_RANGE.low, LISTENER_PORT_RANGE.high));
  const env = { PROFILE: 'embedded', STACK_PORT: port, RATE: '50', HOLD: '0.5', BROADCASTS: '2' };
  const run = startRun(t, { script, env });
  // The memory of so few connections is less than a new process allocates by itself.
  const result = await goodResult(run, ['MEMORY_NOT_LINEAR', ...TOO_SLOW_TO_READ]);
  assert.deepEqual([result.run.engine, result.run.complete, result.delivery], ['socketio-v3', true, null]);
  assert.equal(result.connections.peak, 250);
  if (hasAllPlateaus(result)) {
    assert.deepEqual(column(result.memory.plateaus, 'connections'), [0, 50, 100, 150, 200, 250]);
    assert.ok(result.memory.perConnectionBytes.workerRss);
  }
  assert.ok(result.memory.residualBytes.workerRss !== undefined, 'connections close when they are released');
  assert.equal(result.latency.roundTripHalfMs.underLoad?.count, 2, 'BROADCASTS is honoured');
  assert.equal(result.environment.settings.hold, 0.5, 'HOLD is honoured');
  assert.match(run.output(), /this engine does not report which broadcasts arrive/);
});
