/** The clients' sockets as the kernel lists them while a fault drops some: an observer that has nothing of the product. */
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { execa } from 'execa';
import type { Result } from '../../protocol/result/result.ts';

interface Look {
  atMs: number;
  /** Sockets of the process that holds most of them: the generator's, without the run's own clients. */
  open: number;
}

/** Looks all the time, until the test ends. Needs `ss`. */
export function observeSockets(t: TestContext, port: string): Look[] {
  const looks: Look[] = [];
  const ended = new AbortController();
  t.after(() => ended.abort());
  const watch = async () => {
    while (!ended.signal.aborted) {
      const { stdout } = await execa('ss', ['-tnpHO', 'state', 'established', `dport = :${port}`], { reject: false });
      const atMs = performance.now();
      const pids = stdout.split('\n').flatMap((line) => /pid=(\d+)/.exec(line)?.[1] ?? []);
      const counts = [...Map.groupBy(pids, (pid) => pid).values()].map(({ length }) => length);
      looks.push({ atMs, open: Math.max(0, ...counts) });
      await delay(20);
    }
  };
  void watch();
  return looks;
}

/** From the drop until all of them were there again, each between two looks. */
export function assertAsObserved(looks: Look[], { connections, dropped, backMs }: NonNullable<Result['fault']>): void {
  const dropsAt = looks.findIndex(
    ({ open }, index) => (looks[index - 1]?.open ?? 0) === connections && open < connections,
  );
  const backAt = looks.findIndex(({ open }, index) => index > dropsAt && open === connections);
  const [before, first, away, back] = [dropsAt - 1, dropsAt, backAt - 1, backAt].map((index) => looks[index]);
  assert.ok(before && first && away && back && backMs.all !== null, JSON.stringify(looks.map(({ open }) => open)));
  assert.equal(Math.min(...looks.slice(dropsAt, backAt).map(({ open }) => open)), connections - dropped);
  // A socket is open before its namespace is accepted; and PM2 needs some time to kill.
  const [least, most] = [away.atMs - first.atMs - 100, back.atMs - before.atMs + 1000];
  assert.ok(backMs.all >= least && backMs.all <= most, `${backMs.all} ms, observed from ${least} to ${most}`);
}
