/** What a fleet process does to bring a connection back, and how it counts. The clients do nothing. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type Client, NO_SESSIONS, type RecoverableSession } from '../../../plugin/fleet/client/client.ts';
import type { FleetAnswer } from '../../../plugin/fleet/messages.ts';
import type { Pacer } from '../../../plugin/fleet/pacer.ts';
import { ConnectionManager } from '../../../plugin/fleet/process/connections/connection-manager.ts';
import { ConnectSeries } from '../../../plugin/fleet/process/counts/connect-series.ts';
import { ConnectTimes } from '../../../plugin/fleet/process/counts/connect-times.ts';
import { OpenSeries } from '../../../plugin/fleet/process/counts/open-series.ts';
import { Ledger } from '../../../plugin/fleet/process/ledger/ledger.ts';
import { Sightings } from '../../../plugin/fleet/process/ledger/sightings.ts';
import { RepeatedMessages } from '../../../plugin/fleet/process/messages/repeated-messages.ts';
import { clientOptions } from '../../helpers/recording-sink.ts';
import { VirtualTime } from '../../helpers/virtual-time.ts';

const TIMINGS = { namespaceUs: 1 };

interface IdleClient extends Client {
  sessions: readonly RecoverableSession[];
  /** Namespaces that it was to open. */
  asked: string[];
  sent: string[];
}

class Bench {
  readonly time: VirtualTime;
  readonly answers: FleetAnswer[] = [];
  readonly clients: IdleClient[] = [];
  readonly connections: ConnectionManager;
  readonly ledger = new Ledger();

  constructor(t: TestContext) {
    this.time = new VirtualTime(t);
    const { ledger } = this;
    this.connections = new ConnectionManager({
      settings: {
        client: 'light',
        defaults: clientOptions({ url: 'http://127.0.0.1:1' }),
        localAddresses: [],
        ledger: true,
        reconnection: { attempts: 3, delayMs: 1000, maxDelayMs: 2000, jitter: 0 },
        disconnectRatePerSec: 1,
        fleet: { index: 0, of: 1 },
      },
      share: { index: 0, of: 1 },
      firstId: 0,
      createClient: (slot, _options, _sink, sessions = NO_SESSIONS) => this.#client(slot, sessions),
      ledger,
      sightings: new Sightings(ledger),
      connectTimes: new ConnectTimes(),
      openSeries: new OpenSeries(0),
      connectSeries: new ConnectSeries(0),
      messages: new RepeatedMessages({ index: 0, of: 1 }),
      pacer: { add: (leave: () => void) => leave() } as Pacer,
      answer: (answer) => void this.answers.push(answer),
    });
    t.after(() => this.connections.destroy());
  }

  #client(slot: number, sessions: readonly RecoverableSession[]): Client {
    const client: IdleClient = {
      ...{
        slot,
        sessions,
        interest: undefined,
        transport: 'websocket',
        isUpgrading: false,
        isCompressed: false,
        asked: [],
        sent: [],
      },
      connect: (namespace) => void client.asked.push(namespace),
      emit: (namespace, event) => void client.sent.push(`${namespace} ${event}`),
      repeat: () => false,
      close: () => {},
      destroy: () => {},
    };
    this.clients.push(client);
    return client;
  }

  get client(): IdleClient {
    return this.clients.at(-1) as IdleClient;
  }

  /** Opened, with a session that can be restored, and joined in the namespaces. */
  open(namespaces: string[], joined: string[] = []): void {
    for (const namespace of namespaces) {
      this.connections.run({ op: 'open', id: 1, requestId: 1, namespace });
      this.connections.reports.onOpen(
        this.client,
        namespace,
        'w0-a',
        namespace === namespaces[0] ? TIMINGS : undefined,
      );
    }
    for (const namespace of joined) this.run({ op: 'emit', id: 1, namespace, event: 'join_room', args: ['a'] });
    this.client.sessions = namespaces.map((namespace) => ({ namespace, pid: 'p', offset: 'o' }));
  }

  run(command: Parameters<ConnectionManager['run']>[0]): void {
    this.connections.run(command);
  }

  drop(): void {
    this.connections.reports.onClosed(this.client, 'transport close', undefined);
  }

  /** Answers since the last call, without request ids. */
  news(...ops: FleetAnswer['op'][]): FleetAnswer[] {
    return this.answers.splice(0).filter(({ op }) => ops.includes(op));
  }

  counts() {
    const { awayUs: _, ...counts } = this.connections.returns.snapshot();
    const { dropped, returned, gaveUp, left, away } = counts;
    assert.equal(dropped, returned + gaveUp + left + away);
    return counts;
  }
}

