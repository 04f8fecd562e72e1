import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Account, Accounts } from '../../../plugin/fleet/accounts.ts';

const fresh = (): Account => ({ state: 'idle', cause: '' });

function sum(counts: Record<string, number>): number {
  return Object.values(counts).reduce((total, count) => total + count, 0);
}

test('a connection is in one state at a time, whatever is reported of it in whatever order', () => {
  const accounts = new Accounts();
  const all = Array.from({ length: 40 }, fresh);
  const calls = [
    (one: Account) => accounts.begin(one),
    (one: Account) => accounts.opened(one),
    (one: Account) => accounts.failed(one, 'ECONNREFUSED'),
    (one: Account) => accounts.ended(one, 'transport close'),
    (one: Account) => accounts.ended(one, 'io client disconnect'),
    (one: Account) => accounts.returned(one),
  ];
  for (const account of all) accounts.begin(account);
  // Every sequence of three reports, and some more of a simple generator.
  let seed = 1;
  for (let step = 0; step < 2000; step++) {
    seed = (seed * 48_271) % 2_147_483_647;
    calls[seed % calls.length]?.(all[(seed >> 4) % all.length] as Account);
    const { asked, pending, alive, failed, ended, returned } = accounts.read().accounts;
    assert.equal(asked, all.length);
    assert.equal(asked, pending + alive + sum(failed) + sum(ended));
    assert.equal(sum(accounts.read().disconnects), sum(ended) + returned);
  }
});

test('follows a connection that is tried again, lost, restored and closed', () => {
  const accounts = new Accounts();
  const account = fresh();
  const read = () => accounts.read().accounts;
  accounts.begin(account);
  assert.deepEqual(read(), { asked: 1, pending: 1, alive: 0, failed: {}, ended: {}, returned: 0 });
  accounts.failed(account, 'EMFILE');
  assert.deepEqual(read(), { asked: 1, pending: 0, alive: 0, failed: { EMFILE: 1 }, ended: {}, returned: 0 });
  accounts.begin(account);
  accounts.opened(account);
  assert.deepEqual(read(), { asked: 1, pending: 0, alive: 1, failed: {}, ended: {}, returned: 0 });
  accounts.ended(account, 'transport close');
  assert.deepEqual([read().ended, read().returned], [{ 'transport close': 1 }, 0]);
  accounts.returned(account);
  accounts.returned(account);
  assert.deepEqual([read().alive, read().ended, read().returned], [1, {}, 1]);
  accounts.ended(account, 'io client disconnect');
  const ended = { 'io client disconnect': 1 };
  assert.deepEqual(read(), { asked: 1, pending: 0, alive: 0, failed: {}, ended, returned: 1 });
});

test('a connection that is back and opens another namespace has returned once, whichever is reported first', () => {
  const accounts = new Accounts();
  const account = fresh();
  accounts.begin(account);
  accounts.opened(account);
  accounts.ended(account, 'transport close');
  accounts.opened(account);
  accounts.returned(account);
  const { alive, ended, returned } = accounts.read().accounts;
  assert.deepEqual([alive, ended, returned], [1, {}, 1]);
});

test('one that is closed before it opens has failed; one that never began was not asked for', () => {
  const accounts = new Accounts();
  const [begun, never] = [fresh(), fresh()];
  accounts.begin(begun);
  accounts.ended(begun, 'io client disconnect');
  assert.equal(accounts.read().accounts.pending, 1, 'until its opening is answered');
  accounts.failed(begun, 'closed');
  accounts.ended(never, 'closed');
  const failed = { closed: 1 };
  assert.deepEqual(accounts.read().accounts, { asked: 1, pending: 0, alive: 0, failed, ended: {}, returned: 0 });
});
