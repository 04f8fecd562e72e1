/** A worker is killed while 60 connections are held, and broadcasts go on: everything foots, and the verdict knows what was planned. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { it, type TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { execa } from 'execa';
import { freePorts } from '../../server/stack/ports.ts';
import { findTool } from '../../server/stack/tools.ts';
import { goodResult, quickScript, startRun, strays } from '../helpers/run.ts';

const CONNECTIONS = 60;

it('a planned crash of a worker has its cost in the result, and no doubt in the verdict', async (t) => {
  const [port] = await freePorts(1);
  const ramp = [{ duration: 2, arrivalRate: CONNECTIONS / 2, rampTo: CONNECTIONS / 2 }, { pause: 2 }];
  const options = {
    workers: 2,
    broadcasts: { count: 30, interval: 0.2 },
    fault: { kind: 'kill-worker', at: 1.1 },
    drain: { quiet: 0.3, deadline: 3 },
  };
  const script = quickScript({ target: `http://127.0.0.1:${port}`, phases: ramp }, options, {
    reconnection: { delay: 0.5, maxDelay: 1 },
  });
  const run = startRun(t, { script });
  const observed = findTool('ss') ? observe(t, port as number) : [];
  const { fault, connections, delivery } = await goodResult(run);
  assert.ok(fault && delivery, run.output());
  assert.deepEqual([fault.kind, fault.replaced, fault.connections], ['kill-worker', ['w0'], CONNECTIONS]);
  // nginx has spread them over both workers; those of the other one notice nothing.
  assert.deepEqual([fault.stayed, fault.dropped, fault.back, fault.notBack], [30, 30, 30, {}]);
  assert.deepEqual([fault.drops, fault.returns], [30, 30]);
  assert.equal(connections.held, CONNECTIONS);
  const { p50, all } = fault.backMs;
  // Not before the first attempt, of which a half is random.
  assert.ok(p50 !== null && all !== null && p50 >= 250 && p50 <= all && all < 5000, JSON.stringify(fault.backMs));
  if (observed.length > 0) assertAsObserved(observed, all, fault.dropped);
  assert.equal(Math.min(...fault.curve.map(({ connected }) => connected)), CONNECTIONS - 30);
  assert.equal(fault.curve.at(-1)?.connected, CONNECTIONS);
  assert.equal(fault.perWorker.before.w0, 30);
  // The broadcasts while they were away: whoever was no member then missed it.
  const { broadcasts } = fault;
  assert.ok(broadcasts && broadcasts.sent > 0);
  assert.equal(broadcasts.due, broadcasts.received + broadcasts.missed);
  assert.ok(broadcasts.missed >= 30 && broadcasts.missed <= 30 * (broadcasts.sent + 1), JSON.stringify(broadcasts));
  assert.equal(delivery.batches.at(-1)?.received, CONNECTIONS);
  assert.match(run.output(), /a worker killed: 30 of 60 connections dropped, all back after/);
  assert.match(readFileSync(join(run.directory, 'results/latest/report.html'), 'utf8'), /Connections after the fault/);
  assert.deepEqual(strays(run), []);
});

interface Observed {
  atMs: number;
  /** Sockets of the process that holds most of them: the generator's, without the run's own clients. */
  open: number;
}

/** Counts the clients' sockets as the kernel lists them, until the test ends. */
function observe(t: TestContext, port: number): Observed[] {
  const found: Observed[] = [];
  const ended = new AbortController();
  t.after(() => ended.abort());
  const watch = async () => {
    while (!ended.signal.aborted) {
      const { stdout } = await execa('ss', ['-tnpHO', 'state', 'established', `dport = :${port}`], { reject: false });
      const atMs = performance.now();
      const pids = stdout.split('\n').flatMap((line) => /pid=(\d+)/.exec(line)?.[1] ?? []);
      const counts = [...Map.groupBy(pids, (pid) => pid).values()].map(({ length }) => length);
      found.push({ atMs, open: Math.max(0, ...counts) });
      await delay(20);
    }
  };
  void watch();
  return found;
}

/** From the drop until all of them were there again, each between two looks. */
function assertAsObserved(observed: Observed[], allMs: number, dropped: number): void {
  const dropsAt = observed.findIndex(
    ({ open }, index) => (observed[index - 1]?.open ?? 0) === CONNECTIONS && open < CONNECTIONS,
  );
  const backAt = observed.findIndex(({ open }, index) => index > dropsAt && open === CONNECTIONS);
  const [before, first, away, back] = [dropsAt - 1, dropsAt, backAt - 1, backAt].map((index) => observed[index]);
  assert.ok(before && first && away && back, JSON.stringify(observed.map(({ open }) => open)));
  assert.equal(Math.min(...observed.slice(dropsAt, backAt).map(({ open }) => open)), CONNECTIONS - dropped);
  // A socket is open before its namespace is accepted; and PM2 needs some time to kill.
  const [least, most] = [away.atMs - first.atMs - 100, back.atMs - before.atMs + 1000];
  assert.ok(allMs >= least && allMs <= most, `${allMs} ms, observed from ${least} to ${most}`);
}
