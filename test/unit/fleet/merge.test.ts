import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ProcessSnapshot } from '../../../plugin/fleet/fleet-messages.ts';
import { mergeSnapshots } from '../../../plugin/fleet/merge.ts';
import { column } from '../../helpers/columns.ts';

/** Returns the snapshot of a process that holds this many connections and copies of unfinalized broadcasts. */
function open(copies: number): ProcessSnapshot {
  const { processes: _, receipts, ...none } = mergeSnapshots([]);
  const eventLoop = { utilization: 0, delayP50Ms: 0, delayP99Ms: 0, delayMaxMs: 0, cpuWaitShare: null };
  return { ...none, eventLoop, connected: copies, receipts: { ...receipts, received: copies, open: copies } };
}

test('copies in unfinished ledger rows of a dead fleet process count as received, but not as open', () => {
  const dead = { index: 0, pid: 1, alive: false, answers: false, snapshot: open(750) };
  const living = { index: 1, pid: 2, alive: true, answers: true, snapshot: open(2) };
  const { receipts, connected, processes } = mergeSnapshots([dead, living]);
  assert.deepEqual([receipts.received, receipts.open, connected], [752, 2, 2]);
  assert.deepEqual(column(processes, 'connections'), [750, 2]);
});
