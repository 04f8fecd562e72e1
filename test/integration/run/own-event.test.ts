/** Delivery of a server's own event, by a real fleet on real servers that know nothing of us. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Server, Socket } from 'socket.io';
import { chatFor as chat } from '../../helpers/chat-server.ts';
import { column } from '../../helpers/columns.ts';
import { measureOwn } from '../../helpers/own-event-run.ts';

/** @param answer what the server makes of a message */
function onSay(answer: (io: Server, socket: Socket, message: Record<string, unknown>) => void) {
  return (io: Server) => io.on('connection', (socket) => socket.on('say', (message) => answer(io, socket, message)));
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
