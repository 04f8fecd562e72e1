/** nginx, two workers under PM2 and Redis, as clients see them. */
import assert from 'node:assert/strict';
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import type { Socket } from 'socket.io-client';
import type { Broadcast, BroadcastSent, Joined } from '../../protocol/events.ts';
import { findStack, type Stack, startStack } from '../../server/stack/stack.ts';
import { ask, connectClient, onceOf } from '../helpers/app.ts';
import { eventually } from '../helpers/poll.ts';
import { living, tempStateDir } from '../helpers/stack.ts';

const CLIENTS = 24;

suite('a full stack', () => {
  const stateDir = tempStateDir({ after });
  let stack: Stack;
  const sockets: Socket[] = [];

  before(async () => {
    stack = await startStack({ profile: 'full', port: 0, connections: 1000, workers: 2, stateDir });
  });
  after(() => stack?.close());

  async function connectTo(url: string, options: Parameters<typeof connectClient>[1] = {}): Promise<Socket> {
    const socket = await connectClient(url, options);
    sockets.push(socket);
    return socket;
  }

  /** Connects through nginx and joins a room. */
  async function member(room: string, transport: 'websocket' | 'polling'): Promise<{ socket: Socket; joined: Joined }> {
    const socket = await connectTo(stack.state.target, { transports: [transport] });
    const joined: Joined = await socket.timeout(5_000).emitWithAck('join_room', room);
    return { socket, joined };
  }

  function leaveAll(): void {
    for (const socket of sockets.splice(0)) socket.disconnect();
  }

  test('names the processes of each layer', async () => {
    const { state } = stack;
    assert.equal(state.phase, 'up');
    assert.equal(state.profile, 'full');
    assert.deepEqual(
      state.workers.map(({ id, restarts }) => ({ id, restarts })),
      [
        { id: 'w0', restarts: 0 },
        { id: 'w1', restarts: 0 },
      ],
    );
    // 2 workers, PM2, nginx and its workers, Redis, the keeper.
    assert.equal(living(state).length, 6 + state.nginxWorkerPids.length);
    assert.ok(state.nginxWorkerPids.length >= 1);
    assert.equal(state.ownerPid, process.pid);
    const status = await (await fetch(state.nginxStatusUrl ?? '')).text();
    assert.match(status, /^Active connections: \d+/);
  });

  test('keeps its token from other users', () => {
    assert.equal(statSync(join(stateDir, 'state.json')).mode & 0o777, 0o600);
    assert.equal(statSync(stateDir).mode & 0o777, 0o700);
  });

  test('does not proxy the control namespace', async () => {
    const url = `${stack.state.target}/capacity`;
    await assert.rejects(connectTo(url, { auth: { token: stack.state.token } }), /namespace/i);
    leaveAll();
  });

  for (const transport of ['websocket', 'polling'] as const) {
    test(`${transport}: spreads clients evenly, and a broadcast reaches those of both workers`, async () => {
      const room = `room-${transport}`;
      const members = await Promise.all(Array.from({ length: CLIENTS }, () => member(room, transport)));
      const perWorker = Object.groupBy(members, ({ joined }) => joined.worker);
      assert.deepEqual(Object.keys(perWorker).sort(), ['w0', 'w1']);
      assert.equal(perWorker.w0?.length, CLIENTS / 2);

      const received = members.map(({ socket }) => onceOf(socket, 'broadcast'));
      const control = await connectTo(`${stack.state.workers[0]?.controlUrl}/capacity`, {
        auth: { token: stack.state.token },
      });
      const sent = await ask<BroadcastSent>(control, 'broadcast', { room, bytes: 1000, seq: 7 });
      assert.equal(sent.expected, CLIENTS);
      for (const [first] of await Promise.all(received)) {
        const message = first as Broadcast;
        assert.equal(message.seq, 7);
        assert.equal(message.worker, 'w0');
        assert.equal(message.data.length, 1000);
      }
      leaveAll();
    });
  }

  test('a session id goes to its own worker only', async () => {
    const url = `${stack.state.target}/socket.io/?EIO=4&transport=polling`;
    const open = await (await fetch(url)).text();
    const { sid } = JSON.parse(open.slice(1)) as { sid: string };
    const [worker] = sid.split('-');
    const other = worker === 'w0' ? 'w1' : 'w0';
    assert.equal((await fetch(`${url}&sid=${other}-${sid.slice(3)}`)).status, 400);
    const close = await fetch(`${url}&sid=${sid}`, { method: 'POST', body: '1' });
    assert.equal(close.status, 200);
  });

  test('a second stack in the same place is refused', async () => {
    await assert.rejects(startStack({ profile: 'embedded', port: 0, connections: 10, stateDir }), {
      code: 'STACK_RUNNING',
    });
    assert.equal((await findStack(stateDir)).status, 'up');
  });

  test('a worker that died is back, and its restart is counted', async () => {
    const before = stack.state.workers[1]?.pid ?? 0;
    process.kill(before, 'SIGKILL');
    const worker = await eventually('restart of w1', async () => {
      const now = (await stack.refresh()).workers[1];
      return now && now.pid !== 0 && now.pid !== before ? now : undefined;
    });
    assert.equal(worker.restarts, 1);
    assert.equal(stack.state.workers[0]?.restarts, 0);
    // Whoever looks at the state from outside sees it too.
    const found = await findStack(stateDir);
    assert.equal(found.status === 'up' && found.stack.state.workers[1]?.restarts, 1);
    await eventually('health of w1', () =>
      fetch(`${worker.controlUrl}/healthz`).then(
        ({ ok }) => ok,
        () => false,
      ),
    );
  });

  test('close() leaves nothing behind', async () => {
    const { state } = stack;
    await stack.close();
    await stack.close();
    assert.deepEqual(living(state), []);
    assert.equal(existsSync(stateDir), false);
    assert.equal((await findStack(stateDir)).status, 'down');
    await assert.rejects(fetch(state.target));
  });
});
