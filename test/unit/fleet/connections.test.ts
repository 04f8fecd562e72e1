import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ClientSink } from '../../../plugin/fleet/client/client.ts';
import { ConnectingCounts } from '../../../plugin/fleet/process/counts/connecting.ts';
import { decodeHistogram } from '../../../protocol/base/histogram.ts';
import { assertEach, column } from '../../helpers/columns.ts';
import { type IdleClient, IdleProcess } from '../../helpers/idle-process.ts';

const open = (id: number) => ({ op: 'open', id, requestId: id, namespace: '/' }) as const;
const close = (id: number) => ({ op: 'close', id, requestId: 100 + id }) as const;
const emit = (id: number, event: string, requestId?: number) => ({
  ...{ op: 'emit' as const, id, namespace: '/', event, args: ['a'] },
  ...(requestId !== undefined && { requestId }),
});

const ends: Record<string, (sink: ClientSink) => void> = {
  refused: (sink) => sink.onRefused('/', 'no', undefined),
  failed: (sink) => sink.onFailed({ cause: 'ECONNREFUSED', message: 'no' }),
};

for (const [what, end] of Object.entries(ends)) {
  test(`a connection that is ${what} while it waits to close is reported as closed once`, (t) => {
    const process = new IdleProcess(t);
    process.run(open(1), close(1));
    end(process.client.sink);
    process.leave();
    assert.deepEqual(column(process.news(), 'op'), ['failed', 'left']);
    assert.deepEqual([process.state.counts.connecting, process.state.counts.connected], [0, 0]);
  });
}

test('a join without an answer is forgotten when its connection closes', (t) => {
  const process = new IdleProcess(t);
  const { counts, acknowledgements } = process.state;
  const read = () => {
    const { joining, joined } = acknowledgements;
    return [joining, joined, counts.connected, counts.perWorker, counts.perSessionPrefix];
  };
  for (const id of [1, 2]) {
    process.open(id, '/');
    process.run(emit(id, 'join_room'), emit(id, 'join_room', 40 + id));
  }
  assert.deepEqual(read(), [4, 0, 2, {}, { w0: 2 }]);
  process.clients[0]?.sink.onAck('/', 41, [{ room: 'b', worker: 'w1' }]);
  assert.deepEqual(read(), [3, 1, 2, { w1: 1 }, { w0: 1 }]);
  for (const client of process.clients) process.drop(client);
  assert.deepEqual(read(), [0, 0, 0, {}, {}]);
});

test('a refused join makes the connection no member, and is reported to the engine', (t) => {
  const process = new IdleProcess(t);
  process.open(1, '/');
  process.news();
  process.run(emit(1, 'join_room'), emit(1, 'join_room', 7));
  const refusal = { error: 'not yours', code: 'JOIN_REFUSED' };
  for (const [, , ackId] of process.client.sent) {
    process.client.sink.onAck('/', ackId as number, [refusal]);
  }
  assert.deepEqual(process.news(), [
    { op: 'refused', id: 1, cause: 'join_refused', message: 'not yours' },
    { op: 'failed', requestId: 7, cause: 'join_refused', message: 'not yours' },
  ]);
  const { acknowledgements, counts } = process.state;
  assert.deepEqual([acknowledgements.joining, acknowledgements.joined, counts.connected], [0, 0, 1]);
});

test('an unexpected acknowledgement is counted, and not sent to another process', (t) => {
  const process = new IdleProcess(t);
  for (const id of [1, 2]) process.open(id, '/');
  const [one, other] = process.clients as [IdleClient, IdleClient];
  process.run(emit(1, 'ping', 7));
  process.news();
  const answer = (client: IdleClient, ackId: number) => client.sink.onAck('/', ackId, ['answer']);
  answer(other, 7);
  for (const ackId of [8, 2 ** 40, 7, 7]) answer(one, ackId);
  assert.deepEqual(process.news(), [{ op: 'acked', requestId: 7, args: ['answer'] }]);
  assert.equal(process.state.counts.unknownAcks, 4);
});

test('each request of the engine is answered once, even if its connection closes', (t) => {
  const process = new IdleProcess(t);
  process.open(1, '/');
  process.news();
  process.run(emit(1, 'never answered', 5), { ...open(1), requestId: 6, namespace: '/late' });
  process.run({ ...emit(1, 'waits for its namespace', 7), namespace: '/late' });
  process.drop();
  process.run(emit(1, 'too late', 8), emit(1, 'nobody waits'));
  const answers = process.news('failed', 'acked', 'opened') as { cause: string; requestId: number }[];
  assertEach(answers, ({ cause, requestId }) => `${cause} ${requestId}`, [
    'closed 6',
    'closed 7',
    'closed 5',
    'closed 8',
  ]);
});

test('emits queued events in order once the namespace opens, and drops them if it is refused', (t) => {
  const process = new IdleProcess(t);
  process.run({ ...open(1), options: { emit: { event: 'first', args: [] } } }, emit(1, 'second'));
  assert.deepEqual(process.client.sent, []);
  process.accept('/', true);
  process.run(emit(1, 'third'), { ...open(1), namespace: '/closed' }, { ...emit(1, 'unheard'), namespace: '/closed' });
  process.client.sink.onRefused('/closed', 'no', undefined);
  assert.deepEqual(column(process.client.sent, '1'), ['first', 'second', 'third']);
});

test('a refusal before the connection is open fails all waiting namespaces', (t) => {
  const process = new IdleProcess(t);
  process.run(open(1), { ...open(1), requestId: 2, namespace: '/late' });
  process.client.sink.onRefused('/', 'no', undefined);
  assert.deepEqual(column(process.news('failed'), 'requestId'), [1, 2]);
});

test('records the duration of every stage of connecting, and the total', () => {
  const times = new ConnectingCounts(0);
  times.opened({ tcpUs: 10, upgradeUs: 30, openUs: 60, namespaceUs: 100 }, 0, 150);
  times.opened({ tcpUs: 10, tlsUs: 25, upgradeUs: 30, openUs: 60, namespaceUs: 100 }, 0, 100);
  times.opened({ namespaceUs: 100 }, 0, 100);
  const { connectUs } = times.snapshot();
  for (const [stage, ...expected] of [
    ['total', 3, 100, 150],
    ['tcp', 2, 10, 10],
    ['tls', 1, 15, 15],
    ['upgrade', 2, 5, 20],
    ['open', 2, 30, 30],
    ['namespace', 3, 40, 100],
  ] as const) {
    const { totalCount, minNonZeroValue, maxValue } = decodeHistogram(connectUs[stage]);
    assert.deepEqual([totalCount, minNonZeroValue, maxValue], expected, stage);
  }
});
