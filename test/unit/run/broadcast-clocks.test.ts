/** The clocks of broadcasts: send times on ours, however the workers' drift or jump, and round trips on one. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { latencyFigures } from '../../../plugin/result/delivery/latency.ts';
import { evaluate } from '../../../plugin/result/verdict.ts';
import { monotonicUs } from '../../../protocol/clock/clock.ts';
import { BroadcastWindow } from '../../helpers/broadcast-window.ts';
import { perfectResult } from '../../helpers/results.ts';
import { assertNames } from '../../helpers/verdict.ts';

/**
 * Both workers are an hour ahead, and by as much more as `moreUs` tells of the time of the window.
 * @returns what sends the broadcasts, and when it does, on our clock
 */
function ahead(window: BroadcastWindow, moreUs: (ms: number) => number) {
  const { run, context } = window;
  const offsetUs = () => 3_600_000_000 + moreUs(window.time.nowMs);
  run.apart(async () => ({ atUs: monotonicUs(), offsetUs: offsetUs(), uncertaintyUs: 10 }));
  const { broadcast } = context.control;
  const sentUs: number[] = [];
  context.control.broadcast = async ({ atUs = 0, ...order }, via) => {
    while (monotonicUs() + offsetUs() < atUs) await delay(1);
    const sent = await broadcast({ ...order, atUs: 0 }, via);
    sentUs.push(monotonicUs());
    const sentAtUs = monotonicUs() + offsetUs();
    run.echo = { roundTripUs: 2000, sentAtUs };
    return { ...sent, sentAtUs };
  };
  const measure = async () => {
    await window.time.until(context.clocks.read());
    context.clocks.follow();
    return window.measure();
  };
  return { measure, sentUs };
}

describe('broadcasts', () => {
  it('have send times on our clock, whatever it drifts', async (t) => {
    const window = new BroadcastWindow(t, { broadcasts: { count: 40, interval: 1 } });
    // Up to 50 millionths, now this way and now that.
    const { measure, sentUs } = ahead(window, (ms) => 800 * Math.sin(ms / 16_000));
    const measured = await measure();
    const errorsUs = measured.sent.map(({ sentAtUs }, index) => sentAtUs - (sentUs[index] ?? 0));
    const { clocks } = latencyFigures(measured);
    assert.equal(clocks.length, 2);
    for (const { uncertaintyUs, driftUs, jumpUs } of clocks) {
      assert.ok(uncertaintyUs < 600, `${uncertaintyUs} us`);
      assert.ok(
        errorsUs.every((us) => Math.abs(us) <= uncertaintyUs),
        `${errorsUs}`,
      );
      assert.deepEqual([Math.sign(driftUs), jumpUs], [1, 0]);
    }
    assert.deepEqual([measured.roundTripsUs.underLoad.length, window.run.codes], [40, []]);
  });

  for (const byUs of [1_000_000, -1_000_000]) {
    it(`are followed where a clock jumps by ${byUs / 1000} ms; those near the jump are in doubt, which has a name`, async (t) => {
      const window = new BroadcastWindow(t, { broadcasts: { count: 10, interval: 1 } });
      const { measure, sentUs } = ahead(window, (ms) => (ms < 5001 ? 0 : byUs));
      const measured = await measure();
      const errorsUs = measured.sent.map(({ sentAtUs }, index) => Math.abs(sentAtUs - (sentUs[index] ?? 0)));
      const latency = latencyFigures(measured);
      assert.ok(errorsUs.filter((us) => us > 10).length <= 1, `${errorsUs}`);
      for (const { uncertaintyUs, jumpUs } of latency.clocks) {
        // Intervals of the line end every ten seconds since boot: until the next reading, the clock may drift.
        assert.ok(uncertaintyUs >= jumpUs + 10 && uncertaintyUs < jumpUs + 10 + 5000, `${uncertaintyUs} us`);
        assert.ok(jumpUs >= 1_000_000 && jumpUs < 1_001_000, `${jumpUs} us`);
        assert.ok(errorsUs.every((us) => us <= uncertaintyUs));
      }
      const { underLoad } = measured.roundTripsUs;
      assert.deepEqual([underLoad.length, measured.jumpedRoundTrips], [8, 2]);
      assert.ok(underLoad.every((us) => us === 2000));
      assert.deepEqual(window.run.codes, ['PROBE_INCOMPLETE']);
      const { reasons } = evaluate(measured, { ...perfectResult(), latency });
      const clock = reasons.find(({ code }) => code === 'CLOCK_UNCERTAIN');
      assert.match(clock?.message ?? '', /w0 .* ± 100\d\.\d ms .* 1000\.\d ms/);
    });
  }
});

describe('the window', () => {
  it('has no round trip that the server invents, and says so', async (t) => {
    const window = new BroadcastWindow(t);
    window.run.echo = { roundTripUs: 0 };
    const measured = await window.measure();
    assert.deepEqual(window.run.codes, []);
    const { roundTripHalfMs } = latencyFigures(measured);
    assert.deepEqual(roundTripHalfMs, { underLoad: null, single: null });
    const [reason] = evaluate(measured, perfectResult()).reasons;
    assert.equal(reason?.code, 'IMPOSSIBLE_REPORT');
    assertNames(reason?.message, ['4 of 4', '0.0 ms', '1.5 ms', '2.5 ms']);
  });

  it('has round trips on one clock, whoever publishes', async (t) => {
    const window = new BroadcastWindow(t);
    window.run.apart(async (via) => ({ atUs: monotonicUs(), offsetUs: [700, 1000][via] ?? 0, uncertaintyUs: 1 }));
    const { roundTripsUs } = await window.measure();
    assert.deepEqual(roundTripsUs.underLoad, [2000, 2300, 2000, 2300]);
  });
});
