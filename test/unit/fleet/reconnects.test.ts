import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { column } from '../../helpers/columns.ts';
import { IdleProcess } from '../../helpers/idle-process.ts';
import { VirtualTime } from '../../helpers/virtual-time.ts';

const RETURNED = { op: 'returned', id: 1, lostBy: undefined, retries: 0 };

class Bench extends IdleProcess {
  readonly time: VirtualTime;

  /** Creates an open connection with a session that can be restored. It has joined in some of its namespaces. */
  constructor(t: TestContext, namespaces: string[], joined: string[] = []) {
    const time = new VirtualTime(t);
    super(t, { reconnection: { attempts: 3, delayMs: 1000, maxDelayMs: 2000, jitter: 0 } });
    this.time = time;
    this.open(1, ...namespaces);
    for (const namespace of joined) this.run({ op: 'emit', id: 1, namespace, event: 'join_room', args: ['a'] });
    this.client.sessions = namespaces.map((namespace) => ({ namespace, pid: 'p', offset: 'o' }));
  }

  get slot(): number | undefined {
    return this.state.connections.find(1)?.slot;
  }

  joinedOn(worker: string): void {
    this.client.sink.onAck('/', 2 ** 40, [{ room: 'a', worker }]);
  }

  fail(): void {
    this.client.sink.onFailed({ cause: 'ECONNREFUSED', message: 'no' });
  }

  /** Drops the connection, and starts its first reconnect attempt. */
  async dropAndDial(): Promise<void> {
    this.drop();
    await this.time.pass(1020);
  }

  counts() {
    const { awayUs: _, ...counts } = this.state.returns.snapshot();
    const { dropped, returned, gaveUp, left, away } = counts;
    assert.equal(dropped, returned + gaveUp + left + away);
    return counts;
  }
}

test('reconnect attempts follow each other with growing delays, until the last failure', async (t) => {
  const bench = new Bench(t, ['/']);
  bench.drop();
  assert.deepEqual(bench.news('closed'), [{ op: 'closed', id: 1, reason: 'transport close', returns: true }]);
  await bench.time.pass(990);
  assert.equal(bench.clients.length, 1);
  for (const [afterMs, clients] of [
    [30, 2],
    [2020, 3],
    [2020, 4],
    [60_000, 4],
  ] as const) {
    await bench.time.pass(afterMs);
    assert.equal(bench.clients.length, clients);
    if (afterMs < 60_000) bench.fail();
  }
  const lostReport = { ...RETURNED, namespace: undefined, lostBy: 'transport close', retries: 2, why: 'no' };
  assert.deepEqual(bench.news('returned'), [lostReport]);
  assert.partialDeepStrictEqual(bench.counts(), { dropped: 1, gaveUp: 1, retries: 2 });
  bench.run({ op: 'close', id: 1, requestId: 9 });
  bench.leave();
  assert.deepEqual(bench.news('left'), [{ op: 'left', requestId: 9 }]);
});

for (const isRecovered of [true, false]) {
  const what = isRecovered
    ? 'a connection whose session is restored keeps its slot in the ledger'
    : 'a connection whose session is not restored joins again, and counts as a new connection';
  test(what, async (t) => {
    const bench = new Bench(t, ['/'], ['/']);
    bench.joinedOn('w0');
    bench.drop();
    const { acknowledgements, returns } = bench.state;
    assert.deepEqual([acknowledgements.joined, returns.counts.away], [0, 1]);
    await bench.time.pass(1020);
    assert.equal(bench.slot, 0, 'what comes before the answer belongs to the session');
    bench.accept('/', true, { isRecovered });
    const expected = isRecovered ? [0, [], 1] : [1, [['/', 'join_room', 2 ** 40 + 1]], 0];
    assert.deepEqual([bench.slot, bench.client.sent, acknowledgements.joined], expected);
    assert.deepEqual(bench.news('returned'), [{ ...RETURNED, namespace: '/' }]);
    assert.partialDeepStrictEqual(bench.counts(), { dropped: 1, returned: 1, recovered: Number(isRecovered) });
  });
}

