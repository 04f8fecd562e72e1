/** What a fleet process does to bring a connection back, and how it counts. The clients do nothing. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { column } from '../../helpers/columns.ts';
import { IdleProcess } from '../../helpers/idle-process.ts';
import { VirtualTime } from '../../helpers/virtual-time.ts';

class Bench extends IdleProcess {
  readonly time: VirtualTime;

  constructor(t: TestContext) {
    const time = new VirtualTime(t);
    super(t, { reconnection: { attempts: 3, delayMs: 1000, maxDelayMs: 2000, jitter: 0 } });
    this.time = time;
  }

  /** Opened, with a session that can be restored, and joined in the namespaces. */
  start(namespaces: string[], joined: string[] = []): void {
    this.open(1, ...namespaces);
    for (const namespace of joined) this.run({ op: 'emit', id: 1, namespace, event: 'join_room', args: ['a'] });
    this.client.sessions = namespaces.map((namespace) => ({ namespace, pid: 'p', offset: 'o' }));
  }

  fail(): void {
    this.state.reports.onFailed(this.client, { cause: 'ECONNREFUSED', message: 'no' });
  }

  counts() {
    const { awayUs: _, ...counts } = this.state.held.returns.snapshot();
    const { dropped, returned, gaveUp, left, away } = counts;
    assert.equal(dropped, returned + gaveUp + left + away);
    return counts;
  }
}

test('attempts follow each other with growing delays, and the last failure ends them', async (t) => {
  const bench = new Bench(t);
  bench.start(['/']);
  bench.drop();
  assert.deepEqual(bench.news('closed'), [{ op: 'closed', id: 1, reason: 'transport close', returns: true }]);
  for (const [afterMs, made] of [
    [990, 1],
    [30, 2],
  ] as const) {
    await bench.time.pass(afterMs);
    assert.equal(bench.clients.length, made);
  }
  bench.fail();
  await bench.time.pass(2020);
  bench.fail();
  await bench.time.pass(2020);
  assert.equal(bench.clients.length, 4);
  bench.fail();
  assert.deepEqual(bench.news('returned'), [
    { op: 'returned', id: 1, namespace: undefined, lostBy: 'transport close', retries: 2 },
  ]);
  await bench.time.pass(60_000);
  assert.equal(bench.clients.length, 4);
  assert.deepEqual(bench.counts(), { dropped: 1, returned: 0, recovered: 0, gaveUp: 1, left: 0, away: 0, retries: 2 });
  bench.run({ op: 'close', id: 1, requestId: 9 });
  bench.leave();
  assert.deepEqual(bench.news('left'), [{ op: 'left', requestId: 9 }]);
});

test('a restored session keeps its place in the ledger; any other joins again, as a new connection', async (t) => {
  for (const isRecovered of [true, false]) {
    const bench = new Bench(t);
    bench.start(['/'], ['/']);
    bench.state.reports.onAck(bench.client, '/', 2 ** 40, [{ room: 'a', worker: 'w0' }]);
    bench.drop();
    assert.deepEqual([bench.state.acknowledgements.joined, bench.state.held.returns.away], [0, 1]);
    await bench.time.pass(1020);
    assert.equal(bench.client.slot, 0, 'what comes before the answer belongs to the session');
    bench.accept('/', true, { isRecovered });
    assert.deepEqual(
      [bench.client.slot, bench.client.sent],
      isRecovered ? [0, []] : [1, [['/', 'join_room', 2 ** 40 + 1]]],
    );
    assert.equal(bench.state.acknowledgements.joined, isRecovered ? 1 : 0, 'until the answer to the join');
    assert.deepEqual(bench.news('returned'), [
      { op: 'returned', id: 1, namespace: '/', lostBy: undefined, retries: 0 },
    ]);
    const recovered = Number(isRecovered);
    assert.deepEqual(bench.counts(), { dropped: 1, returned: 1, recovered, gaveUp: 0, left: 0, away: 0, retries: 0 });
    t.mock.timers.reset();
    t.mock.restoreAll();
  }
});

test('the worker of a restored session is known where session ids have named the same worker as joins', async (t) => {
  for (const [joined, worker] of [
    ['w0', 'w1'],
    ['chat', ''],
  ] as const) {
    const bench = new Bench(t);
    bench.start(['/'], ['/']);
    bench.state.reports.onAck(bench.client, '/', 2 ** 40, [{ room: 'a', worker: joined }]);
    bench.drop();
    await bench.time.pass(1020);
    bench.accept('/', true, { worker: 'w1', isRecovered: true });
    const { members } = bench.state.ledger;
    assert.deepEqual([members.workerAt(0, 0), members.workerAt(0, Number.MAX_SAFE_INTEGER)], [joined, worker]);
    t.mock.timers.reset();
    t.mock.restoreAll();
  }
});

test('what counts is the session of the namespace that has joined', async (t) => {
  const bench = new Bench(t);
  bench.start(['/', '/chat'], ['/chat']);
  bench.drop();
  await bench.time.pass(1020);
  assert.deepEqual(bench.client.asked, ['/', '/chat']);
  // Of a namespace without events there is no offset, so its session is never restored.
  bench.accept('/', true);
  bench.accept('/chat', false, { isRecovered: true });
  assert.deepEqual([bench.client.slot, bench.client.sent, bench.counts().recovered], [0, [], 1]);
});

test('one that the server sent away, in whole or a namespace of it, does not come back', async (t) => {
  const bench = new Bench(t);
  bench.start(['/', '/chat']);
  bench.state.reports.onClosed(bench.client, 'io server disconnect', '/chat');
  bench.drop();
  await bench.time.pass(1020);
  assert.deepEqual(bench.client.asked, ['/']);
  bench.accept('/', true);
  bench.news();
  bench.state.reports.onClosed(bench.client, 'io server disconnect', undefined);
  assert.deepEqual(bench.news('closed'), [{ op: 'closed', id: 1, reason: 'io server disconnect' }]);
  await bench.time.pass(60_000);
  assert.deepEqual([bench.clients.length, bench.counts().dropped], [2, 1]);
});

test('can be closed while it is away or on its way back, and can open a namespace with its return', async (t) => {
  const bench = new Bench(t);
  bench.start(['/']);
  bench.drop();
  bench.run({ op: 'open', id: 1, requestId: 5, namespace: '/new' });
  assert.equal(bench.clients.length, 1);
  await bench.time.pass(1020);
  assert.deepEqual(bench.client.asked, ['/', '/new']);
  bench.accept('/', true, { isRecovered: true });
  bench.accept('/new', false);
  assert.deepEqual(column(bench.news('returned', 'opened'), 'op'), ['opened', 'returned', 'opened']);
  bench.drop();
  await bench.time.pass(1020);
  assert.deepEqual(bench.client.asked, ['/', '/new'], 'from now on it comes back, too');
  bench.run({ op: 'close', id: 1, requestId: 6 });
  bench.leave();
  assert.deepEqual(bench.news('left'), [{ op: 'left', requestId: 6 }]);
  assert.deepEqual([bench.counts().left, bench.state.counts.connecting], [1, 0]);
  await bench.time.pass(60_000);
  assert.equal(bench.clients.length, 3);
});
