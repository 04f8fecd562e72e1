import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { mergeCpuWindows } from '../../../plugin/result/cpu/assemble-cpu.ts';
import type { CpuWindow } from '../../../plugin/run/measurements/measured-windows.ts';
import { cpuLines } from '../../../report/answer/cpu-line.ts';
import { parts, ramp, type Windows, window, workerOf } from '../../helpers/cpu-windows.ts';
import { perfectResult } from '../../helpers/results.ts';

/** CPU windows: none before the first connection, and a tenth of a core in the hold. */
const STEADY = { unloaded: parts(0, ...Array<number>(10).fill(0)), idle: parts(0, ...Array<number>(10).fill(100_000)) };

/** A simulated application. CPU times are in milliseconds. */
interface App {
  connectMs: number;
  /** CPU of each idle connection per second. */
  heldMs?: number;
  /** Timer that blocks for `ms` every `everyMs`. `phase` is its offset as a share of the period. */
  timer?: { ms: number; everyMs: number; phase: number };
  /** Share of the connections that stay open. */
  keeps?: number;
  failed?: number;
  holdSeconds?: number;
  rampSeconds?: number;
}

/** Returns CPU readings: before the first connection, in two ramps of ten connects per second, and in the hold. */
function runOf({
  connectMs,
  heldMs = 0,
  timer,
  keeps = 1,
  failed = 0,
  holdSeconds = 10,
  rampSeconds = 3,
}: App): Windows {
  const timerMs = (untilMs: number) => {
    if (!timer) return 0;
    const sinceMs = untilMs + timer.phase * timer.everyMs;
    return Math.floor(sinceMs / timer.everyMs) * timer.ms + Math.min(timer.ms, sinceMs % timer.everyMs);
  };
  let [atMs, held, usedMs, readUs] = [0, 0, 0, 1000 * timerMs(0)];
  const pass = (seconds: number, connects: number) => {
    const joined = connects * keeps;
    const mean = held + joined / 2;
    atMs += seconds * 1000;
    held += joined;
    usedMs += connects * connectMs + mean * heldMs * seconds;
    const before = readUs;
    // The kernel counts CPU time in ticks of 10 ms.
    readUs = Math.floor((usedMs + timerMs(atMs)) / 10) * 10_000;
    return window(seconds, connects, readUs - before, mean);
  };
  const idle = (seconds: number) => Array.from({ length: 10 }, () => pass(seconds / 10, 0));
  const climb = () => {
    const parts = Array.from({ length: rampSeconds }, () => pass(1, 10));
    pass(3, 0);
    return { ...(mergeCpuWindows(parts) as CpuWindow), parts, failedAttempts: failed / 2 };
  };
  return { unloaded: idle(holdSeconds / 5), ramps: [climb(), climb()], idle: idle(holdSeconds) };
}

describe('the interval of CPU per connect', () => {
  const timers = [0, 0.3, 0.7].map((phase) => ({ ms: 30, everyMs: 100, phase }));
  const blocks = [0, 0.2, 0.4, 0.6, 0.8].map((phase) => ({ ms: 1500, everyMs: 5000, phase }));
  const APPS: [what: string, app: App, isKnown?: boolean][] = [
    ['an application without timers', { connectMs: 1.5 }, true],
    ['idle connections that use CPU', { connectMs: 20, heldMs: 1 }, true],
    ['an application that keeps one connection in sixty', { connectMs: 15, keeps: 1 / 60 }, true],
    ['an application that keeps no connection', { connectMs: 15, keeps: 0 }, true],
    ...timers.map((timer): [string, App] => [`a timer at ${timer.phase} of its period`, { connectMs: 1.5, timer }]),
    ...blocks.flatMap((timer): [string, App, boolean][] => [
      [`a timer that blocks, at ${timer.phase} of its period`, { connectMs: 1.5, timer, holdSeconds: 2 }, false],
      ['a timer that blocks in long ramps', { connectMs: 1.5, timer, holdSeconds: 2, rampSeconds: 40 }, false],
    ]),
    ['an equal number of failed attempts and connects', { connectMs: 15, failed: 60 }, false],
  ];
  for (const [what, app, isKnown] of APPS) {
    it(`the interval of CPU per connect contains the true value with ${what}`, () => {
      const { rampSecondsPerThousandConnects: found, intervals } = workerOf(runOf(app));
      const { low95, high95 } = intervals?.rampSecondsPerThousandConnects ?? {};
      assert.ok(low95 !== undefined && high95 !== undefined, 'an interval');
      assert.ok(low95 <= app.connectMs && app.connectMs <= high95, `${low95} to ${high95}`);
      if (isKnown !== undefined) assert.equal(found !== null, isKnown, `${found}, ${low95} to ${high95}`);
    });
  }

  it('the lower bound of CPU per connect falls with failed attempts, which use CPU as well', () => {
    const interval = (failed: number) =>
      workerOf({ ...STEADY, ramps: [ramp(125_000, 0, failed)] }).intervals?.rampSecondsPerThousandConnects;
    assert.equal(interval(40)?.high95, interval(0)?.high95);
    assert.ok((interval(40)?.low95 ?? 1) < (interval(0)?.low95 ?? 0) - 0.01);
  });

  it('the interval of CPU per connect never exceeds the CPU used in the ramp', () => {
    for (const timer of blocks) {
      const run = runOf({ connectMs: 1.5, timer, holdSeconds: 2 });
      const usedMs =
        run.ramps?.reduce(
          (sum, { parts }) => sum + parts.reduce((all, { cpuUs }) => all + (cpuUs.worker ?? 0), 0),
          0,
        ) ?? 0;
      const { high95 = 0 } = workerOf(run).intervals?.rampSecondsPerThousandConnects ?? {};
      assert.ok(high95 <= (usedMs / 1000 + 20) / 60, `${high95}`);
    }
  });

  it('prints CPU per connect with a wide margin, and with the number of connects that would narrow it', () => {
    const lineOf = (high95: number, failed = 0) => {
      const result = perfectResult();
      Object.assign(result.connections, { opened: 60, failed });
      const [key, interval] = ['rampSecondsPerThousandConnects', { low95: 4 - high95, high95 }];
      const { worker } = result.cpu;
      Object.assign(worker ?? {}, { [key]: 2, intervals: { ...worker?.intervals, [key]: interval } });
      return cpuLines(result)[0]?.text ?? '';
    };
    assert.match(
      lineOf(3.5),
      /; that of connects is known to ± 75 %: 600 connects in place of 60 would narrow it to ± 25 %$/,
    );
    assert.match(lineOf(3.5, 5), /± 75 %: fewer failed connects would narrow it$/);
    assert.doesNotMatch(lineOf(2.4), /narrow/);
  });

  it('prints CPU per connect as a bound, with the number of connects that would narrow it', () => {
    const result = perfectResult();
    Object.assign(result.cpu.worker ?? {}, workerOf(runOf({ connectMs: 1.5, timer: blocks[0] })));
    assert.match(
      cpuLines(result)[0]?.text ?? '',
      /at most \d+\.\d+ s per 1,000 connects.*a longer `hold`, would narrow it$/,
    );
  });
});