test('attempts follow each other with growing delays, and the last failure ends them', async (t) => {
  const bench = new Bench(t);
  bench.open(['/']);
  bench.drop();
  assert.deepEqual(bench.news('closed'), [{ op: 'closed', id: 1, reason: 'transport close', returns: true }]);
  for (const [afterMs, made] of [
    [990, 1],
    [30, 2],
  ] as const) {
    await bench.time.pass(afterMs);
    assert.equal(bench.clients.length, made);
  }
  bench.connections.reports.onFailed(bench.client, 'ECONNREFUSED', 'no');
  await bench.time.pass(2020);
  bench.connections.reports.onFailed(bench.client, 'http_503', 'later', 10_000);
  await bench.time.pass(9900);
  assert.equal(bench.clients.length, 3, 'Retry-After is obeyed');
  await bench.time.pass(150);
  assert.equal(bench.clients.length, 4);
  bench.connections.reports.onFailed(bench.client, 'ECONNREFUSED', 'no');
  assert.deepEqual(bench.news('lost'), [{ op: 'lost', id: 1, reason: 'transport close', retries: 2 }]);
  await bench.time.pass(60_000);
  assert.equal(bench.clients.length, 4);
  assert.deepEqual(bench.counts(), { dropped: 1, returned: 0, recovered: 0, gaveUp: 1, left: 0, away: 0, retries: 2 });
  bench.run({ op: 'close', id: 1, requestId: 9 });
  assert.deepEqual(bench.news('left'), [{ op: 'left', requestId: 9 }]);
});

test('a restored session keeps its place in the ledger; any other joins again, as a new connection', async (t) => {
  for (const isRecovered of [true, false]) {
    const bench = new Bench(t);
    bench.open(['/'], ['/']);
    bench.connections.reports.onAck(bench.client, '/', 2 ** 40, [{ room: 'a', worker: 'w0' }]);
    bench.drop();
    assert.deepEqual([bench.connections.joined, bench.connections.returns.away], [0, 1]);
    await bench.time.pass(1020);
    assert.equal(bench.client.slot, 0, 'what comes before the answer belongs to the session');
    bench.connections.reports.onOpen(bench.client, '/', 'w0-b', TIMINGS, isRecovered);
    assert.deepEqual([bench.client.slot, bench.client.sent], isRecovered ? [0, []] : [1, ['/ join_room']]);
    assert.equal(bench.connections.joined, isRecovered ? 1 : 0, 'until the answer to the join');
    assert.deepEqual(bench.news('returned'), [{ op: 'returned', id: 1, namespace: '/', isRecovered, retries: 0 }]);
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
    bench.open(['/'], ['/']);
    bench.connections.reports.onAck(bench.client, '/', 2 ** 40, [{ room: 'a', worker: joined }]);
    bench.drop();
    await bench.time.pass(1020);
    bench.connections.reports.onOpen(bench.client, '/', 'w1-b', TIMINGS, true);
    const { members } = bench.ledger;
    assert.deepEqual([members.workerAt(0, 0), members.workerAt(0, Number.MAX_SAFE_INTEGER)], [joined, worker]);
    t.mock.timers.reset();
    t.mock.restoreAll();
  }
});

test('what counts is the session of the namespace that has joined', async (t) => {
  const bench = new Bench(t);
  bench.open(['/', '/chat'], ['/chat']);
  bench.drop();
  await bench.time.pass(1020);
  assert.deepEqual(bench.client.asked, ['/', '/chat']);
  // Of a namespace without events there is no offset, so its session is never restored.
  bench.connections.reports.onOpen(bench.client, '/', 'w0-b', TIMINGS, false);
  bench.connections.reports.onOpen(bench.client, '/chat', 'w0-b', undefined, true);
  assert.deepEqual([bench.client.slot, bench.client.sent, bench.counts().recovered], [0, [], 1]);
});

test('one that the server sent away, in whole or a namespace of it, does not come back', async (t) => {
  const bench = new Bench(t);
  bench.open(['/', '/chat']);
  bench.connections.reports.onClosed(bench.client, 'io server disconnect', '/chat');
  bench.drop();
  await bench.time.pass(1020);
  assert.deepEqual(bench.client.asked, ['/']);
  bench.connections.reports.onOpen(bench.client, '/', 'w0-b', TIMINGS, false);
  bench.news();
  bench.connections.reports.onClosed(bench.client, 'io server disconnect', undefined);
  assert.deepEqual(bench.news('closed'), [{ op: 'closed', id: 1, reason: 'io server disconnect' }]);
  await bench.time.pass(60_000);
  assert.deepEqual([bench.clients.length, bench.counts().dropped], [2, 1]);
});

test('can be closed while it is away or on its way back, and can open a namespace with its return', async (t) => {
  const bench = new Bench(t);
  bench.open(['/']);
  bench.drop();
  bench.run({ op: 'open', id: 1, requestId: 5, namespace: '/new' });
  assert.equal(bench.clients.length, 1);
  await bench.time.pass(1020);
  assert.deepEqual(bench.client.asked, ['/', '/new']);
  bench.connections.reports.onOpen(bench.client, '/', 'w0-b', TIMINGS, true);
  bench.connections.reports.onOpen(bench.client, '/new', 'w0-b', undefined, false);
  assert.deepEqual(
    bench.news('returned', 'opened').map(({ op }) => op),
    ['opened', 'returned', 'opened'],
  );
  bench.drop();
  await bench.time.pass(1020);
  assert.deepEqual(bench.client.asked, ['/', '/new'], 'from now on it comes back, too');
  bench.run({ op: 'close', id: 1, requestId: 6 });
  assert.deepEqual(bench.news('left'), [{ op: 'left', requestId: 6 }]);
  assert.deepEqual([bench.counts().left, bench.connections.counts.connecting], [1, 0]);
  await bench.time.pass(60_000);
  assert.equal(bench.clients.length, 3);
});
