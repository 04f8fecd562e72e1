/** A server of somebody else's that sends to rooms, or several messages in one event: who is expected, and who got what. */
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { Server, Socket } from 'socket.io';
import { startChat } from '../../helpers/chat-server.ts';
import { measureOwn } from '../../helpers/own-event-run.ts';

interface Edit {
  id: string;
  doc: string;
}

async function server(t: TestContext, setUp: (io: Server) => void): Promise<string> {
  const chat = await startChat(setUp);
  t.after(() => chat.close());
  return chat.url;
}

/** Documents that clients open, and changes that go to all who have opened one. */
function documents(onEdit: (io: Server, edit: Edit) => void) {
  return (io: Server) =>
    io.on('connection', (socket: Socket) => {
      socket.on('open', async ({ doc }: Edit, done: () => void) => {
        await socket.join(doc);
        done();
      });
      socket.on('edit', (edit: Edit) => onEdit(io, edit));
    });
}

const publish = { emit: ['edit', { doc: '$room', id: '$id' }], every: 0.05, count: 8 };
const EDITED = {
  event: 'edited',
  id: '$.0.id',
  join: 'open',
  audience: { event: '$.0.doc', client: '$.0.doc' },
  publish,
};
/** Four documents, of which each connection has two: six of twelve connections each. */
const joins = (index: number) => [0, 1].map((nth) => [{ doc: `doc ${(index + nth) % 4}` }]);
const twelve = { connections: 12, processes: 2, joins };

describe('rooms', { concurrency: 4 }, () => {
  for (const client of ['light', 'official'] as const) {
    it(`are each expected to get their own, with the ${client} client`, async (t) => {
      const url = await server(
        t,
        documents((io, edit) => io.to(edit.doc).emit('edited', edit)),
      );
      const { delivery, latency, codes } = await measureOwn({ url, delivery: EDITED, client, ...twelve });
      assert.deepEqual(codes, []);
      assert.deepEqual([delivery.broadcasts, delivery.expected, delivery.received], [8, 48, 48]);
      assert.deepEqual([delivery.unexpected, delivery.notMember, delivery.outside], [0, 0, 0]);
      const rooms = Map.groupBy(delivery.batches, ({ room }) => room);
      assert.deepEqual([...rooms.keys()].sort(), ['doc 0', 'doc 1', 'doc 2', 'doc 3']);
      assert.equal(latency.from, 'publisher');
    });
  }

  it('of the same names in two namespaces have broadcasts of their own', async (t) => {
    const url = await server(t, (io) => {
      const both = [io.of('/'), io.of('/chat')];
      for (const one of both)
        one.on('connection', (socket) => {
          socket.on('open', async ({ doc }: Edit, done: () => void) => {
            await socket.join(doc);
            done();
          });
          socket.on('edit', (edit: Edit) => {
            for (const to of both) to.to(edit.doc).emit('edited', edit);
          });
        });
    });
    for (const client of ['light', 'official'] as const) {
      const run = await measureOwn({ url, delivery: EDITED, client, ...twelve, namespaces: ['/', '/chat'] });
      const { delivery, codes } = run;
      assert.deepEqual(codes, []);
      assert.deepEqual(
        [delivery.broadcasts, delivery.expected, delivery.received, delivery.duplicates],
        [8, 48, 48, 0],
      );
      assert.equal(new Set(delivery.batches.map(({ room }) => room)).size, 4);
    }
  });

  it('lose what their members do not get, and a whole room that gets nothing', async (t) => {
    let left = 0;
    const url = await server(
      t,
      documents(async (io, edit) => {
        if (edit.doc === 'doc 3') return;
        const members = await io.in(edit.doc).fetchSockets();
        // One of six is left out.
        if (edit.doc === 'doc 1') left++;
        for (const one of members.slice(edit.doc === 'doc 1' ? 1 : 0)) one.emit('edited', edit);
      }),
    );
    const { delivery } = await measureOwn({ url, delivery: EDITED, ...twelve });
    assert.equal(left, 2);
    assert.deepEqual([delivery.expected, delivery.received, delivery.lostConnected], [48, 34, 14]);
    const lost = delivery.batches.filter(({ room }) => room === 'doc 3').map((one) => [one.expected, one.received]);
    assert.deepEqual(lost, [
      [6, 0],
      [6, 0],
    ]);
  });

  it('show a copy that came to a connection of another room', async (t) => {
    const url = await server(
      t,
      documents((io, edit) => io.emit('edited', edit)),
    );
    const { delivery } = await measureOwn({ url, delivery: EDITED, ...twelve });
    assert.deepEqual([delivery.expected, delivery.received, delivery.notMember], [48, 48, 48]);
  });

  it('of users are known by a variable that they bring', async (t) => {
    const url = await server(t, (io) =>
      io.on('connection', (socket) => {
        socket.join(socket.handshake.auth.user ?? 'nobody');
        socket.on('say', ({ to, id }) => io.to(to).emit('said', { id, for: to }));
      }),
    );
    const delivery = {
      ...{ event: 'said', id: '$.0.id', audience: { event: '$.0.for', client: 'user' } },
      publish: { emit: ['say', { to: '$room', id: '$id' }], every: 0.05, count: 10 },
    };
    const brings = (index: number) => ({ overrides: { auth: { user: `user-${index}` } }, rooms: [`user-${index}`] });
    const run = await measureOwn({ url, delivery, brings, connections: 10, processes: 2 });
    assert.deepEqual(run.codes, []);
    assert.deepEqual([run.delivery.expected, run.delivery.received], [10, 10]);
    assert.equal(new Set(run.delivery.batches.map(({ room }) => room)).size, 10);
  });

  it('can each count their own ids, and be named by the answer to the join', async (t) => {
    const seqs = new Map<string, number>();
    let next = 0;
    const url = await server(t, (io) => {
      io.on('connection', (socket) =>
        socket.on('open', async (_, answer) => {
          const room = `table ${next++ % 3}`;
          await socket.join(room);
          answer({ room });
        }),
      );
      const timer = setInterval(() => {
        for (const room of ['table 0', 'table 1', 'table 2']) {
          seqs.set(room, (seqs.get(room) ?? 0) + 1);
          io.to(room).emit('dealt', { seq: seqs.get(room), room });
        }
      }, 100);
      io.httpServer.on('close', () => clearInterval(timer));
    });
    const { delivery, codes } = await measureOwn({
      ...{ url, connections: 12, processes: 2 },
      delivery: { event: 'dealt', id: '$.0.seq', join: 'open', audience: { event: '$.0.room', client: '$.0.room' } },
      options: { broadcasts: { count: 10, interval: 0.1 } },
    });
    assert.deepEqual(codes, []);
    assert.ok(delivery.broadcasts >= 24, `${delivery.broadcasts}`);
    assert.equal(delivery.expected, 4 * delivery.broadcasts);
    assert.equal(delivery.received, delivery.expected);
  });

  it('are refused where no connection is in one', async (t) => {
    const url = await server(
      t,
      documents(() => {}),
    );
    const audience = { event: '$.0.doc', client: '$.0.document' };
    await assert.rejects(
      measureOwn({ url, delivery: { ...EDITED, audience }, ...twelve }),
      (error: Error & { code?: string }) => error.code === 'DELIVERY_UNMATCHED' && /audience/.test(error.message),
    );
  });
});

