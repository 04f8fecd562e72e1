/** What a planned fault did to the connections of a fleet process. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Connection, type Home } from '../../../plugin/fleet/process/connections/connection.ts';
import { FaultAccount } from '../../../plugin/fleet/process/connections/fault-account.ts';
import { monotonicUs } from '../../../protocol/clock/clock.ts';
import { addUp } from '../../../protocol/link/add-up.ts';
import type { FaultCounts } from '../../../protocol/link/fault.ts';
import { assertEach } from '../../helpers/columns.ts';

const AWAY = { away: {} } as Home;
const HOME: Home = { namespaces: [], joins: [], away: undefined };

function bench(connections: number) {
  const table = new Map<number, Connection>();
  const open = (id: number) => void table.set(id, Object.assign(new Connection(id, true), { open: true }));
  for (let id = 0; id < connections; id++) open(id);
  const returns = { recovered: 2 };
  const account = new FaultAccount(monotonicUs(), table.values(), { find: (id) => table.get(id), returns });
  const set = (id: number, changes: object) => Object.assign(table.get(id) as Connection, changes);
  return {
    account,
    table,
    returns,
    open,
    drop: (id: number, willReturn = true) => {
      set(id, { open: false, ...(willReturn && { home: AWAY }) });
      account.dropped(id, 'transport close', willReturn);
    },
    giveUp: (id: number) => set(id, { home: HOME }),
    comeBack: (id: number) => {
      account.attempted(id);
      set(id, { open: true, home: HOME });
      account.returned(id);
    },
  };
}

function sums({ connections, stayed, dropped, back, notBack }: FaultCounts): void {
  assert.equal(connections, stayed + dropped);
  assert.equal(dropped, back + Object.values(notBack).reduce((sum, count) => sum + count, 0));
}

test('each connection has one fate, however often it drops', () => {
  const { account, table, returns, drop, comeBack, giveUp } = bench(8);
  for (const id of [0, 1, 2, 3, 4, 5]) drop(id);
  for (const id of [0, 1]) comeBack(id);
  account.failed(2, 'http_502');
  drop(0);
  comeBack(0);
  giveUp(3);
  drop(6, false);
  table.delete(5);
  returns.recovered = 3;
  const counts = account.read();
  sums(counts);
  const { connections, stayed, dropped, back, notBack, recovered, failedAttempts } = counts;
  assert.deepEqual(
    { connections, stayed, dropped, back, recovered },
    { connections: 8, stayed: 1, dropped: 7, back: 2, recovered: 1 },
  );
  assert.deepEqual(notBack, { 'still away': 2, 'gave up': 1, 'io client disconnect': 1, 'transport close': 1 });
  assert.deepEqual(failedAttempts, { http_502: 1 });
  const total = (counts: number[]) => counts.reduce((sum, count) => sum + count, 0);
  assertEach([counts.drops, counts.attempts, counts.returns], (one) => total(one.counts), [8, 3, 3]);
});

test('what happens after its end, or to others, is no consequence', () => {
  const { account, open, drop, comeBack } = bench(2);
  open(9);
  drop(9);
  comeBack(9);
  drop(0);
  comeBack(0);
  account.end();
  drop(1);
  const { dropped, stayed, back } = account.read();
  assert.deepEqual({ dropped, stayed, back }, { dropped: 1, stayed: 1, back: 1 });
});

test('the counts of processes add up', () => {
  const [one, other] = [bench(3), bench(2)];
  one.drop(0);
  one.comeBack(0);
  other.drop(1);
  const all = addUp([one.account.read(), other.account.read()]);
  sums(all);
  assert.deepEqual(
    [all.connections, all.stayed, all.dropped, all.back, all.notBack],
    [5, 3, 2, 1, { 'still away': 1 }],
  );
});
