/** What a fleet process answers to the engine's commands, and to what its clients report. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ClientSink } from '../../../plugin/fleet/client/client.ts';
import { column } from '../../helpers/columns.ts';
import { type IdleClient, IdleProcess } from '../../helpers/idle-process.ts';

const open = (id: number) => ({ op: 'open', id, requestId: id, namespace: '/' }) as const;
const close = (id: number) => ({ op: 'close', id, requestId: 100 + id }) as const;
const emit = (id: number, event: string, requestId?: number) => ({
  ...{ op: 'emit' as const, id, namespace: '/', event, args: ['a'] },
  ...(requestId !== undefined && { requestId }),
});

const ends: Record<string, (sink: ClientSink, client: IdleClient) => void> = {
  refused: (sink, client) => sink.onRefused(client, '/', 'no', undefined),
  failed: (sink, client) => sink.onFailed(client, { cause: 'ECONNREFUSED', message: 'no' }),
};

for (const [what, end] of Object.entries(ends)) {
  test(`a connection that is ${what} while it waits to leave answers once that it has left`, (t) => {
    const process = new IdleProcess(t);
    process.run(open(1), close(1));
    end(process.state.reports, process.client);
    process.leave();
    assert.deepEqual(column(process.news(), 'op'), ['failed', 'left']);
    assert.deepEqual([process.state.counts.connecting, process.state.counts.connected], [0, 0]);
  });
}

test('unanswered joins end with their connections', (t) => {
  const process = new IdleProcess(t);
  const { counts, acknowledgements, reports } = process.state;
  for (const id of [1, 2]) {
    process.open(id, '/');
    process.run(emit(id, 'join_room'), emit(id, 'join_room', 40 + id));
  }
  assert.deepEqual([acknowledgements.joining, acknowledgements.joined], [4, 0]);
  reports.onAck(process.clients[0] as IdleClient, '/', 41, [{ room: 'b', worker: 'w1' }]);
  assert.deepEqual([acknowledgements.joining, acknowledgements.joined], [3, 1]);
  assert.deepEqual([counts.perWorker, counts.perSessionPrefix], [{ w1: 1 }, { w0: 1 }]);
  for (const client of process.clients) process.drop(client);
  assert.deepEqual([acknowledgements.joining, acknowledgements.joined, counts.connected], [0, 0, 0]);
  assert.deepEqual([counts.perWorker, counts.perSessionPrefix], [{}, {}]);
});

test('a refused join is no member, and told to whoever sent it', (t) => {
  const process = new IdleProcess(t);
  process.open(1, '/');
  process.news();
  process.run(emit(1, 'join_room'), emit(1, 'join_room', 7));
  const refusal = { error: 'not yours', code: 'JOIN_REFUSED' };
  for (const [, , ackId] of process.client.sent) {
    process.state.reports.onAck(process.client, '/', ackId as number, [refusal]);
  }
  assert.deepEqual(process.news(), [
    { op: 'refused', id: 1, cause: 'join_refused', message: 'not yours' },
    { op: 'failed', requestId: 7, cause: 'join_refused', message: 'not yours' },
  ]);
  const { acknowledgements, counts } = process.state;
  assert.deepEqual([acknowledgements.joining, acknowledgements.joined, counts.connected], [0, 0, 1]);
});

test('acknowledgements that nobody waits for are counted, and cross to no other process', (t) => {
  const process = new IdleProcess(t);
  for (const id of [1, 2]) process.open(id, '/');
  const [one, other] = process.clients as [IdleClient, IdleClient];
  process.run(emit(1, 'ping', 7));
  process.news();
  for (const [client, ackId] of [
    [other, 7],
    [one, 8],
    [one, 2 ** 40],
    [one, 7],
    [one, 7],
  ] as const) {
    process.state.reports.onAck(client, '/', ackId, ['answer']);
  }
  assert.deepEqual(process.news(), [{ op: 'acked', requestId: 7, args: ['answer'] }]);
  assert.equal(process.state.counts.unknownAcks, 4);
});

test('whatever the engine waits for is answered once, also by the end of the connection, and after it', (t) => {
  const process = new IdleProcess(t);
  process.open(1, '/');
  process.news();
  process.run(emit(1, 'never answered', 5), { ...open(1), requestId: 6, namespace: '/late' });
  process.run({ ...emit(1, 'waits for its namespace', 7), namespace: '/late' });
  process.drop();
  process.run(emit(1, 'too late', 8), emit(1, 'nobody waits'));
  const failed = process.news('failed', 'acked', 'opened');
  const by = (requestId: number, message = 'transport close') => ({
    op: 'failed',
    requestId,
    cause: 'closed',
    message,
  });
  assert.partialDeepStrictEqual(failed, [by(6), by(7), by(5), by(8, 'the connection has ended')]);
  assert.equal(failed.length, 4);
});
