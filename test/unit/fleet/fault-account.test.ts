import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FaultAccount } from '../../../plugin/fleet/process/connections/fault-account.ts';
import { monotonicUs } from '../../../protocol/base/clock/clock.ts';
import { sumDeep } from '../../../protocol/link/add-up.ts';
import { assertEach } from '../../helpers/columns.ts';

interface Affected {
  id: number;
  open: boolean;
  away: object | undefined;
}

class Bench {
  readonly table = new Map<number, Affected>();
  readonly returns = { counts: { recovered: 2 } };
  readonly account: FaultAccount;

  constructor(connections: number) {
    for (let id = 0; id < connections; id++) this.open(id);
    const { table, returns } = this;
    this.account = new FaultAccount(monotonicUs(), table.values(), {
      connections: { find: (id) => table.get(id) },
      returns,
    });
  }

  open(id: number): void {
    this.table.set(id, { id, open: true, away: undefined });
  }

  set(id: number, changes: Partial<Affected>): void {
    Object.assign(this.table.get(id) as Affected, changes);
  }

  drop(id: number, willReturn = true): void {
    this.set(id, { open: false, ...(willReturn && { away: {} }) });
    this.account.dropped(id, 'transport close', willReturn);
  }

  comeBack(id: number): void {
    this.account.attempted(id);
    this.set(id, { open: true, away: undefined });
    this.account.returned(id);
  }
}

test('each connection has one outcome of a planned fault, however often it drops', () => {
  const bench = new Bench(8);
  for (const id of [0, 1, 2, 3, 4, 5]) bench.drop(id);
  for (const id of [0, 1]) bench.comeBack(id);
  bench.account.failed(2, 'http_502');
  bench.drop(0);
  bench.comeBack(0);
  bench.set(3, { away: undefined });
  bench.drop(6, false);
  bench.table.delete(5);
  bench.returns.counts.recovered = 3;
  const { drops, attempts, returns, ...counts } = bench.account.read();
  const notReconnectedCounts = { 'still away': 2, 'gave up': 1, 'io client disconnect': 1, 'transport close': 1 };
  const fates = {
    connections: 8,
    stayed: 1,
    dropped: 7,
    reconnected: 2,
    recovered: 1,
    notReconnected: notReconnectedCounts,
  };
  assert.partialDeepStrictEqual(counts, { ...fates, failedAttempts: { http_502: 1 } });
  const total = ({ counts }: typeof drops) => counts.reduce((sum, count) => sum + count, 0);
  assertEach([drops, attempts, returns], total, [8, 3, 3]);
});

test('the counts of a fault exclude events after its end, and events of other connections', () => {
  const bench = new Bench(2);
  bench.open(9);
  for (const id of [9, 0]) {
    bench.drop(id);
    bench.comeBack(id);
  }
  bench.account.end();
  bench.drop(1);
  assert.partialDeepStrictEqual(bench.account.read(), { dropped: 1, stayed: 1, reconnected: 1 });
});

test('adds up the fault counts of several processes', () => {
  const [one, other] = [new Bench(3), new Bench(2)];
  one.drop(0);
  one.comeBack(0);
  other.drop(1);
  const all = sumDeep([one.account.read(), other.account.read()]);
  const fates = { connections: 5, stayed: 3, dropped: 2, reconnected: 1, notReconnected: { 'still away': 1 } };
  assert.partialDeepStrictEqual(all, fates);
});
