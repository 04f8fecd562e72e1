/** A worker whose clock is not ours, as on another host: nothing of the difference may be in the latencies. */
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { withSetup } from '../../../bench/calibrate/setup.ts';
import { batchRows } from '../../../plugin/result/delivery.ts';
import { latencyFigures } from '../../../plugin/result/latency.ts';
import { measureBroadcasts } from '../../../plugin/run/broadcast-window.ts';
import { Probe } from '../../../plugin/run/receivers/probe.ts';
import { connectionTo } from '../../helpers/connection.ts';
import { FakeRun } from '../../helpers/fake-run.ts';
import { joinAll } from '../../helpers/fleet.ts';
import { movedClock } from '../../helpers/moved-clock.ts';

const RECEIVERS = 20;
const BROADCASTS = 6;
const DELAY_MS = 20;
const HOUR_US = 3_600_000_000;

async function measure(t: TestContext, aheadUs: number) {
  return withSetup(
    { delaysMs: [[DELAY_MS, DELAY_MS]] },
    async ({ server, control, fleet }) => {
      const signal = new AbortController().signal;
      const { url } = server.started;
      const probe = await Probe.connect(connectionTo(url), signal);
      t.after(() => probe.close());
      const run = new FakeRun({ broadcasts: { count: BROADCASTS, interval: 0.1 }, drain: { quiet: 0.3 } });
      const { config } = run.context;
      await probe.join(`${config.room}:single`);
      await probe.join(config.room);
      await joinAll(fleet, RECEIVERS);
      const [stats] = await control.stats();
      assert.ok(stats);
      const measured = run.measurements;
      measured.workersAtStart = [{ worker: stats.worker, pid: stats.pid }];
      const link = {
        ...run.context.link,
        get status() {
          return { ...run.status, ...fleet.status() };
        },
        freeze: fleet.freeze.bind(fleet),
      };
      await measureBroadcasts({ ...run.context, control, probe, link, here: [true] }, () => {});
      const { copies } = await server.truth();
      return { measurements: measured, latency: latencyFigures(measured), batches: batchRows(measured), copies };
    },
    { execArgv: movedClock(aheadUs) },
  );
}

describe('latencies of a worker', () => {
  for (const [what, aheadUs] of [
    ['with our clock', 0],
    ['an hour ahead', HOUR_US],
    ['five seconds behind', -5_000_000],
  ] as const) {
    it(what, async (t) => {
      const { latency, batches, copies, measurements } = await measure(t, aheadUs);
      assert.equal(latency.oneWayMs?.count, RECEIVERS * BROADCASTS);
      assert.ok(batches.every(({ expected, received }) => expected === RECEIVERS && received === RECEIVERS));
      const [clock] = latency.clocks;
      assert.ok(clock && clock.uncertaintyUs < 1000);
      assert.ok(Math.abs(clock.offsetUs - aheadUs) <= clock.uncertaintyUs, `${clock.offsetUs} us`);
      // A busy machine makes receipts late, and none of them early: the quickest shows what the clock is worth.
      const errorsMs = batches.map(({ seq, firstMs, sendDelayMs }) => {
        const truthUs = Math.min(...copies.filter((copy) => copy.seq === seq).map(({ afterUs }) => afterUs));
        return (firstMs ?? Number.NaN) - Math.max(0, sendDelayMs) - truthUs / 1000;
      });
      const errorMs = Math.min(...errorsMs);
      assert.ok(Math.abs(errorMs) < 1, `${errorMs} ms off`);
      assert.ok(batches.every(({ sendDelayMs }) => sendDelayMs > -1 && sendDelayMs < 50));
      // The probe's copy waits like all others, and comes back at once.
      assert.equal(measurements.roundTripsUs.underLoad.length, BROADCASTS);
      assert.ok(measurements.roundTripsUs.underLoad.every((us) => us >= DELAY_MS * 1000 && us < 200_000));
    });
  }
});
