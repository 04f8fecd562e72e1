/**
 * Tests delivery of an event that a server sends by itself, with real fleet processes, on servers without
 * `instrument(io)`.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Server } from 'socket.io';
import { assertOwn } from '../../helpers/own-event-run.ts';

/** Sends an event periodically until the server is closed. */
function sendPeriodically(send: (io: Server, n: number) => void, setUp: (io: Server) => void = () => {}, everyMs = 50) {
  return (io: Server) => {
    setUp(io);
    let n = 0;
    const timer = setInterval(() => send(io, ++n), everyMs);
    io.httpServer.on('close', () => clearInterval(timer));
  };
}

describe('delivery of a server that sends by itself', { concurrency: 3 }, () => {
  const TICK = { event: 'tick', id: 'first argument' };
  const RUN = { delivery: TICK, options: { broadcasts: { count: 6, interval: 0.1 } }, processes: 2 };

  for (const client of ['light', 'official'] as const) {
    it(`the run expects the server’s own events in the namespaces of each connection, with the ${client} client`, async (t) => {
      const inBothNamespaces = sendPeriodically(
        (io, n) => {
          for (const name of ['/', '/chat']) io.of(name).emit('tick', n);
        },
        (io) => {
          for (const name of ['/', '/chat', '/other']) io.of(name).on('connection', () => {});
        },
      );
      const namespaces = [['/'], ['/chat'], ['/', '/chat'], ['/other']];
      const settingsOf = (index: number) => ({ namespaces: namespaces[index % 4] as string[] });
      const { delivery } = await assertOwn(t, inBothNamespaces, {
        ...RUN,
        client,
        connections: 20,
        brings: settingsOf,
      });
      assert.deepEqual([delivery.received, delivery.duplicates, delivery.notMember], [delivery.expected, 0, 0]);
      assert.ok(delivery.batches.every(({ expected, room }) => expected === 10 && room === null));
    });
  }

  it('the run counts server events first received in its window, with latency from their first receipt', async (t) => {
    const { delivery, latency } = await assertOwn(
      t,
      sendPeriodically((io, n) => io.emit('tick', n)),
      RUN,
    );
    assert.ok(delivery.broadcasts >= 8 && delivery.broadcasts <= 13, `${delivery.broadcasts}`);
    assert.deepEqual([delivery.received, delivery.coverage], [delivery.broadcasts * 10, 1]);
    assert.ok(Number(delivery.outside) > 0, 'the server goes on during the drain');
    assert.deepEqual([latency.from, latency.sendDelayMs, delivery.publisher], ['first receipt', null, null]);
  });

  it('the run measures the latency of the server’s own events if their payload has a time', async (t) => {
    const stamped = sendPeriodically((io, n) => io.emit('tick', n, { at: Date.now() * 1000 }));
    const run = { ...RUN, delivery: { ...TICK, sentAt: '$.1.at' } };
    await assertOwn(t, stamped, run, { latency: { from: 'payload' } });
  });

  it('the run expects no copy of the server’s event on connections that open after its first receipt', async (t) => {
    const welcomes = (io: Server) =>
      io.on('connection', (socket) => {
        // A new client gets the state; the other clients already have it.
        socket.emit('tick', 'state');
        if (io.engine.clientsCount === 10) io.emit('tick', 'all');
      });
    const { delivery } = await assertOwn(t, welcomes, {
      delivery: TICK,
      options: { broadcasts: { count: 3, interval: 0.3 }, drain: { quiet: 0.1, deadline: 0.3 } },
      connections: 9,
      beforehand: (fleet) => void setTimeout(() => void fleet.connection().open('/'), 300),
    });
    assert.equal(delivery.broadcasts, 1);
    assert.equal(delivery.received + delivery.unexpected, 10);
    assert.equal(delivery.outside, 10, 'copies of the state, which nine had before');
  });
});
