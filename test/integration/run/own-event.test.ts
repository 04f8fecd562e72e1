/** Delivery of a server's own event, by a real fleet on real servers that know nothing of us. */
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { Server, Socket } from 'socket.io';
import { startChat } from '../../helpers/chat-server.ts';
import { column } from '../../helpers/columns.ts';
import { measureOwn } from '../../helpers/own-event-run.ts';

async function chat(t: TestContext, setUp: (io: Server) => void) {
  const server = await startChat(setUp);
  t.after(() => server.close());
  return server;
}

/** @param answer what the server makes of a message */
function onSay(answer: (io: Server, socket: Socket, message: Record<string, unknown>) => void) {
  return (io: Server) => io.on('connection', (socket) => socket.on('say', (message) => answer(io, socket, message)));
}

/** The server sends by itself, until it is closed. */
function ticking(send: (io: Server, n: number) => void, everyMs = 50) {
  return (io: Server) => {
    let n = 0;
    const timer = setInterval(() => send(io, ++n), everyMs);
    io.engine.on('close', () => clearInterval(timer));
    io.httpServer.on('close', () => clearInterval(timer));
  };
}

const publish = { emit: ['say', { id: '$id', at: '$sentAt', text: 'hello' }], every: 0.1, count: 5 };
const SAID = { event: 'said', id: '$.0.id', publish };

