import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { concludeFigures } from '../../../plugin/findings/conclude.ts';
import { latencyFigures } from '../../../plugin/result/delivery/assemble-latency.ts';
import { WorkerClocks } from '../../../plugin/run/target/worker-clocks.ts';
import { monotonicUs } from '../../../protocol/base/clock/clock.ts';
import { BroadcastWindow } from '../../helpers/broadcast-window.ts';
import { assertEach } from '../../helpers/columns.ts';
import { perfectResult } from '../../helpers/results.ts';
import { assertNames } from '../../helpers/verdict.ts';
import { VirtualTime } from '../../helpers/virtual-time.ts';

/** Returns workers with these clock offsets. `asked` collects each query. */
function control(offsetsUs: number[], asked: number[]) {
  return {
    clock: async (via: number) => {
      asked.push(via);
      return { atUs: monotonicUs(), offsetUs: offsetsUs[via] ?? Number.NaN, uncertaintyUs: 100 };
    },
  };
}

/** Reads the clocks of workers with these offsets, on this host or on other hosts. */
async function read(t: TestContext, offsetsUs: number[], here: boolean[]) {
  const asked: number[] = [];
  const asks = control(offsetsUs, asked);
  const time = new VirtualTime(t);
  const clocks = new WorkerClocks(asks, here);
  await time.until(clocks.read());
  return { asked, asks, time, clocks };
}

it('the run does not sample clocks of the same host, and adds no clock error to latencies', async (t) => {
  const { asked, time, clocks } = await read(t, [150, 150], [true, false]);
  assertEach(clocks.lines, (line) => `${line.offsetAt(monotonicUs())} ± ${line.boundUs}`, ['0 ± 0', '150 ± 100']);
  asked.splice(0);
  clocks.follow();
  await time.pass(10_000);
  assert.deepEqual(asked, Array(10).fill(1));
  clocks.close();
  clocks.close();
  await time.pass(10_000);
  assert.equal(asked.length, 10);
});

it('the run uses and samples a clock of this host with an offset', async (t) => {
  const { asked, time, clocks } = await read(t, [5000], [true]);
  assertEach(clocks.lines, (line) => `${line.offsetAt(0)} ± ${line.boundUs}`, ['5000 ± 100']);
  clocks.follow();
  await time.pass(2000);
  assert.equal(asked.length, 18);
  clocks.close();
});

it('the run keeps the last clock readings of a silent worker, and fails only if it never replied', async (t) => {
  const { asks, time, clocks } = await read(t, [5000], [false]);
  const { clock } = asks;
  clocks.follow();
  asks.clock = async () => Promise.reject(new Error('busy'));
  await time.pass(3000);
  await time.until(clocks.read());
  assert.ok(Number.isFinite(clocks.lines[0]?.boundAt(monotonicUs())));
  await assert.rejects(time.until(new WorkerClocks(asks, [false]).read()), /busy/);
  asks.clock = clock;
  await time.pass(3000);
  assert.equal(clocks.lines[0]?.boundUs, 100);
  clocks.close();
});

/**
 * Moves both workers to hosts whose clocks are an hour ahead, plus `moreUs` of the window's time.
 * @returns a function that sends the broadcasts, and their times on the run's clock
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
  it("send times of broadcasts are on the run's clock, however the worker's clock drifts", async (t) => {
    const window = new BroadcastWindow(t, { broadcasts: { count: 40, interval: 1 } });
    // The clocks drift by up to 50 millionths in both directions.
    const { measure, sentUs } = ahead(window, (ms) => 800 * Math.sin(ms / 16_000));
    const measured = await measure();
    const errorsUs = measured.sent.map(({ sentAtUs }, index) => sentAtUs - (sentUs[index] ?? 0));
    const { clocks } = latencyFigures(measured);
    assert.equal(clocks.length, 2);
    for (const { uncertaintyUs, driftUs, jumpUs } of clocks) {
      assert.ok(uncertaintyUs < 600, `${uncertaintyUs} us`);
      assert.ok(Math.max(...errorsUs.map(Math.abs)) <= uncertaintyUs, `${errorsUs}`);
      assert.deepEqual([Math.sign(driftUs), jumpUs], [1, 0]);
    }
    assert.deepEqual([measured.roundTripsUs.underLoad.length, window.run.codes], [40, []]);
  });

  for (const byUs of [1_000_000, -1_000_000]) {
    it(`broadcast times are correct if a clock jumps by ${byUs / 1000} ms, except near the jump`, async (t) => {
      const window = new BroadcastWindow(t, { broadcasts: { count: 10, interval: 1 } });
      const { measure, sentUs } = ahead(window, (ms) => (ms < 5001 ? 0 : byUs));
      const measured = await measure();
      const errorsUs = measured.sent.map(({ sentAtUs }, index) => Math.abs(sentAtUs - (sentUs[index] ?? 0)));
      const latency = latencyFigures(measured);
      assert.ok(errorsUs.filter((us) => us > 10).length <= 1, `${errorsUs}`);
      for (const { uncertaintyUs, jumpUs } of latency.clocks) {
        // Intervals of the line end every ten seconds since boot, so the clock may drift until the next reading.
        assert.ok(uncertaintyUs >= jumpUs + 10 && uncertaintyUs < jumpUs + 10 + 5000, `${uncertaintyUs} us`);
        assert.ok(jumpUs >= 1_000_000 && jumpUs < 1_001_000, `${jumpUs} us`);
        assert.ok(errorsUs.every((us) => us <= uncertaintyUs));
      }
      assert.deepEqual([measured.roundTripsUs.underLoad, measured.jumpedRoundTrips], [Array(8).fill(2000), 2]);
      assert.deepEqual(window.run.codes, []);
      const { findings } = concludeFigures(measured, { ...perfectResult(), latency });
      assertNames(findings.find(({ code }) => code === 'PROBE_INCOMPLETE')?.message, [2]);
      const clock = findings.find(({ code }) => code === 'CLOCK_UNCERTAIN');
      assert.match(clock?.message ?? '', /w0 .* ± 1,00\d ms .* 1,00[01] ms/);
    });
  }
});

describe('the window', () => {
  it('the broadcast window excludes impossible round trips of the server, and reports them', async (t) => {
    const window = new BroadcastWindow(t);
    window.run.echo = { roundTripUs: 0 };
    const measured = await window.measure();
    assert.deepEqual(window.run.codes, []);
    const { roundTripHalfMs } = latencyFigures(measured);
    assert.deepEqual(roundTripHalfMs, { underLoad: null, single: null });
    const [reason] = concludeFigures(measured, perfectResult()).findings;
    assert.equal(reason?.code, 'IMPOSSIBLE_REPORT');
    assertNames(reason?.message, ['4 of 4', '0 ms', '1.50 ms', '2.50 ms']);
  });
});
