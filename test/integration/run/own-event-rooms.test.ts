/**
 * Tests the expected number of copies on servers without `instrument(io)` that send to rooms, to several namespaces, or
 * several messages in one event.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Server } from 'socket.io';
import type { CapacityError } from '../../../protocol/codes/errors.ts';
import { startChat } from '../../helpers/chat-server.ts';
import { assertOwn, measureOwn } from '../../helpers/own-event-run.ts';

interface Edit {
  id: string;
  doc: string;
}

/** Returns a server with documents that clients open. An edit goes to every client that has opened the document. */
const documents = (onEdit: (io: Server, edit: Edit) => void) => (io: Server) =>
  io.on('connection', (socket) => {
    socket.on('open', async ({ doc }: Edit, done: () => void) => {
      await socket.join(doc);
      done();
    });
    socket.on('edit', (edit: Edit) => onEdit(io, edit));
  });

const EDITED = {
  event: 'edited',
  id: '$.0.id',
  join: 'open',
  audience: { event: '$.0.doc', client: '$.0.doc' },
  publish: { emit: ['edit', { doc: '$room', id: '$id' }], every: 0.05, count: 8 },
};
/** Each of twelve connections opens two of four documents, so each document has six connections. */
const joins = (index: number) => [0, 1].map((nth) => [{ doc: `doc ${(index + nth) % 4}` }]);
const TWELVE = { delivery: EDITED, connections: 12, processes: 2, joins };
const EACH = { broadcasts: 8, expected: 48, received: 48, duplicates: 0 };
const ALL = { ...EACH, unexpected: 0, notMember: 0, outside: 0 };

