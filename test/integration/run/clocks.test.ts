/** A worker whose clock is not ours, as on another host: nothing of the difference may be in the latencies. */
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { Copy } from '../../../bench/calibrate/known-server.ts';
import { withSetup } from '../../../bench/calibrate/setup.ts';
import { batchRows } from '../../../plugin/result/delivery/delivery.ts';
import { latencyFigures } from '../../../plugin/result/delivery/latency.ts';
import { measureBroadcasts } from '../../../plugin/run/broadcasts/window.ts';
import { identityOf } from '../../../plugin/run/measurements/worker-identity.ts';
import { Probe } from '../../../plugin/run/receivers/probe.ts';
import { WorkerClocks } from '../../../plugin/run/target/clocks.ts';
import type { Batch } from '../../../protocol/result/delivery.ts';
import { connectionTo } from '../../helpers/connection.ts';
import { FakeRun } from '../../helpers/fake-run.ts';
import { joinAll } from '../../helpers/fleet.ts';

const RECEIVERS = 20;
const BROADCASTS = 6;
const DELAY_MS = 20;
/** This run has no engine that would report what has arrived, so it waits to the end. */
const DRAIN_SECONDS = 1;
const HOUR_US = 3_600_000_000;
/** A broadcast. A clock is read once a second, and on a busy machine only some of these readings are quick enough to tell. */
const JUMPS_AT = 16;

/** @returns arguments for Node that change a clock of its process */
const preload = (code: string) => ['--import', `data:text/javascript,${encodeURIComponent(code)}`];
/** @param us how far the monotonic clock is ahead of all others; negative if it is behind */
const movedClock = (us: number) =>
  preload(`const real = process.hrtime.bigint; process.hrtime.bigint = () => real() + ${us * 1000}n;`);
/** @param rate of drift @param jumpMs at each SIGUSR2 */
const driftingClock = (rate: number, jumpMs: number) =>
  preload(`
    const real = performance.now.bind(performance);
    let jumpedMs = 0;
    process.on('SIGUSR2', () => { jumpedMs += ${jumpMs}; });
    performance.now = () => real() * ${1 + rate} + jumpedMs;`);

interface Plan {
  execArgv: string[];
  /** The worker counts as one of another host. */
  apart?: boolean;
  count?: number;
  interval?: number;
  onSent?: (seq: number, serverPid: number) => void;
}

async function measure(
  t: TestContext,
  { execArgv, apart = false, count = BROADCASTS, interval = 0.1, onSent = () => {} }: Plan,
) {
  return withSetup(
    { delaysMs: [[DELAY_MS, DELAY_MS]] },
    async ({ server, control, fleet }) => {
      const signal = new AbortController().signal;
      const { url } = server.started;
      const probe = await Probe.connect({ connection: connectionTo(url) }, signal);
      t.after(() => probe.close());
      const run = new FakeRun({ broadcasts: { count, interval }, drain: { quiet: 0.3, deadline: DRAIN_SECONDS } });
      const { config } = run.context;
      await probe.join(`${config.room}:single`);
      await probe.join(config.room);
      await joinAll(fleet, RECEIVERS);
      const [stats] = await control.stats();
      assert.ok(stats);
      const measured = run.measurements;
      measured.workersAtStart = [identityOf(stats)];
      const link = {
        ...run.context.link,
        get status() {
          return { ...run.status, ...fleet.status() };
        },
        freeze: fleet.freeze.bind(fleet),
      };
      const clocks = new WorkerClocks(control, [!apart]);
      t.after(() => clocks.close());
      measured.clocks = clocks.lines;
      await clocks.read();
      clocks.follow();
      const broadcast = control.broadcast.bind(control);
      control.broadcast = async (order, via) => {
        const sent = await broadcast(order, via);
        onSent(order.seq, server.pid);
        return sent;
      };
      await measureBroadcasts({ ...run.context, control, probe, link, clocks }, () => {});
      const { copies } = await server.truth();
      return { measurements: measured, latency: latencyFigures(measured), batches: batchRows(measured), copies };
    },
    { execArgv },
  );
}

