import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Account, Accounts } from '../../../plugin/fleet/accounts.ts';
import { decodeHistogram } from '../../../protocol/base/histogram.ts';
import { VirtualTime } from '../../helpers/virtual-time.ts';

const REPORTS = {
  begin: (accounts: Accounts, one: Account) => accounts.begin(one),
  opened: (accounts: Accounts, one: Account) => accounts.opened(one),
  failed: (accounts: Accounts, one: Account) => accounts.failed(one, 'EMFILE'),
  dropped: (accounts: Accounts, one: Account) => accounts.ended(one, 'dropped'),
  closed: (accounts: Accounts, one: Account) => accounts.ended(one, 'closed'),
  returned: (accounts: Accounts, one: Account) => accounts.returned(one),
};

const sum = (counts: Record<string, number>) => Object.values(counts).reduce((total, count) => total + count, 0);

test('a connection is in one state at a time, whatever is reported of it in whatever order', () => {
  const accounts = new Accounts();
  const all = Array.from({ length: 40 }, (): Account => ({ state: 'idle', cause: '', sinceMs: 0 }));
  const calls = Object.values(REPORTS);
  for (const account of all) accounts.begin(account);
  let seed = 1;
  for (let step = 0; step < 2000; step++) {
    seed = (seed * 48_271) % 2_147_483_647;
    calls[seed % calls.length]?.(accounts, all[(seed >> 4) % all.length] as Account);
    const { asked, pending, alive, failed, ended, returned } = accounts.read().accounts;
    assert.equal(asked, all.length);
    assert.equal(asked, pending + alive + sum(failed) + sum(ended));
    assert.equal(sum(accounts.read().disconnects), sum(ended) + returned);
  }
});

test('the age of what others ended is kept, since it came or came back', (t) => {
  const time = new VirtualTime(t);
  const accounts = new Accounts();
  const [lost, back, left] = [0, 1, 2].map((): Account => ({ state: 'idle', cause: '', sinceMs: 0 })) as [
    Account,
    Account,
    Account,
  ];
  for (const one of [lost, back, left]) {
    accounts.begin(one);
    accounts.opened(one);
  }
  time.jump(5000);
  for (const one of [lost, back]) accounts.ended(one, 'transport close');
  time.jump(1000);
  accounts.returned(back);
  time.jump(300);
  accounts.ended(back, 'transport close');
  accounts.ended(left, 'io client disconnect');
  const ages = decodeHistogram(accounts.read().lostAgesUs);
  const seconds = [1, 50, 100].map((percentile) => (ages.getValueAtPercentile(percentile) / 1e6).toFixed(1));
  assert.deepEqual([ages.totalCount, ...seconds], [3, '0.3', '5.0', '5.0']);
});

/** Reports of one connection, and what they leave in place of nothing. */
const CASES: [reports: (keyof typeof REPORTS)[], left: object][] = [
  [['begin'], { asked: 1, pending: 1 }],
  [['begin', 'failed'], { asked: 1, failed: { EMFILE: 1 } }],
  [['begin', 'failed', 'begin', 'opened'], { asked: 1, alive: 1 }],
  [['begin', 'opened', 'dropped'], { asked: 1, ended: { dropped: 1 } }],
  [['begin', 'opened', 'dropped', 'returned', 'returned'], { asked: 1, alive: 1, returned: 1 }],
  [['begin', 'opened', 'dropped', 'returned', 'closed'], { asked: 1, ended: { closed: 1 }, returned: 1 }],
  // Back, and with another namespace: it has returned once, whichever is reported first.
  [['begin', 'opened', 'dropped', 'opened', 'returned'], { asked: 1, alive: 1, returned: 1 }],
  // Closed before it opens: pending until its opening is answered.
  [['begin', 'closed'], { asked: 1, pending: 1 }],
  [['begin', 'closed', 'failed'], { asked: 1, failed: { EMFILE: 1 } }],
  [['closed'], {}],
];

for (const [reports, left] of CASES) {
  test(`a connection after ${reports.join(', ')}`, () => {
    const [accounts, one] = [new Accounts(), { state: 'idle', cause: '', sinceMs: 0 } as Account];
    for (const report of reports) REPORTS[report](accounts, one);
    const nothing = { asked: 0, pending: 0, alive: 0, failed: {}, ended: {}, returned: 0 };
    assert.deepEqual(accounts.read().accounts, { ...nothing, ...left });
  });
}

test('openings and ends are changes, attempts and failures are not', () => {
  const [accounts, one] = [new Accounts(), { state: 'idle', cause: '', sinceMs: 0 } as Account];
  const changes = (['begin', 'failed', 'begin', 'opened', 'dropped', 'returned', 'closed'] as const).map((report) => {
    REPORTS[report](accounts, one);
    return accounts.changes;
  });
  assert.deepEqual(changes, [0, 0, 0, 1, 2, 3, 4]);
});
