/** Tests delivery of a server's own event, with real fleet processes, on servers without `instrument(io)`. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Server, Socket } from 'socket.io';
import { FINDINGS } from '../../../protocol/codes/finding-codes.ts';
import { assertOwn } from '../../helpers/own-event-run.ts';

type Message = Record<string, unknown>;

/** @param answer handles a message on the server */
const onSay = (answer: (io: Server, message: Message, socket: Socket) => void) => (io: Server) =>
  io.on('connection', (socket) => socket.on('say', (message) => answer(io, message, socket)));
const echoes = onSay((io, message) => io.emit('said', message));

const publish = { emit: ['say', { id: '$id', at: '$sentAt', text: 'hello' }], every: 0.1, count: 5 };
const SAID = { event: 'said', id: '$.0.id', publish };
/** Expected figures of ten connections. */
const ALL = { broadcasts: 5, expected: 50, received: 50, duplicates: 0, coverage: 1 };

describe('delivery of published messages', { concurrency: 4 }, () => {
  for (const client of ['light', 'official'] as const) {
    it(`the run measures latency from the publisher’s emit to every receiver, with the ${client} client`, async (t) => {
      const run = { delivery: SAID, client, trial: true, processes: 2 };
      const expected = { delivery: { ...ALL, source: 'own event' as const }, latency: { from: 'publisher' as const } };
      const { latency } = await assertOwn(t, echoes, run, expected);
      assert.ok(latency.oneWayMs && latency.oneWayMs.max < 5000);
      assert.deepEqual([latency.localMs, latency.sendDelayMs?.count], [null, 5]);
    });

    it(`the run counts published messages only in the namespace of the flow, with the ${client} client`, async (t) => {
      const toBothNamespaces = (io: Server) => {
        io.on('connection', () => {});
        io.of('/chat').on('connection', (socket) =>
          socket.on('say', (message) => {
            for (const namespace of ['/', '/chat']) io.of(namespace).emit('said', message);
          }),
        );
      };
      const run = { delivery: SAID, client, trial: true, namespaces: ['/', '/chat'] };
      await assertOwn(t, toBothNamespaces, run, { delivery: ALL });
    });
  }

  it('the run reports why a publisher could not publish', async (t) => {
    const closesNext = onSay((io, message, socket) => {
      io.emit('said', message);
      setImmediate(() => socket.conn.close());
    });
    // The trial before the load found the event, so only the publishers fail.
    const { measurements } = await assertOwn(t, closesNext, { delivery: SAID, trial: true }, { codes: [] });
    assert.equal(measurements.unsent.length, 5);
    assert.match(
      measurements.unsent[0]?.message ?? '',
      /publisher had ended: the server closed it with 1005 .*; the last event before: said/,
    );
  });

  it('the run counts the same messages whether or not the publisher receives its own messages', async (t) => {
    const toOthers = onSay((_io, message, socket) => socket.broadcast.emit('said', message));
    await assertOwn(t, toOthers, { delivery: { ...SAID, publish: { ...publish, users: 2 } } }, { delivery: ALL });
  });

  const stamps = onSay((io, message) => io.emit('said', { ...message, serverAt: new Date().toISOString() }));
  for (const [where, path, from] of [
    ['in the payload', '$.0.serverAt', 'payload'],
    ['that the publisher wrote, as the time of its emit', '$.0.at', 'publisher'],
  ] as const) {
    it(`the run measures latency from the time ${where}`, async (t) => {
      const { latency } = await assertOwn(t, stamps, { delivery: { ...SAID, sentAt: path } }, { latency: { from } });
      assert.ok(latency.oneWayMs && latency.oneWayMs.max < 5000);
    });
  }

  it('the run counts messages by the server’s ids if the server assigns its own ids', async (t) => {
    let n = 0;
    const numbers = onSay((io) => io.emit('said', { id: ++n }));
    const run = { delivery: { ...SAID, publish: { ...publish, emit: ['say', { text: 'hello' }] } } };
    await assertOwn(t, numbers, run, { delivery: { broadcasts: 5, received: 50 }, latency: { from: 'first receipt' } });
  });

  it('the run counts a connection as a member of its room once its join is acknowledged', async (t) => {
    const rooms = (io: Server) =>
      io.on('connection', (socket) => {
        socket.on('enter', async (room, done) => {
          await socket.join(room);
          done('welcome');
        });
        socket.on('say', (message) => io.to('room').emit('said', message));
      });
    await assertOwn(t, rooms, { delivery: { ...SAID, join: 'enter' }, trial: true }, { delivery: ALL });
  });

  let next = 0;
  const refusals: [mismatch: string, answer: (message: Message) => object, message: RegExp, fix: RegExp][] = [
    ['a wrong path, and quotes the received event', (message) => ({ message }), /"id":"run-[0-9a-f]{8}-trial/, /./],
    ['an id that was not received', ({ id: ref }) => ({ ref, id: ++next }), /published id is not at/, /at \$\.0\.ref/],
  ];
  for (const [mismatch, answer, message, fix] of refusals) {
    it(`the run refuses to start if its trial message is received with ${mismatch}`, async (t) => {
      const answers = onSay((io, message) => io.emit('said', answer(message)));
      const refused = assertOwn(t, answers, { delivery: SAID, trial: true, connections: 1 });
      await assert.rejects(refused, { code: 'DELIVERY_UNMATCHED', message, fix });
    });
  }

  const NONE = { expected: 50, received: 0, coverage: 0 };
  const silences: [receiver: string, setUp: (io: Server) => void, message: RegExp][] = [
    [
      'clients under another event name',
      onSay((io, message) => io.emit('sayd', message)),
      /^no client received any `said`.*received sayd instead/,
    ],
    [
      'no client, and answers the publisher with another event',
      onSay((_io, _message, socket) => socket.emit('exception', { message: 'Only moderators may post' })),
      /^the server answered the publisher with exception \{"message":"Only moderators may post"\}; no client received/,
    ],
    ['an empty room', onSay((io, message) => io.to('rom').emit('said', message)), /received no event at all/],
    [
      'no client, and acknowledges with an error',
      (io) => io.on('connection', (socket) => socket.on('say', (_, done) => done?.({ error: 'you are muted' }))),
      /^the server acknowledged each of 5 published messages with \{"error":"you are muted"\}; no client received/,
    ],
  ];
  for (const [receiver, setUp, message] of silences) {
    it(`a run fails, with its figures, if the server sends the published message to ${receiver}`, async (t) => {
      const run = { delivery: SAID, trial: true, options: { drain: { deadline: 0.5 } } };
      const { reasons } = await assertOwn(t, setUp, run, { codes: ['DELIVERY_EVENT_MISSING'], delivery: NONE });
      assert.match(reasons[0]?.message ?? '', message);
      assert.deepEqual(FINDINGS.DELIVERY_EVENT_MISSING.invalidates, []);
    });
  }

  it('refuses the run before the load if the server closes the publishing connection', async (t) => {
    const closes = onSay((_io, _message, socket) => socket.conn.close());
    await assert.rejects(assertOwn(t, closes, { delivery: SAID, trial: true }), {
      code: 'PUBLISHER_CLOSED',
      message: /a publisher ended after its first `say`: the server closed it with 1005 \(closed without a code\)$/,
    });
  });

  const big = 'x'.repeat(1_200_000);
  const tooBig = { ...SAID, publish: { ...publish, emit: ['say', { id: '$id', big }] } };
  const kicks = (io: Server) =>
    io.on('connection', (socket) => {
      for (const other of io.sockets.sockets.values()) {
        if (other === socket) continue;
        other.emit('session_replaced', { reason: 'You signed in on another device' });
        other.disconnect(true);
      }
    });
  const snapshots = onSay((_io, _message, socket) => socket.emit('snapshot', 'z'.repeat(17_825_792)));
  const endings: [evidence: string, setUp: (io: Server) => void, delivery: object, message: RegExp, fix: RegExp][] = [
    [
      'the sizes if its message is too large for the server',
      echoes,
      tooBig,
      /closed it with 1009 .*: the flow sends 1,200,0\d\d bytes, the server takes 1,000,000/,
      /maxHttpBufferSize/,
    ],
    [
      'the event that the server sent before it disconnected it',
      kicks,
      SAID,
      /the server itself disconnected it .*session_replaced \{"reason":"You signed in on another device"\}/,
      /a user of its own/,
    ],
    [
      'that the run closed it, and both sizes, if the server sends more than the clients accept',
      snapshots,
      SAID,
      /: the run itself closed it: .* 17,825,8\d\d bytes; the limit of the clients, `maxPayload`, is 16,777,216$/,
      /raise the option `maxPayload`/,
    ],
  ];
  for (const [evidence, setUp, delivery, message, fix] of endings) {
    it(`reports for a disconnected publisher ${evidence}`, async (t) => {
      await assert.rejects(assertOwn(t, setUp, { delivery, trial: true }), { code: 'PUBLISHER_CLOSED', message, fix });
    });
  }

  it('reports a server that stops answering after the first published message', async (t) => {
    const ends = onSay((io) => void io.close());
    await assert.rejects(assertOwn(t, ends, { delivery: SAID, trial: true }), {
      message: /after its first `say`: .*; since then, the target does not answer as before: ECONNREFUSED/,
    });
  });
});