for (const [joined, worker] of [
  ['w0', 'w1'],
  ['chat', ''],
] as const) {
  test(`the worker of a restored session is known only if session id and join agree: ${joined}`, async (t) => {
    const bench = new Bench(t, ['/'], ['/']);
    bench.joinedOn(joined);
    await bench.dropAndDial();
    bench.accept('/', true, { worker: 'w1', isRecovered: true });
    const { members } = bench.state.ledger;
    assert.deepEqual([members.workerAt(0, 0), members.workerAt(0, Number.MAX_SAFE_INTEGER)], [joined, worker]);
  });
}

test('a connection counts as restored only if the session of its joined namespace was restored', async (t) => {
  const bench = new Bench(t, ['/', '/chat'], ['/chat']);
  await bench.dropAndDial();
  assert.deepEqual(bench.client.asked, ['/', '/chat']);
  // A namespace without events has no offset, so its session is never restored.
  bench.accept('/', true);
  bench.accept('/chat', false, { isRecovered: true });
  assert.deepEqual([bench.slot, bench.client.sent, bench.counts().recovered], [0, [], 1]);
});

test('a connection does not reconnect after the server disconnected it or one of its namespaces', async (t) => {
  const bench = new Bench(t, ['/', '/chat']);
  bench.end('/chat');
  await bench.dropAndDial();
  assert.deepEqual(bench.client.asked, ['/']);
  bench.accept('/', true);
  bench.news();
  bench.client.sink.onClosed('io server disconnect', undefined);
  assert.deepEqual(bench.news('closed'), [{ op: 'closed', id: 1, reason: 'io server disconnect' }]);
  await bench.time.pass(60_000);
  assert.deepEqual([bench.clients.length, bench.counts().dropped], [2, 1]);
});

test('a connection can be closed while disconnected or reconnecting, and can open a namespace on return', async (t) => {
  const bench = new Bench(t, ['/']);
  bench.drop();
  bench.run({ op: 'open', id: 1, requestId: 5, namespace: '/new' });
  assert.equal(bench.clients.length, 1);
  await bench.time.pass(1020);
  assert.deepEqual(bench.client.asked, ['/', '/new']);
  bench.accept('/', true, { isRecovered: true });
  bench.accept('/new', false);
  assert.deepEqual(column(bench.news('returned', 'opened'), 'op'), ['opened', 'returned', 'opened']);
  await bench.dropAndDial();
  assert.deepEqual(bench.client.asked, ['/', '/new'], 'from now on it comes back, too');
  bench.run({ op: 'close', id: 1, requestId: 6 });
  bench.leave();
  assert.deepEqual(bench.news('left'), [{ op: 'left', requestId: 6 }]);
  await bench.time.pass(60_000);
  assert.deepEqual([bench.counts().left, bench.state.counts.connecting, bench.clients.length], [1, 0, 3]);
});

test('messages sent before all namespaces have reconnected are acknowledged, and count one join', async (t) => {
  const bench = new Bench(t, ['/', '/chat'], ['/']);
  bench.joinedOn('w0');
  await bench.dropAndDial();
  bench.accept('/', true);
  const emit = { op: 'emit', id: 1, namespace: '/', args: ['a'] } as const;
  bench.run(
    { ...emit, event: 'join_room', requestId: 7, args: ['a'] },
    { ...emit, event: 'ping', requestId: 8, args: [] },
  );
  bench.client.sink.onAck('/', 7, [{ room: 'a', worker: 'w0' }]);
  bench.accept('/chat', false);
  assert.equal(bench.slot, 1, 'to the ledger it is a new connection');
  bench.client.sink.onAck('/', 8, ['pong']);
  assert.deepEqual(column(bench.news('acked'), 'requestId'), [7, 8]);
  for (const [, , ackId = 0] of bench.client.sent.slice(2)) {
    bench.client.sink.onAck('/', ackId, [{ room: 'a', worker: 'w0' }]);
  }
  const { acknowledgements, ledger } = bench.state;
  assert.deepEqual([acknowledgements.joining, acknowledgements.joined], [0, 1]);
  assert.deepEqual(ledger.members.sample(1), [['a', 1]]);
});

test('a connection can be reopened after the server closed it with a namespace still missing', async (t) => {
  const bench = new Bench(t, ['/', '/chat']);
  await bench.dropAndDial();
  bench.accept('/', true);
  bench.client.sink.onClosed('io server disconnect', undefined);
  bench.open(1, '/');
  assert.deepEqual([bench.clients.length, column(bench.news('opened'), 'requestId')], [3, [1, 1, 1]]);
});
