/** Rooms of one name in two namespaces, as a server with a namespace for each tenant has: each has members of its own. */
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { Namespace, Server } from 'socket.io';
import { startChat } from '../../helpers/chat-server.ts';
import { measureOwn } from '../../helpers/own-event-run.ts';

interface Edit {
  id: string;
  doc: string;
}

/** In `/`, `/a` and `/b`, each with the same documents. @param answers what a join by event is answered */
async function tenants(t: TestContext, answers: (doc: string) => unknown = () => 'ok'): Promise<string> {
  const serve = (tenant: Namespace) =>
    tenant.on('connection', (socket) => {
      socket.join(socket.handshake.auth.doc ?? []);
      socket.on('open', async ({ doc }: Edit, answer: (value: unknown) => void) => {
        await socket.join(doc);
        answer(answers(doc));
      });
      socket.on('edit', (edit: Edit) => tenant.to(edit.doc).emit('edited', edit));
    });
  const { url } = await startChat(t, (io: Server) => ['/', '/a', '/b'].map((name) => io.of(name)).forEach(serve));
  return url;
}

const publish = { emit: ['edit', { doc: '$room', id: '$id' }], every: 0.05, count: 8 };
const EDITED = { event: 'edited', id: '$.0.id', publish };
/** Of twelve connections, 3 are in `/a` alone, 3 in `/b` alone, 3 in both, and 3 in the main one; `spare` is only there. */
const OF_EACH = [['/a'], ['/b'], ['/a', '/b'], ['/']];
const docOf = (index: number) => (index % 4 === 3 ? 'spare' : 'doc');
const namespacesOf = (index: number) => OF_EACH[index % 4] as string[];
/** Publishers are in the last one. */
const twelve = { connections: 12, processes: 2, namespaces: ['/', '/a', '/b'] };

describe('rooms of one name in several namespaces', { concurrency: 4 }, () => {
  for (const client of ['light', 'official'] as const) {
    it(`have the members that joined there, with the ${client} client`, async (t) => {
      const url = await tenants(t);
      const delivery = { ...EDITED, join: 'open', audience: { event: '$.0.doc', client: '$.0.doc' } };
      const joins = (index: number) => [[{ doc: docOf(index) }]];
      const brings = (index: number) => ({ namespaces: namespacesOf(index) });
      const run = await measureOwn({ url, delivery, client, ...twelve, joins, brings });
      assert.deepEqual(run.codes, []);
      const { broadcasts, expected, received, notMember } = run.delivery;
      assert.deepEqual([broadcasts, expected, received, notMember], [8, 48, 48, 0]);
      assert.deepEqual([...new Set(run.delivery.batches.map(({ room }) => room))], ['/b,doc']);
    });

    it(`have the members whose variable names them, with the ${client} client`, async (t) => {
      const url = await tenants(t);
      const delivery = { ...EDITED, audience: { event: '$.0.doc', client: 'doc' } };
      const brings = (index: number) => ({
        ...{ namespaces: namespacesOf(index), rooms: [docOf(index)] },
        overrides: { auth: { doc: docOf(index) } },
      });
      const run = await measureOwn({ url, delivery, client, ...twelve, brings });
      assert.deepEqual(run.codes, []);
      assert.deepEqual([run.delivery.broadcasts, run.delivery.expected, run.delivery.received], [8, 48, 48]);
    });
  }

  it('have the members that the answer to the join puts there', async (t) => {
    const url = await tenants(t, (room) => ({ room }));
    const delivery = { ...EDITED, join: 'open', audience: { event: '$.0.doc', client: '$.0.room' } };
    const joins = (index: number) => [[{ doc: docOf(index) }]];
    const brings = (index: number) => ({ namespaces: namespacesOf(index) });
    const run = await measureOwn({ url, delivery, ...twelve, joins, brings });
    assert.deepEqual(run.codes, []);
    assert.deepEqual([run.delivery.broadcasts, run.delivery.expected, run.delivery.received], [8, 48, 48]);
  });
});
