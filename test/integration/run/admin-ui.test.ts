/** Counts of real servers with `@socket.io/admin-ui`. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, it, type TestContext } from 'node:test';
import { instrument } from '@socket.io/admin-ui';
import { createAdapter } from '@socket.io/redis-adapter';
import { createClient } from 'redis';
import type { Server } from 'socket.io';
import { io as connect } from 'socket.io-client';
import { AdminUi } from '../../../plugin/run/receivers/admin-ui.ts';
import { type ChatServer, startChat } from '../../helpers/chat-server.ts';
import { connectionTo } from '../../helpers/connection.ts';
import { eventually } from '../../helpers/poll.ts';
import { startRedis } from '../../helpers/redis.ts';

const { signal } = new AbortController();

/** An admin UI goes on sending when its server is closed, to the end of the process. */
const atEnd: (() => unknown)[] = [];
after(() => Promise.all(atEnd.map((close) => close())));

async function start(t: TestContext, setUp: (io: Server) => void): Promise<ChatServer> {
  const server = await startChat(setUp);
  t.after(() => server.close());
  return server;
}

function counts(adminUi: AdminUi): Record<string, number> {
  return Object.fromEntries(adminUi.servers().map(({ worker, connections }) => [worker, connections]));
}

it('has the clients of one server, those of other namespaces and its own included', async (t) => {
  const { url } = await start(t, (io) => {
    instrument(io, { auth: false, mode: 'production', serverId: 's1', namespaceName: '/ops' });
    io.of('/chat');
  });
  const adminUi = await AdminUi.open({ namespace: '/ops' }, connectionTo(url), signal);
  t.after(() => adminUi.close());
  assert.deepEqual([counts(adminUi), adminUi.reportsEvents, adminUi.connected], [{ s1: 1 }, false, true]);
  const clients = ['/', '/chat'].map((namespace) => connect(`${url}${namespace}`, { forceNew: true }));
  await eventually('both count', () => counts(adminUi).s1 === 3);
  for (const client of clients) client.disconnect();
  await eventually('both have left', () => counts(adminUi).s1 === 1);
});

it('has those of all servers behind one adapter', async (t) => {
  const redis = await startRedis();
  atEnd.push(() => redis.close());
  const key = randomUUID();
  const startJoined = (serverId: string) =>
    start(t, (io) => {
      const [publisher, subscriber] = [createClient({ url: redis.url }), createClient({ url: redis.url })];
      for (const client of [publisher, subscriber]) {
        client.on('error', () => {});
        void client.connect();
        atEnd.push(() => client.destroy());
      }
      io.adapter(createAdapter(publisher, subscriber, { key }));
      instrument(io, { auth: false, mode: 'production', serverId });
    });
  const [first, second] = [await startJoined('s1'), await startJoined('s2')];
  const client = connect(second.url);
  t.after(() => client.disconnect());
  const adminUi = await AdminUi.open({ namespace: '/admin' }, connectionTo(first.url), signal);
  t.after(() => adminUi.close());
  await eventually('the other server’s client counts', () => counts(adminUi).s2 === 1);
  assert.deepEqual(counts(adminUi), { s1: 1, s2: 1 });
});

it('needs its credentials, and notices that it reports every event', async (t) => {
  // Of "secret".
  const password = '$2a$04$AObHeGikD12.FuAE1/hlIu4kMgJsEaPEJt.LMbe9.C.qt6wMa2W3i';
  const { url } = await start(t, (io) => {
    instrument(io, { auth: { type: 'basic', username: 'admin', password } });
  });
  const open = (auth?: { username: string; password: string }) =>
    AdminUi.open({ namespace: '/admin', ...(auth && { auth }) }, connectionTo(url), signal);
  await assert.rejects(open(), { code: 'TARGET_UNREACHABLE', message: /invalid credentials/, fix: /workers\.adminUi/ });
  const adminUi = await open({ username: 'admin', password: 'secret' });
  t.after(() => adminUi.close());
  assert.equal(adminUi.reportsEvents, true);
  const [server] = adminUi.servers();
  assert.deepEqual([server?.pid, server?.worker], [process.pid, `${server?.host}#${process.pid}`]);
});

it('is not there', async (t) => {
  const { url } = await start(t, () => {});
  const opening = AdminUi.open({ namespace: '/admin' }, connectionTo(url), signal);
  await assert.rejects(opening, {
    code: 'TARGET_UNREACHABLE',
    message: /^the admin UI at \/admin .*Invalid namespace/,
  });
});
