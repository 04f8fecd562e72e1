/** A server that stands still during a ramp: is the rate that of the connections which were really made? */
import { setTimeout as delay } from 'node:timers/promises';
import { achievedRate } from '../../plugin/result/connections/rate.ts';
import type { Ramp } from '../../plugin/run/measurements/windows.ts';
import { addPhase, endRamp } from '../../plugin/run/windows/ramps.ts';
import { ONE_CONNECTION } from '../../plugin/script/load/flow.ts';
import { atMost, type Comparison, exactly, known, near, type Section } from './comparison.ts';
import { newOpenings, openAtRate, warmUp, withSlowServer } from './slow-server.ts';

interface FreezeSize {
  ramps: number;
  rampSeconds: number;
  ratePerSec: number;
  freezeMs: number;
}

/** When the server freezes: after this share of the first ramp. */
const CASES = { 'no freeze': null, 'within a ramp': 0.3, 'at the end of a ramp': 0.9 };
const BETWEEN_RAMPS_MS = 300;
const NO_DELAYS_MS = { upgrade: 0, open: 0, namespace: 0 };
const CONNECT_TIMEOUT_MS = 10_000;
/** The rate is counted in intervals of 10 ms, so it is uncertain by one at each end. */
const RATE_SHARE = 0.02;

export async function freeze(size: FreezeSize): Promise<Section> {
  const rows: Comparison[] = [];
  for (const [what, share] of Object.entries(CASES)) rows.push(...(await measure(what, share, size)));
  return {
    title: 'Rate, with a server that freezes',
    text:
      `${size.ramps} ramps of ${size.rampSeconds} s with ${size.ratePerSec} arrivals per second; during the first one, the ` +
      `server is stopped for ${size.freezeMs / 1000} s. The true rate comes from the times at which the server accepted. A ` +
      'freeze that ends before its ramp does not lower the rate; the rush after it does not raise it.',
    rows,
  };
}

async function measure(what: string, share: number | null, size: FreezeSize): Promise<Comparison[]> {
  const { ramps: count, rampSeconds, ratePerSec, freezeMs } = size;
  return withSlowServer({ delaysMs: NO_DELAYS_MS, refusals: [null] }, CONNECT_TIMEOUT_MS, async (server, fleet) => {
    const perRamp = rampSeconds * ratePerSec;
    await warmUp(fleet, perRamp);
    await server.truth();
    const before = await fleet.snapshot();
    const ramps: Ramp[] = [];
    const accepted: number[][] = [];
    for (let index = 0; index < count; index++) {
      addPhase(ramps, { duration: rampSeconds, arrivalRate: ratePerSec, rampTo: ratePerSec }, ONE_CONNECTION);
      const arrivals = openAtRate(fleet, perRamp, ratePerSec);
      if (index === 0 && share !== null) await stop(server.pid, share * rampSeconds * 1000, freezeMs);
      await arrivals;
      endRamp(ramps);
      accepted.push((await server.truth()).acceptedAtUs);
      await delay(BETWEEN_RAMPS_MS);
    }
    const snapshot = await fleet.snapshot();
    const made = newOpenings(before, snapshot);
    const rate = achievedRate([made], ramps);
    const truth = trueRate(accepted, rampSeconds);
    return [
      exactly(
        `${what}: connections`,
        accepted.flat().length,
        made.openings.counts.reduce((sum, count) => sum + count, 0),
      ),
      near(`${what}: rate`, '1/s', truth, known(rate?.perSec), { share: RATE_SHARE }),
      atMost(`${what}: rate, the configured one`, '1/s', ratePerSec, known(rate?.perSec)),
    ];
  });
}

async function stop(pid: number, afterMs: number, forMs: number): Promise<void> {
  await delay(afterMs);
  process.kill(pid, 'SIGSTOP');
  try {
    await delay(forMs);
  } finally {
    process.kill(pid, 'SIGCONT');
  }
}

function trueRate(accepted: number[][], rampSeconds: number): number {
  const seconds = accepted.map((atUs) => {
    const spanSeconds = (Math.max(...atUs) - Math.min(...atUs)) / 1e6;
    return Math.max(rampSeconds, (spanSeconds * atUs.length) / (atUs.length - 1));
  });
  return accepted.flat().length / seconds.reduce((sum, one) => sum + one, 0);
}