describe('several messages in one event', { concurrency: 4 }, () => {
  /** Sends four at a time. */
  const batches = (io: Server) => {
    let waiting: Edit[] = [];
    io.on('connection', (socket) =>
      socket.on('edit', (edit: Edit) => {
        waiting.push(edit);
        if (waiting.length < 4) return;
        io.emit('edited', waiting);
        waiting = [];
      }),
    );
  };
  const delivery = { event: 'edited', publish: { emit: ['edit', { id: '$id' }], every: 0.02, count: 20 } };

  for (const client of ['light', 'official'] as const) {
    it(`count each, with the ${client} client`, async (t) => {
      const url = await server(t, batches);
      const { delivery: figures, codes } = await measureOwn({
        ...{ url, client },
        delivery: { ...delivery, id: '$.0.*.id' },
      });
      assert.deepEqual(codes, []);
      assert.deepEqual([figures.broadcasts, figures.expected, figures.received], [20, 200, 200]);
    });
  }

  it('say where the others are, when the path names the first', async (t) => {
    const url = await server(t, batches);
    const { delivery: figures, reasons } = await measureOwn({ url, delivery: { ...delivery, id: '$.0.0.id' } });
    assert.deepEqual([figures.expected, figures.received], [200, 50]);
    const [first] = reasons;
    assert.equal(first?.code, 'IDS_NOT_COUNTED');
    assert.match(first?.fix ?? '', /\$\.0\.\*\.id/);
  });

  it('can go to rooms of their own', async (t) => {
    const url = await server(
      t,
      documents((io, edit) => io.to(edit.doc).emit('edited', [edit, { ...edit, id: `${edit.id} again` }])),
    );
    const audience = { event: '$.0.*.doc', client: '$.0.doc' };
    const { delivery: figures } = await measureOwn({
      url,
      delivery: { ...EDITED, id: '$.0.*.id', audience },
      ...twelve,
    });
    assert.deepEqual([figures.expected, figures.received, figures.outside], [48, 48, 48]);
  });
});
