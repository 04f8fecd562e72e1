/** Environment `stock`: the same flow on external engines, measured from the server's side. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { column } from '../helpers/columns.ts';
import { goodResult, hasAllPlateaus, quickScript, startRun } from '../helpers/run.ts';

describe('environment stock', { concurrency: 2 }, () => {
  for (const engine of ['socketio', 'socketio-v3']) {
    it(`measures the server under engine ${engine}, without a ledger, and reports that`, async (t) => {
      const script = quickScript(
        {
          ensure: {
            thresholds: [{ 'connections.failed': 1 }],
            conditions: [{ expression: 'socketio.delivery.coverage >= 1', strict: true }],
          },
          environments: { stock: { ensure: { conditions: null } } },
        },
        { profile: 'embedded', hold: 30, broadcasts: { count: 100, interval: 0.2 } },
      );
      Object.assign(script.config.plugins, { ensure: {} });
      const run = startRun(t, {
        script,
        args: ['-e', 'stock'],
        env: { STOCK_ENGINE: engine === 'socketio' ? '' : engine, HOLD: '0.5', BROADCASTS: '3' },
      });
      const result = await goodResult(run);
      assert.equal(result.run.engine, engine);
      assert.equal(result.run.complete, true);
      assert.equal(result.delivery, null);
      assert.equal(result.connections.peak, 10);
      if (hasAllPlateaus(result)) {
        assert.deepEqual(column(result.memory.plateaus, 'connections'), [0, 5, 10]);
        assert.ok(result.memory.perConnectionBytes.workerRss);
      }
      assert.ok(result.memory.residualBytes.workerRss !== undefined, 'they leave when they are released');
      assert.equal(result.latency.roundTripHalfMs.underLoad?.count, 3, 'BROADCASTS is honoured');
      assert.equal(result.environment.settings.hold, 0.5, 'HOLD is honoured');
      assert.match(run.output(), /this engine does not report which broadcasts arrive/);
    });
  }
});
