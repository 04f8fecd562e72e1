import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Client, type ClientSink, NO_SESSIONS } from '../../../plugin/fleet/client/client.ts';
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

/** Connections whose clients do nothing, and that leave when the test calls `leave()`. */
function idleConnections() {
  const answers: FleetAnswer[] = [];
  const leaves: (() => void)[] = [];
  const clients: Client[] = [];
  const nothing = () => {};
  const createClient = (slot: number) => {
    const calls = { connect: nothing, emit: nothing, repeat: () => false, close: nothing, destroy: nothing };
    const idle = {
      interest: undefined,
      sessions: NO_SESSIONS,
      transport: 'websocket',
      isUpgrading: false,
      isCompressed: false,
    } as const;
    const client: Client = { slot, ...idle, ...calls };
    clients.push(client);
    return client;
  };
  const connections = new ConnectionManager({
    settings: {
      client: 'light',
      defaults: clientOptions({ url: 'http://127.0.0.1:1' }),
      localAddresses: [],
      ledger: true,
      disconnectRatePerSec: 1,
      fleet: { index: 0, of: 1 },
    },
    share: { index: 0, of: 1 },
    firstId: 0,
    createClient,
    ledger: new Ledger(),
    sightings: new Sightings(new Ledger()),
    connectTimes: new ConnectTimes(),
    openSeries: new OpenSeries(0),
    connectSeries: new ConnectSeries(0),
    messages: new RepeatedMessages({ index: 0, of: 1 }),
    pacer: { add: (leave: () => void) => void leaves.push(leave) } as Pacer,
    answer: (answer) => void answers.push(answer),
  });
  const leave = () => {
    for (const one of leaves.splice(0)) one();
  };
  return { connections, answers, clients, leave };
}

const open = { op: 'open', id: 1, requestId: 1, namespace: '/' } as const;
const close = { op: 'close', id: 1, requestId: 2 } as const;
const ends: Record<string, (sink: ClientSink, client: Client) => void> = {
  refused: (sink, client) => sink.onRefused(client, '/', 'no', undefined),
  failed: (sink, client) => sink.onFailed(client, 'ECONNREFUSED', 'no'),
};

for (const [what, end] of Object.entries(ends)) {
  test(`a connection that is ${what} while it waits to leave answers once that it has left`, () => {
    const { connections, answers, clients, leave } = idleConnections();
    connections.run(open);
    connections.run(close);
    end(connections.reports, clients[0] as Client);
    leave();
    assert.deepEqual(
      answers.map((answer) => answer.op),
      ['failed', 'left'],
    );
    assert.deepEqual([connections.counts.connecting, connections.counts.connected], [0, 0]);
  });
}

test('unanswered joins end with their connections', () => {
  const { connections, clients } = idleConnections();
  for (const id of [1, 2]) {
    connections.run({ ...open, id });
    const client = clients[id - 1] as Client;
    connections.reports.onOpen(client, '/', 'w0-x', { tcpUs: 1, upgradeUs: 2, openUs: 3, namespaceUs: 4 });
    connections.run({ op: 'emit', id, namespace: '/', event: 'join_room', args: ['a'] });
    connections.run({ op: 'emit', id, namespace: '/', event: 'join_room', args: ['b'], requestId: 40 + id });
  }
  assert.deepEqual([connections.joining, connections.joined], [4, 0]);
  connections.reports.onAck(clients[0] as Client, '/', 41, [{ room: 'b', worker: 'w1' }]);
  assert.deepEqual([connections.joining, connections.joined], [3, 1]);
  assert.deepEqual(connections.counts.perWorker, { w1: 1 });
  assert.deepEqual(connections.counts.perSessionPrefix, { w0: 1 });
  for (const client of clients) connections.reports.onClosed(client, 'transport close', undefined);
  assert.deepEqual([connections.joining, connections.joined, connections.counts.connected], [0, 0, 0]);
  assert.deepEqual([connections.counts.perWorker, connections.counts.perSessionPrefix], [{}, {}]);
});

test('a refused join is no member, counted by its cause, and told to whoever sent it', () => {
  const { connections, answers, clients } = idleConnections();
  connections.run(open);
  const [client] = clients as [Client];
  connections.reports.onOpen(client, '/', 'w0-x', { tcpUs: 1, upgradeUs: 2, openUs: 3, namespaceUs: 4 });
  answers.length = 0;
  const join = { op: 'emit', id: 1, namespace: '/', event: 'join_room', args: ['user:alice'] } as const;
  const sent: (number | undefined)[] = [];
  client.emit = (_namespace, _event, _args, ackId) => void sent.push(ackId);
  connections.run({ ...join, args: [...join.args] });
  connections.run({ ...join, args: [...join.args], requestId: 7 });
  const refusal = { error: 'not yours', code: 'JOIN_REFUSED' };
  for (const ackId of sent) connections.reports.onAck(client, '/', ackId as number, [refusal]);
  assert.deepEqual(answers, [
    { op: 'refused', id: 1, cause: 'join_refused', message: 'not yours' },
    { op: 'failed', requestId: 7, cause: 'join_refused', message: 'not yours' },
  ]);
  assert.deepEqual([connections.joining, connections.joined, connections.counts.connected], [0, 0, 1]);
  assert.deepEqual(connections.counts.attemptFailures, { join_refused: 2 });
});

test('acknowledgements that nobody waits for are counted, and cross to no other process', () => {
  const { connections, answers, clients } = idleConnections();
  for (const id of [1, 2]) connections.run({ ...open, id });
  const [one, other] = clients as [Client, Client];
  connections.reports.onOpen(one, '/', 'w0-x', { namespaceUs: 4 });
  connections.reports.onOpen(other, '/', 'w0-y', { namespaceUs: 4 });
  connections.run({ op: 'emit', id: 1, namespace: '/', event: 'ping', args: [], requestId: 7 });
  answers.length = 0;
  connections.reports.onAck(other, '/', 7, ['of another connection']);
  connections.reports.onAck(one, '/', 8, ['never sent']);
  connections.reports.onAck(one, '/', 2 ** 40, ['no join']);
  connections.reports.onAck(one, '/', 7, ['right']);
  connections.reports.onAck(one, '/', 7, ['again']);
  assert.deepEqual(answers, [{ op: 'acked', requestId: 7, args: ['right'] }]);
  assert.equal(connections.counts.unknownAcks, 4);
});