/** A busy machine can delay a message by this much, and no clock of these tests is off by so little. */
const BUSY_MS = 2000;

/** A busy machine makes receipts late, and none of them early: the quickest shows what the clock is worth. */
function leastErrorMs(batches: Batch[], copies: Copy[]): number {
  const errorsMs = batches.map(({ seq, firstMs, sendDelayMs }) => {
    const truthUs = Math.min(...copies.filter((copy) => copy.seq === seq).map(({ afterUs }) => afterUs));
    return (firstMs ?? Number.NaN) - Math.max(0, sendDelayMs ?? 0) - truthUs / 1000;
  });
  return Math.min(...errorsMs);
}

describe('latencies of a worker', () => {
  for (const [what, aheadUs] of [
    ['with our clock', 0],
    ['an hour ahead', HOUR_US],
    ['five seconds behind', -5_000_000],
  ] as const) {
    it(what, async (t) => {
      const { latency, batches, copies, measurements } = await measure(t, { execArgv: movedClock(aheadUs) });
      assert.equal(latency.oneWayMs?.count, RECEIVERS * BROADCASTS);
      assert.ok(batches.every(({ expected, received }) => expected === RECEIVERS && received === RECEIVERS));
      const [clock] = latency.clocks;
      // Below a millisecond, unless other tests keep both ends from answering at once.
      assert.ok(clock && clock.uncertaintyUs < 20_000, `${clock?.uncertaintyUs} us`);
      assert.ok(Math.abs(clock.offsetUs - aheadUs) <= clock.uncertaintyUs, `${clock.offsetUs} us`);
      const boundMs = 1 + clock.uncertaintyUs / 1000;
      assert.ok(Math.abs(leastErrorMs(batches, copies)) < boundMs);
      assert.ok(
        batches.every(({ sendDelayMs }) => sendDelayMs !== null && sendDelayMs > -boundMs && sendDelayMs < BUSY_MS),
      );
      // The probe's copy waits like all others, and comes back at once.
      assert.equal(measurements.roundTripsUs.underLoad.length, BROADCASTS);
      assert.ok(measurements.roundTripsUs.underLoad.every((us) => us >= DELAY_MS * 1000 && us < BUSY_MS * 1000));
    });
  }

  it('whose clock is fast, and jumps in the middle: before and after, nothing of it is in the latencies', async (t) => {
    const { latency, batches, copies, measurements } = await measure(t, {
      ...{ execArgv: driftingClock(450e-6, 200), apart: true, count: 2 * JUMPS_AT, interval: 0.3 },
      onSent: (seq, serverPid) => seq === JUMPS_AT && process.kill(serverPid, 'SIGUSR2'),
    });
    const [clock] = latency.clocks;
    const [line] = measurements.clocks;
    assert.ok(clock && line);
    assert.ok(Math.abs(clock.jumpUs - 200_000) < 20_000, `${clock.jumpUs} us`);
    assert.ok(clock.uncertaintyUs > 200_000, `named: ${clock.uncertaintyUs} us`);
    const sentAtUs = ({ seq }: Batch) => measurements.sent.find((sent) => sent.seq === seq)?.sentAtUs ?? 0;
    const far = batches.filter((batch) => line.jumpUs(sentAtUs(batch), sentAtUs(batch)) === 0);
    const [before, after] = [far.filter(({ seq }) => seq < JUMPS_AT), far.filter(({ seq }) => seq > JUMPS_AT)];
    for (const some of [before, after]) {
      assert.ok(some.length > 0, `${far.map(({ seq }) => seq)}`);
      const boundMs = 1 + Math.max(...some.map((batch) => line.boundAt(sentAtUs(batch)))) / 1000;
      assert.ok(boundMs < 100, `nothing of the jump: ${boundMs} ms`);
      assert.ok(Math.abs(leastErrorMs(some, copies)) < boundMs, `${leastErrorMs(some, copies)} ms off, not ${boundMs}`);
    }
    assert.equal(measurements.impossibleRoundTrips.length, 0);
  });
});