describe('publishers of the run', { concurrency: 4 }, () => {
  for (const client of ['light', 'official'] as const) {
    it(`times from the emit to every receiver, with the ${client} client`, async (t) => {
      const { url } = await chat(
        t,
        onSay((io, _, message) => io.emit('said', message)),
      );
      const { delivery, latency, codes } = await measureOwn({ url, delivery: SAID, client, trial: true, processes: 2 });
      assert.deepEqual(codes, []);
      assert.equal(delivery.source, 'own event');
      assert.deepEqual([delivery.broadcasts, delivery.expected, delivery.received], [5, 50, 50]);
      assert.equal(latency.from, 'publisher');
      assert.ok(latency.oneWayMs && latency.oneWayMs.max < 5000);
      assert.equal(latency.localMs, null);
      assert.equal(latency.sendDelayMs?.count, 5);
    });
  }

  it('counts in the namespace of the flow, whatever else the server sends elsewhere', async (t) => {
    const { url } = await chat(t, (io) => {
      io.on('connection', () => {});
      onSay((_, __, message) => {
        io.of('/chat').emit('said', message);
        io.emit('said', message);
      })(io.of('/chat') as never);
    });
    for (const client of ['light', 'official'] as const) {
      const { delivery, codes } = await measureOwn({
        url,
        delivery: SAID,
        client,
        trial: true,
        namespaces: ['/', '/chat'],
      });
      assert.deepEqual(codes, []);
      assert.deepEqual(
        [delivery.broadcasts, delivery.expected, delivery.received, delivery.duplicates],
        [5, 50, 50, 0],
      );
    }
  });

  it('says why a publisher could not publish', async (t) => {
    const { url } = await chat(
      t,
      onSay((io, socket, message) => {
        io.emit('said', message);
        setImmediate(() => socket.conn.close());
      }),
    );
    const { measurements } = await measureOwn({ url, delivery: SAID, trial: true });
    assert.equal(measurements.unsent.length, 5);
    assert.match(measurements.unsent[0]?.message ?? '', /publisher had ended: transport close/);
  });

  it('counts the same whether or not the publisher gets its own message', async (t) => {
    const { url } = await chat(
      t,
      onSay((_, socket, message) => socket.broadcast.emit('said', message)),
    );
    const { delivery, codes } = await measureOwn({ url, delivery: { ...SAID, publish: { ...publish, users: 2 } } });
    assert.deepEqual(codes, []);
    assert.deepEqual([delivery.expected, delivery.received, delivery.coverage], [50, 50, 1]);
  });

  it('uses the time in the payload; the one that the publisher itself wrote there is that of the emit', async (t) => {
    const { url } = await chat(
      t,
      onSay((io, _, message) => io.emit('said', { ...message, serverAt: new Date().toISOString() })),
    );
    const own = await measureOwn({ url, delivery: { ...SAID, sentAt: '$.0.at' } });
    assert.deepEqual([own.latency.from, own.codes], ['publisher', []]);
    const server = await measureOwn({ url, delivery: { ...SAID, sentAt: '$.0.serverAt' } });
    assert.deepEqual([server.latency.from, server.codes], ['payload', []]);
    assert.ok(server.latency.oneWayMs && server.latency.oneWayMs.max < 5000);
  });

  it('names a clock that is days off, and counts from the emit instead', async (t) => {
    const { url } = await chat(
      t,
      onSay((io, _, message) => io.emit('said', { ...message, at: Date.now() / 1000 - 3 * 86_400 })),
    );
    const { latency, reasons } = await measureOwn({ url, delivery: { ...SAID, sentAt: '$.0.at' } });
    assert.equal(latency.from, 'publisher');
    assert.ok(latency.oneWayMs && latency.oneWayMs.max < 5000);
    assert.deepEqual(column(reasons, 'code'), ['SENT_AT_UNUSABLE']);
    assert.match(reasons[0]?.message ?? '', /3\.0 days before a publisher of the run emitted it/);
  });

  it('finds who misses a message, and who gets it twice', async (t) => {
    const { url } = await chat(
      t,
      onSay((io, socket, message) => {
        const [first, second, ...others] = [...io.sockets.sockets.values()].filter((one) => one !== socket);
        for (const one of [second, second, ...others]) one?.emit('said', message);
        assert.ok(first);
      }),
    );
    const { delivery } = await measureOwn({ url, delivery: SAID });
    assert.deepEqual([delivery.expected, delivery.received, delivery.lostConnected], [50, 45, 5]);
    assert.equal(delivery.duplicates, 5);
  });

  it('takes the ids of the server where it gives its own', async (t) => {
    let n = 0;
    const { url } = await chat(
      t,
      onSay((io) => io.emit('said', { id: ++n })),
    );
    const emit = ['say', { text: 'hello' }];
    const { delivery, latency, codes } = await measureOwn({
      url,
      delivery: { ...SAID, publish: { ...publish, emit } },
    });
    assert.deepEqual(codes, []);
    assert.deepEqual([delivery.broadcasts, delivery.received, latency.from], [5, 50, 'first receipt']);
  });

  it('says when fewer ids arrive than were published, as two share one', async (t) => {
    const { url } = await chat(
      t,
      onSay((io) => io.emit('said', { id: 'always the same' })),
    );
    const emit = ['say', {}];
    const { delivery, codes } = await measureOwn({ url, delivery: { ...SAID, publish: { ...publish, emit } } });
    assert.deepEqual(codes, ['BROADCASTS_NOT_SENT', 'WRONG_COPIES']);
    assert.deepEqual([delivery.broadcasts, delivery.received, delivery.duplicates], [1, 10, 40]);
  });

  it('knows members by the join that the server acknowledges', async (t) => {
    const { url } = await chat(t, (io) => {
      io.on('connection', (socket) => {
        socket.on('enter', (room, done) => {
          socket.join(room);
          done('welcome');
        });
        socket.on('say', (message) => io.to('room').emit('said', message));
      });
    });
    const delivery = { ...SAID, join: 'enter' };
    const { delivery: figures, codes } = await measureOwn({ url, delivery, trial: true });
    assert.deepEqual(codes, []);
    assert.deepEqual([figures.expected, figures.received], [50, 50]);
  });

  it('refuses a path that does not match, with what arrived', async (t) => {
    const { url } = await chat(
      t,
      onSay((io, _, message) => io.emit('said', { message })),
    );
    const refused = measureOwn({ url, delivery: SAID, trial: true, connections: 1 });
    await assert.rejects(refused, {
      code: 'DELIVERY_UNMATCHED',
      message:
        /`said` arrives without a string, or a number up to 2\^53, at \$\.0\.id: \["said",\{"message":\{"id":"run-[0-9a-f]{8}-trial/,
    });
  });

  it('refuses an id that does not come back', async (t) => {
    let n = 0;
    const { url } = await chat(
      t,
      onSay((io, _, message) => io.emit('said', { ref: message.id, id: ++n })),
    );
    const refused = measureOwn({ url, delivery: SAID, trial: true, connections: 1 });
    await assert.rejects(refused, {
      code: 'DELIVERY_UNMATCHED',
      message: /does not come back at \$\.0\.id of `said`/,
      fix: /it is at \$\.0\.ref/,
    });
  });

  it('an event that never comes', async (t) => {
    const { url } = await chat(
      t,
      onSay((io, _, message) => io.emit('sayd', message)),
    );
    const { delivery, codes } = await measureOwn({ url, delivery: SAID, options: { drain: { deadline: 0.5 } } });
    assert.deepEqual(codes, ['DELIVERY_EVENT_MISSING']);
    assert.deepEqual([delivery.expected, delivery.received, delivery.coverage], [50, 0, 0]);
  });
});

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
