/** Observes client sockets in the kernel's list while a fault drops some. It uses no product code. */
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { execa } from 'execa';
import type { Result } from '../../protocol/result/result.ts';

interface Observation {
  atMs: number;
  /** Number of sockets of the process with the most sockets. This is the generator without the run's own clients. */
  open: number;
}

/** Observes sockets until the test ends. Needs `ss`. */
export function observeSockets(t: TestContext, port: string): Observation[] {
  const observations: Observation[] = [];
  const ended = new AbortController();
  t.after(() => ended.abort());
  const watch = async () => {
    while (!ended.signal.aborted) {
      const { stdout } = await execa('ss', ['-tnpHO', 'state', 'established', `dport = :${port}`], { reject: false });
      const atMs = performance.now();
      const pids = stdout.split('\n').flatMap((line) => /pid=(\d+)/.exec(line)?.[1] ?? []);
      const counts = [...Map.groupBy(pids, (pid) => pid).values()].map(({ length }) => length);
      observations.push({ atMs, open: Math.max(0, ...counts) });
      await delay(20);
    }
  };
  void watch();
  return observations;
}

/** Asserts the time from the drop until all sockets are open again. Two observations give its bounds. */
export function assertAsObserved(
  observations: Observation[],
  { connections, dropped, reconnectMs }: NonNullable<Result['fault']>,
): void {
  const dropsAt = observations.findIndex(
    ({ open }, index) => (observations[index - 1]?.open ?? 0) === connections && open < connections,
  );
  const backAt = observations.findIndex(({ open }, index) => index > dropsAt && open === connections);
  const [before, first, firstDropped, firstRestored] = [dropsAt - 1, dropsAt, backAt - 1, backAt].map(
    (index) => observations[index],
  );
  assert.ok(
    before && first && firstDropped && firstRestored && reconnectMs.all !== null,
    JSON.stringify(observations.map(({ open }) => open)),
  );
  assert.equal(Math.min(...observations.slice(dropsAt, backAt).map(({ open }) => open)), connections - dropped);
  // Bounds of the time. A socket opens before its namespace is accepted, and PM2 needs time to kill a worker.
  const [minBackMs, maxBackMs] = [firstDropped.atMs - first.atMs - 100, firstRestored.atMs - before.atMs + 1000];
  assert.ok(
    reconnectMs.all >= minBackMs && reconnectMs.all <= maxBackMs,
    `${reconnectMs.all} ms, observed from ${minBackMs} to ${maxBackMs}`,
  );
}
