/** A server of somebody else's that sends to rooms, in several namespaces, or several messages in one event: who is expected. */
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

/** Documents that clients open, and changes that go to all who have opened one. */
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
/** Four documents, of which each connection has two: six of twelve connections each. */
const joins = (index: number) => [0, 1].map((nth) => [{ doc: `doc ${(index + nth) % 4}` }]);
const TWELVE = { delivery: EDITED, connections: 12, processes: 2, joins };
const EACH = { broadcasts: 8, expected: 48, received: 48, duplicates: 0 };
const ALL = { ...EACH, unexpected: 0, notMember: 0, outside: 0 };

describe('rooms', { concurrency: 4 }, () => {
  it('are each expected to get their own', async (t) => {
    const server = documents((io, edit) => io.to(edit.doc).emit('edited', edit));
    const { delivery } = await assertOwn(t, server, TWELVE, { delivery: ALL, latency: { from: 'publisher' } });
    const rooms = new Set(delivery.batches.map(({ room }) => room));
    assert.deepEqual([...rooms].sort(), ['doc 0', 'doc 1', 'doc 2', 'doc 3']);
  });

  it('lose what their members do not get, and a whole room that gets nothing', async (t) => {
    // In one room, one of six is left out.
    const careless = documents(async (io, edit) => {
      if (edit.doc === 'doc 3') return;
      const members = await io.in(edit.doc).fetchSockets();
      for (const one of members.slice(edit.doc === 'doc 1' ? 1 : 0)) one.emit('edited', edit);
    });
    const { delivery } = await assertOwn(t, careless, TWELVE, {
      codes: ['COPIES_LOST'],
      delivery: { expected: 48, received: 34, lostConnected: 14 },
    });
    const silent = delivery.batches.filter(({ room }) => room === 'doc 3');
    assert.deepEqual([silent.length, ...silent.map(({ received }) => received)], [2, 0, 0]);
  });

  it('must be in the event that the server sends, which the run says before the load', async (t) => {
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

  it('show a copy that came to a connection of another room', async (t) => {
    const toAll = documents((io, edit) => io.emit('edited', edit));
    const delivery = { expected: 48, received: 48, notMember: 48 };
    await assertOwn(t, toAll, TWELVE, { codes: ['WRONG_COPIES'], delivery });
  });

  it('of users are known by a variable that they bring', async (t) => {
    const server = (io: Server) =>
      io.on('connection', (socket) => {
        socket.join(socket.handshake.auth.user ?? 'nobody');
        socket.on('say', ({ to, id }) => io.to(to).emit('said', { id, for: to }));
      });
    const delivery = {
      ...{ event: 'said', id: '$.0.id', audience: { event: '$.0.for', client: 'user' } },
      publish: { emit: ['say', { to: '$room', id: '$id' }], every: 0.05, count: 10 },
    };
    const brings = (index: number) => ({ overrides: { auth: { user: `user-${index}` } }, rooms: [`user-${index}`] });
    const expected = { delivery: { expected: 10, received: 10 } };
    const run = await assertOwn(t, server, { delivery, brings, connections: 10, processes: 2 }, expected);
    assert.equal(new Set(run.delivery.batches.map(({ room }) => room)).size, 10);
  });

  it('can each count their own ids, and be named by the answer to the join', async (t) => {
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

  it('are refused where no connection is in one', async (t) => {
    const audience = { event: '$.0.doc', client: '$.0.document' };
    const refused = assertOwn(
      t,
      documents(() => {}),
      { ...TWELVE, delivery: { ...EDITED, audience } },
    );
    await assert.rejects(refused, { code: 'DELIVERY_UNMATCHED', message: /audience/ });
  });
});

describe('rooms of one name in several namespaces', { concurrency: 4 }, () => {
  /** In `/`, `/a` and `/b`, as a server with a namespace for each tenant has. @param answers what a join by event is answered */
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
  /** Of twelve connections, 3 are in `/a` alone, 3 in `/b` alone, 3 in both, and 3 in the main one; `spare` is only there. */
  const OF_EACH = [['/a'], ['/b'], ['/a', '/b'], ['/']];
  const docOf = (index: number) => (index % 4 === 3 ? 'spare' : 'doc');
  const ofEach = (index: number) => ({ namespaces: OF_EACH[index % 4] as string[] });
  const byEvent = { joins: (index: number) => [[{ doc: docOf(index) }]], brings: ofEach };
  const brings = (index: number) => ({
    ...ofEach(index),
    rooms: [docOf(index)],
    overrides: { auth: { doc: docOf(index) } },
  });
  /** Publishers are in the last one. */
  const twelve = { connections: 12, processes: 2, namespaces: ['/', '/a', '/b'] };
  const { join: _, ...undeclared } = EDITED;
  const audience = (client: string) => ({ audience: { event: '$.0.doc', client } });

  for (const client of ['light', 'official'] as const) {
    it(`have the members that joined there, with the ${client} client`, async (t) => {
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

  it('have the members whose variable names them', async (t) => {
    const run = { delivery: { ...undeclared, ...audience('doc') }, ...twelve, brings };
    await assertOwn(
      t,
      tenants(() => 'ok'),
      run,
      { delivery: EACH },
    );
  });

  it('have the members that the answer to the join puts there', async (t) => {
    const run = { delivery: { ...EDITED, ...audience('$.0.room') }, ...twelve, ...byEvent };
    await assertOwn(
      t,
      tenants((room) => ({ room })),
      run,
      { delivery: EACH },
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

  it('count each', async (t) => {
    const run = { delivery: { ...delivery, id: '$.0.*.id' } };
    await assertOwn(t, batches, run, { delivery: { broadcasts: 20, expected: 200, received: 200 } });
  });

  it('can go to rooms of their own', async (t) => {
    const twice = documents((io, edit) => io.to(edit.doc).emit('edited', [edit, { ...edit, id: `${edit.id} again` }]));
    const own = { ...EDITED, id: '$.0.*.id', audience: { event: '$.0.*.doc', client: '$.0.doc' } };
    const figures = { expected: 48, received: 48, outside: 48 };
    await assertOwn(t, twice, { ...TWELVE, delivery: own }, { delivery: figures });
  });
});