describe('delivery to rooms', { concurrency: 4 }, () => {
  it('the run expects copies of a message to a room at its members only', async (t) => {
    const server = documents((io, edit) => io.to(edit.doc).emit('edited', edit));
    const { delivery } = await assertOwn(t, server, TWELVE, { delivery: ALL, latency: { from: 'publisher' } });
    const rooms = new Set(delivery.batches.map(({ room }) => room));
    assert.deepEqual([...rooms].sort(), ['doc 0', 'doc 1', 'doc 2', 'doc 3']);
  });

  it('the run counts copies that single members of a room lost, and that a whole room lost', async (t) => {
    // Leaves out one of six members in one room.
    const careless = documents(async (io, edit) => {
      if (edit.doc === 'doc 3') return;
      const members = await io.in(edit.doc).fetchSockets();
      for (const member of members.slice(edit.doc === 'doc 1' ? 1 : 0)) member.emit('edited', edit);
    });
    const { delivery } = await assertOwn(t, careless, TWELVE, {
      codes: ['COPIES_LOST'],
      delivery: { expected: 48, received: 34, lostConnected: 14 },
    });
    const silent = delivery.batches.filter(({ room }) => room === 'doc 3');
    assert.deepEqual([silent.length, ...silent.map(({ received }) => received)], [2, 0, 0]);
  });

  it('refuses the run before the load if the received event does not contain the room', async (t) => {
    const withoutRoom = (io: Server) =>
      io.on('connection', (socket) => {
        socket.on('open', async (doc: string, done: () => void) => {
          await socket.join(doc);
          done();
        });
        socket.on('edit', ({ id, doc }: Edit) => io.to(doc).emit('edited', { id }));
      });
    const { url } = await startChat(t, withoutRoom);
    const delivery = { ...EDITED, audience: { event: '$.0.doc', client: '$.0' } };
    await assert.rejects(measureOwn({ url, delivery, trial: true }), ({ message, fix }: CapacityError) => {
      assert.match(message, /^the received `edited` has no room at \$\.0\.doc/);
      assert.match(fix ?? '', /io\.to\(room\)\.emit\('edited'/);
      return true;
    });
  });

  it('reports copies of a room’s message that connections of another room received', async (t) => {
    const toAll = documents((io, edit) => io.emit('edited', edit));
    const delivery = { expected: 48, received: 48, notMember: 48 };
    await assertOwn(t, toAll, TWELVE, { codes: ['WRONG_COPIES'], delivery });
  });

  it('the run reads the room of each user from a variable of the flow', async (t) => {
    const server = (io: Server) =>
      io.on('connection', (socket) => {
        socket.join(socket.handshake.auth.user ?? 'nobody');
        socket.on('say', ({ to, id }) => io.to(to).emit('said', { id, for: to }));
      });
    const delivery = {
      ...{ event: 'said', id: '$.0.id', audience: { event: '$.0.for', client: 'user' } },
      publish: { emit: ['say', { to: '$room', id: '$id' }], every: 0.05, count: 10 },
    };
    const settingsOf = (index: number) => ({
      overrides: { auth: { user: `user-${index}` } },
      rooms: [`user-${index}`],
    });
    const expected = { delivery: { expected: 10, received: 10 } };
    const run = await assertOwn(t, server, { delivery, brings: settingsOf, connections: 10, processes: 2 }, expected);
    assert.equal(new Set(run.delivery.batches.map(({ room }) => room)).size, 10);
  });

  it('the run counts message ids per room, and reads the room from the acknowledgement of the join', async (t) => {
    let joined = 0;
    let seq = 0;
    const dealer = (io: Server) => {
      io.on('connection', (socket) =>
        socket.on('open', async (_, answer) => {
          const room = `table ${joined++ % 3}`;
          await socket.join(room);
          answer({ room });
        }),
      );
      const timer = setInterval(() => {
        seq++;
        for (const room of ['table 0', 'table 1', 'table 2']) io.to(room).emit('dealt', { seq, room });
      }, 100);
      io.httpServer.on('close', () => clearInterval(timer));
    };
    const { delivery } = await assertOwn(t, dealer, {
      ...{ connections: 12, processes: 2, options: { broadcasts: { count: 10, interval: 0.1 } } },
      delivery: { event: 'dealt', id: '$.0.seq', join: 'open', audience: { event: '$.0.room', client: '$.0.room' } },
    });
    assert.ok(delivery.broadcasts >= 24, `${delivery.broadcasts}`);
    assert.equal(delivery.expected, 4 * delivery.broadcasts);
    assert.equal(delivery.received, delivery.expected);
  });

  it('refuses the run if no connection is in a room', async (t) => {
    const audience = { event: '$.0.doc', client: '$.0.document' };
    const run = assertOwn(
      t,
      documents(() => {}),
      { ...TWELVE, delivery: { ...EDITED, audience } },
    );
    await assert.rejects(run, { code: 'DELIVERY_UNMATCHED', message: /audience/ });
  });
});

describe('delivery to rooms of one name in several namespaces', { concurrency: 4 }, () => {
  /**
   * Returns a server with the namespaces `/`, `/a` and `/b`, like one for each tenant.
   * @param answers returns the acknowledgement of a join
   */
  const tenants = (answers: (doc: string) => unknown) => (io: Server) => {
    for (const tenant of ['/', '/a', '/b'].map((name) => io.of(name))) {
      tenant.on('connection', (socket) => {
        socket.join(socket.handshake.auth.doc ?? []);
        socket.on('open', async ({ doc }: Edit, answer: (value: unknown) => void) => {
          await socket.join(doc);
          answer(answers(doc));
        });
        socket.on('edit', (edit: Edit) => tenant.to(edit.doc).emit('edited', edit));
      });
    }
  };
  /**
   * Namespaces of twelve connections: 3 only in `/a`, 3 only in `/b`, 3 in both, and 3 only in `/`. The room `spare`
   * exists only in `/`.
   */
  const OF_EACH = [['/a'], ['/b'], ['/a', '/b'], ['/']];
  const docOf = (index: number) => (index % 4 === 3 ? 'spare' : 'doc');
  const ofEach = (index: number) => ({ namespaces: OF_EACH[index % 4] as string[] });
  const byEvent = { joins: (index: number) => [[{ doc: docOf(index) }]], brings: ofEach };
  const settingsOf = (index: number) => ({
    ...ofEach(index),
    rooms: [docOf(index)],
    overrides: { auth: { doc: docOf(index) } },
  });
  /** Publishers are in the last namespace of the list. */
  const twelve = { connections: 12, processes: 2, namespaces: ['/', '/a', '/b'] };
  const { join: _, ...undeclared } = EDITED;
  const audience = (client: string) => ({ audience: { event: '$.0.doc', client } });

  for (const client of ['light', 'official'] as const) {
    it(`the run counts members of rooms in several namespaces by their join events, with the ${client} client`, async (t) => {
      const run = { delivery: EDITED, client, ...twelve, ...byEvent };
      const { delivery } = await assertOwn(
        t,
        tenants(() => 'ok'),
        run,
        { delivery: { ...EACH, notMember: 0 } },
      );
      assert.deepEqual([...new Set(delivery.batches.map(({ room }) => room))], ['/b,doc']);
    });
  }

  it('the run counts members of rooms in several namespaces by a variable of the flow', async (t) => {
    const run = { delivery: { ...undeclared, ...audience('doc') }, ...twelve, brings: settingsOf };
    await assertOwn(
      t,
      tenants(() => 'ok'),
      run,
      { delivery: EACH },
    );
  });

  it('the run counts members of rooms in several namespaces by the acknowledgement of their join', async (t) => {
    const run = { delivery: { ...EDITED, ...audience('$.0.room') }, ...twelve, ...byEvent };
    await assertOwn(
      t,
      tenants((room) => ({ room })),
      run,
      { delivery: EACH },
    );
  });
});

describe('delivery of several messages in one event', { concurrency: 4 }, () => {
  /** Returns a server that sends four messages in one event. */
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

  it('the run counts each of several messages in one event', async (t) => {
    const run = { delivery: { ...delivery, id: '$.0.*.id' } };
    await assertOwn(t, batches, run, { delivery: { broadcasts: 20, expected: 200, received: 200 } });
  });

  it('the run expects each of several messages in one event in its own room', async (t) => {
    const twice = documents((io, edit) => io.to(edit.doc).emit('edited', [edit, { ...edit, id: `${edit.id} again` }]));
    const own = { ...EDITED, id: '$.0.*.id', audience: { event: '$.0.*.doc', client: '$.0.doc' } };
    const figures = { expected: 48, received: 48, outside: 48 };
    await assertOwn(t, twice, { ...TWELVE, delivery: own }, { delivery: figures });
  });
});
