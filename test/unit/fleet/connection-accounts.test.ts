import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ConnectionAccount, ConnectionAccounts } from '../../../plugin/fleet/connection-accounts.ts';

const REPORTS = {
  begin: (accounts: ConnectionAccounts, one: ConnectionAccount) => accounts.begin(one),
  opened: (accounts: ConnectionAccounts, one: ConnectionAccount) => accounts.opened(one),
  failed: (accounts: ConnectionAccounts, one: ConnectionAccount) => accounts.failed(one, 'EMFILE'),
  dropped: (accounts: ConnectionAccounts, one: ConnectionAccount) => accounts.ended(one, 'dropped'),
  closed: (accounts: ConnectionAccounts, one: ConnectionAccount) => accounts.ended(one, 'closed'),
  returned: (accounts: ConnectionAccounts, one: ConnectionAccount) => accounts.returned(one),
};

const sum = (counts: Record<string, number>) => Object.values(counts).reduce((total, count) => total + count, 0);

test('each connection is counted in exactly one state, after any reports in any order', () => {
  const accounts = new ConnectionAccounts();
  const all = Array.from({ length: 40 }, (): ConnectionAccount => ({ state: 'idle', cause: '' }));
  const calls = Object.values(REPORTS);
  for (const account of all) accounts.begin(account);
  let seed = 1;
  for (let step = 0; step < 2000; step++) {
    seed = (seed * 48_271) % 2_147_483_647;
    calls[seed % calls.length]?.(accounts, all[(seed >> 4) % all.length] as ConnectionAccount);
    const { asked, pending, alive, failed, ended, returned } = accounts.read().accounts;
    assert.equal(asked, all.length);
    assert.equal(asked, pending + alive + sum(failed) + sum(ended));
    assert.equal(sum(accounts.read().disconnects), sum(ended) + returned);
  }
});

test('the peak is the highest number of connections that were alive at the same time', () => {
  const accounts = new ConnectionAccounts();
  const [first, second, third] = [0, 1, 2].map((): ConnectionAccount => ({ state: 'idle', cause: '' })) as [
    ...[ConnectionAccount, ConnectionAccount, ConnectionAccount],
  ];
  for (const one of [first, second, third]) accounts.begin(one);
  accounts.opened(first);
  accounts.opened(second);
  accounts.ended(first, 'transport close');
  accounts.opened(third);
  for (const one of [second, third]) accounts.ended(one, 'io client disconnect');
  const { alive, peak } = accounts.read().accounts;
  assert.deepEqual([alive, peak], [0, 2]);
});

/** Reports of a connection, and its expected counts. */
const CASES: [reports: (keyof typeof REPORTS)[], left: object][] = [
  [['begin'], { asked: 1, pending: 1 }],
  [['begin', 'failed'], { asked: 1, failed: { EMFILE: 1 } }],
  [['begin', 'failed', 'begin', 'opened'], { asked: 1, alive: 1 }],
  [['begin', 'opened', 'dropped'], { asked: 1, ended: { dropped: 1 } }],
  [['begin', 'opened', 'dropped', 'returned', 'returned'], { asked: 1, alive: 1, returned: 1 }],
  [['begin', 'opened', 'dropped', 'returned', 'closed'], { asked: 1, ended: { closed: 1 }, returned: 1 }],
  // A reconnect and another namespace count as one return, in either order.
  [['begin', 'opened', 'dropped', 'opened', 'returned'], { asked: 1, alive: 1, returned: 1 }],
  // A connection that is closed before it opens is pending until the attempt ends.
  [['begin', 'closed'], { asked: 1, pending: 1 }],
  [['begin', 'closed', 'failed'], { asked: 1, failed: { EMFILE: 1 } }],
  [['closed'], {}],
];

for (const [reports, left] of CASES) {
  test(`counts a connection in one state after ${reports.join(', ')}`, () => {
    const [accounts, one] = [new ConnectionAccounts(), { state: 'idle', cause: '' } as ConnectionAccount];
    for (const report of reports) REPORTS[report](accounts, one);
    const peak = reports.includes('opened') ? 1 : 0;
    const nothing = { asked: 0, pending: 0, alive: 0, peak, failed: {}, ended: {}, returned: 0 };
    assert.deepEqual(accounts.read().accounts, { ...nothing, ...left });
  });
}

test('the fleet counts openings and closes as changes of connections, but not attempts and failures', () => {
  const [accounts, one] = [new ConnectionAccounts(), { state: 'idle', cause: '' } as ConnectionAccount];
  const changes = (['begin', 'failed', 'begin', 'opened', 'dropped', 'returned', 'closed'] as const).map((report) => {
    REPORTS[report](accounts, one);
    return accounts.changes;
  });
  assert.deepEqual(changes, [0, 0, 0, 1, 2, 3, 4]);
});
