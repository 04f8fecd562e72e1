/** Delivery of an event that a server sends by itself, by a real fleet on real servers that know nothing of us. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Server } from 'socket.io';
import { assertOwn } from '../../helpers/own-event-run.ts';

/** The server sends by itself, until it is closed. */
function ticking(send: (io: Server, n: number) => void, setUp: (io: Server) => void = () => {}, everyMs = 50) {
  return (io: Server) => {
    setUp(io);
    let n = 0;
    const timer = setInterval(() => send(io, ++n), everyMs);
    io.httpServer.on('close', () => clearInterval(timer));
  };
}

describe('the server by itself', { concurrency: 3 }, () => {
  const TICK = { event: 'tick', id: 'first argument' };
  const RUN = { delivery: TICK, options: { broadcasts: { count: 6, interval: 0.1 } }, processes: 2 };

  for (const client of ['light', 'official'] as const) {
    it(`is expected by those in its namespace, with the ${client} client: the same event in two is two events`, async (t) => {
      const both = ticking(
        (io, n) => {
          for (const one of ['/', '/chat']) io.of(one).emit('tick', n);
        },
        (io) => {
          for (const one of ['/', '/chat', '/other']) io.of(one).on('connection', () => {});
        },
      );
      const namespaces = [['/'], ['/chat'], ['/', '/chat'], ['/other']];
      const brings = (index: number) => ({ namespaces: namespaces[index % 4] as string[] });
      const { delivery } = await assertOwn(t, both, { ...RUN, client, connections: 20, brings });
      assert.deepEqual([delivery.received, delivery.duplicates, delivery.notMember], [delivery.expected, 0, 0]);
      assert.ok(delivery.batches.every(({ expected, room }) => expected === 10 && room === null));
    });
  }

  it('counts what begins while it listens, and the spread from the first receipt', async (t) => {
    const { delivery, latency } = await assertOwn(
      t,
      ticking((io, n) => io.emit('tick', n)),
      RUN,
    );
    assert.ok(delivery.broadcasts >= 8 && delivery.broadcasts <= 13, `${delivery.broadcasts}`);
    assert.deepEqual([delivery.received, delivery.coverage], [delivery.broadcasts * 10, 1]);
    assert.ok(Number(delivery.outside) > 0, 'the server goes on during the drain');
    assert.deepEqual([latency.from, latency.sendDelayMs, delivery.publisher], ['first receipt', null, null]);
  });

  it('knows the latency where the payload has a time', async (t) => {
    const stamped = ticking((io, n) => io.emit('tick', n, { at: Date.now() * 1000 }));
    const run = { ...RUN, delivery: { ...TICK, sentAt: '$.1.at' } };
    await assertOwn(t, stamped, run, { latency: { from: 'payload' } });
  });

  it('a connection that opens after the first receipt is not expected', async (t) => {
    const welcomes = (io: Server) =>
      io.on('connection', (socket) => {
        // Whoever comes gets the state, which others have had for long.
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
