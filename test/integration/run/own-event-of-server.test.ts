/** Delivery of an event that a server sends by itself, by a real fleet on real servers that know nothing of us. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Server } from 'socket.io';
import { chatFor as chat } from '../../helpers/chat-server.ts';
import { measureOwn } from '../../helpers/own-event-run.ts';

/** The server sends by itself, until it is closed. */
function ticking(send: (io: Server, n: number) => void, everyMs = 50) {
  return (io: Server) => {
    let n = 0;
    const timer = setInterval(() => send(io, ++n), everyMs);
    io.engine.on('close', () => clearInterval(timer));
    io.httpServer.on('close', () => clearInterval(timer));
  };
}

describe('the server by itself', { concurrency: 3 }, () => {
  const TICK = { event: 'tick', id: 'first argument' };
  const options = { broadcasts: { count: 6, interval: 0.1 } };

  it('has no coverage where every copy has an id of its own', async (t) => {
    const { url } = await chat(
      t,
      ticking((io, n) => {
        for (const one of io.sockets.sockets.values()) one.emit('tick', `${n}-${one.id}`);
      }),
    );
    const { delivery, reasons, codes } = await measureOwn({ url, delivery: TICK, options, processes: 2 });
    assert.deepEqual(codes, ['IDS_NOT_SHARED']);
    assert.match(reasons[0]?.message ?? '', /^(\d+) of \1 .*\$\.0 .*`tick`/);
    assert.deepEqual([delivery.coverage, delivery.coverageOfTarget], [null, null]);
  });

  it('is expected by those in its namespace: the same event in two is two events', async (t) => {
    const { url } = await chat(t, (io) => {
      for (const one of ['/', '/chat', '/other']) io.of(one).on('connection', () => {});
      ticking((_, n) => {
        for (const one of ['/', '/chat']) io.of(one).emit('tick', n);
      })(io);
    });
    const namespaces = [['/'], ['/chat'], ['/', '/chat'], ['/other']];
    for (const client of ['light', 'official'] as const) {
      const brings = (index: number) => ({ namespaces: namespaces[index % 4] as string[] });
      const all = { delivery: TICK, options, processes: 2, client, connections: 20, brings };
      const { delivery, codes } = await measureOwn({ url, ...all });
      assert.deepEqual(codes, []);
      assert.deepEqual([delivery.received, delivery.duplicates, delivery.notMember], [delivery.expected, 0, 0]);
      assert.ok(delivery.batches.every(({ expected, room }) => expected === 10 && room === null));
    }
  });

  it('says so where it sends to one half of the connections, then to the other', async (t) => {
    let connected = 0;
    const { url } = await chat(t, (io) => {
      io.on('connection', (socket) => socket.join(++connected % 5 < 3 ? 'a' : 'b'));
      ticking((_, n) => io.to(n % 2 ? 'a' : 'b').emit('tick', n))(io);
    });
    const { delivery, reasons, codes } = await measureOwn({ url, delivery: TICK, options, processes: 2 });
    assert.deepEqual(codes, ['AUDIENCE_DIFFERS']);
    assert.match(reasons[0]?.message ?? '', / [46] of 10 /);
    assert.ok(delivery.coverage);
  });

  it('loses copies at random: no doubt of the audience', async (t) => {
    const { url } = await chat(
      t,
      ticking((io, n) => {
        for (const one of io.sockets.sockets.values()) if (Math.random() < 0.6) one.emit('tick', n);
      }),
    );
    const { delivery, codes } = await measureOwn({ url, delivery: TICK, options });
    assert.deepEqual(codes, []);
    assert.ok((delivery.coverage ?? 1) < 0.9);
  });

  it('counts what begins while it listens, and the spread from the first receipt', async (t) => {
    const { url } = await chat(
      t,
      ticking((io, n) => io.emit('tick', n)),
    );
    const { delivery, latency, codes } = await measureOwn({ url, delivery: TICK, options, processes: 2 });
    assert.deepEqual(codes, []);
    assert.ok(delivery.broadcasts >= 8 && delivery.broadcasts <= 13, `${delivery.broadcasts}`);
    assert.deepEqual([delivery.received, delivery.coverage], [delivery.broadcasts * 10, 1]);
    assert.ok(delivery.outside > 0, 'the server goes on during the drain');
    assert.deepEqual([latency.from, latency.sendDelayMs, delivery.publisher], ['first receipt', null, null]);
  });

  it('knows the latency where the payload has a time', async (t) => {
    const { url } = await chat(
      t,
      ticking((io, n) => io.emit('tick', n, { at: Date.now() * 1000 })),
    );
    const { latency, codes } = await measureOwn({ url, delivery: { ...TICK, sentAt: '$.1.at' }, options });
    assert.deepEqual([latency.from, codes], ['payload', []]);
  });

  it('a connection that opens after the first receipt is not expected', async (t) => {
    const { url } = await chat(t, (io) => {
      io.on('connection', (socket) => {
        // Whoever comes gets the state, which others have had for long.
        socket.emit('tick', 'state');
        if (io.engine.clientsCount === 10) io.emit('tick', 'all');
      });
    });
    const { delivery } = await measureOwn({
      url,
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
