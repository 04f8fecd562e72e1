/**
 * Tests `npx socketio-capacity stack up | status | down`, and the nginx, the two workers under PM2 and the Redis of the
 * stack.
 */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { execa } from 'execa';
import type { Socket } from 'socket.io-client';
import type { BroadcastMessage, BroadcastSent, JoinAck } from '../../protocol/wire/events.ts';
import { findStack, type Stack } from '../../server/stack/stack.ts';
import { ask, connectClient, onceOf } from '../helpers/app.ts';
import { CLI } from '../helpers/cli.ts';
import { columns } from '../helpers/columns.ts';
import { eventually } from '../helpers/poll.ts';
import { processes } from '../helpers/process.ts';
import { living, tempStateDir } from '../helpers/stack.ts';

const CLIENTS = 24;

suite('a full stack', () => {
  const stateDir = tempStateDir({ after });
  let stack: Stack;
  const command = (...args: string[]) => {
    const env = { SOCKETIO_CAPACITY_HOME: stateDir };
    return execa(process.execPath, [CLI, 'stack', ...args], { env, all: true, reject: false });
  };
  const sockets: Socket[] = [];

  before(async () => {
    assert.equal((await command('status')).exitCode, 3);
    const up = await command('up', '--port', '0', '--connections', '1000', '--workers', '2');
    const found = await findStack(stateDir);
    assert.ok(up.exitCode === 0 && found.status === 'up', up.all);
    stack = found.stack;
    const { target, workers, token } = stack.state;
    assert.ok(up.stdout.includes(target) && up.stdout.includes(workers[0]?.controlUrl ?? 'none'), up.all);
    assert.equal(up.all.includes(token), false);
  });

  async function connectTo(url: string, options: Parameters<typeof connectClient>[1] = {}): Promise<Socket> {
    const socket = await connectClient(url, options);
    sockets.push(socket);
    return socket;
  }

  /** Connects through nginx and joins a room. */
  async function connectMember(
    room: string,
    transport: 'websocket' | 'polling',
  ): Promise<{ socket: Socket; joined: JoinAck }> {
    const socket = await connectTo(stack.state.target, { transports: [transport] });
    const joined: JoinAck = await socket.timeout(5_000).emitWithAck('join_room', room);
    return { socket, joined };
  }

  function disconnectAll(): void {
    for (const socket of sockets.splice(0)) socket.disconnect();
  }

  test('the stack lists the processes of each layer', async () => {
    const { state } = stack;
    assert.deepEqual([state.phase, state.profile, state.ownerPid], ['up', 'full', undefined]);
    assert.deepEqual(columns(state.workers, 'id', 'restarts'), { id: ['w0', 'w1'], restarts: [0, 0] });
    assert.equal(living(state).length, 5 + state.nginxWorkerPids.length);
    assert.ok(state.nginxWorkerPids.length >= 1);
    const all = [...state.nginxWorkerPids].sort();
    // Removes a worker of nginx from the state, as if nginx had replied before it started its last worker.
    state.nginxWorkerPids.pop();
    assert.deepEqual([...(await stack.refresh()).nginxWorkerPids].sort(), all);
    const status = await (await fetch(state.nginxStatusUrl ?? '')).text();
    assert.match(status, /^Active connections: \d+/);
  });

  test('the stack keeps its secrets in two files, and hides all files from other users', () => {
    const { token, redisUrl = '' } = stack.state;
    const paths = readdirSync(stateDir, { recursive: true, encoding: 'utf8' }).map((path) => join(stateDir, path));
    const open = [stateDir, ...paths].filter((path) => statSync(path).mode & 0o077);
    // The sockets of PM2 are open to its group, but only this user can enter their folder.
    assert.deepEqual(
      open.sort(),
      ['pub', 'rpc'].map((name) => join(stateDir, `pm2/${name}.sock`)),
    );
    const files = paths.filter((path) => statSync(path).isFile());
    const holders = (secret: string) => files.filter((path) => readFileSync(path, 'utf8').includes(secret)).sort();
    const { password } = new URL(redisUrl);
    assert.ok(token.length >= 32 && password.length >= 32);
    assert.deepEqual(holders(token), [join(stateDir, 'state.json')]);
    assert.deepEqual(holders(password), [join(stateDir, 'redis/0/redis.conf'), join(stateDir, 'state.json')]);
    for (const { command } of processes()) {
      assert.ok(!command.includes(token) && !command.includes(password), command);
    }
  });

  test('the stack prints its status without secrets', async () => {
    const { token, redisUrl = '', target, workers } = stack.state;
    const { password, host } = new URL(redisUrl);
    const printed = [await command('status'), await command('status', '--json')];
    for (const { exitCode, all } of printed) {
      assert.equal(exitCode, 0);
      assert.ok(all.includes(`redis://${host}`) && !all.includes(token) && !all.includes(password), all);
    }
    const [text = '', json = ''] = printed.map(({ stdout }) => stdout);
    assert.match(text, new RegExp(`worker w0.*${workers[0]?.pid}`));
    assert.equal(JSON.parse(json).target, target);
  });

  test('nginx does not proxy the control namespace', async () => {
    const url = `${stack.state.target}/capacity`;
    const extraHeaders = { authorization: `Bearer ${stack.state.token}` };
    await assert.rejects(connectTo(url, { extraHeaders }), /namespace/i);
    disconnectAll();
  });

  for (const transport of ['websocket', 'polling'] as const) {
    test(`nginx spreads ${transport} clients evenly, and a broadcast reaches clients of both workers`, async () => {
      const room = `room-${transport}`;
      const members = await Promise.all(Array.from({ length: CLIENTS }, () => connectMember(room, transport)));
      const perWorker = Object.groupBy(members, ({ joined }) => joined.worker);
      assert.deepEqual(Object.keys(perWorker).sort(), ['w0', 'w1']);
      assert.equal(perWorker.w0?.length, CLIENTS / 2);

      const received = members.map(({ socket }) => onceOf(socket, 'broadcast'));
      const control = await connectTo(`${stack.state.workers[0]?.controlUrl}/capacity`, {
        extraHeaders: { authorization: `Bearer ${stack.state.token}` },
      });
      const sent = await ask<BroadcastSent>(control, 'broadcast', { room, bytes: 1000, seq: 7 });
      assert.equal(sent.expected, CLIENTS);
      for (const [first] of await Promise.all(received)) {
        const { seq, worker, data } = first as BroadcastMessage;
        assert.deepEqual([seq, worker, data.length], [7, 'w0', 1000]);
      }
      disconnectAll();
    });
  }

  test('nginx routes requests of a session to its own worker only', async () => {
    const url = `${stack.state.target}/socket.io/?EIO=4&transport=polling`;
    const open = await (await fetch(url)).text();
    const { sid } = JSON.parse(open.slice(1)) as { sid: string };
    const [worker] = sid.split('-');
    const other = worker === 'w0' ? 'w1' : 'w0';
    assert.equal((await fetch(`${url}&sid=${other}-${sid.slice(3)}`)).status, 400);
    const close = await fetch(`${url}&sid=${sid}`, { method: 'POST', body: '1' });
    assert.equal(close.status, 200);
  });

  test('the stack command refuses to start a second stack in the same folder', async () => {
    const { exitCode, stderr } = await command('up', '--profile', 'embedded', '--port', '0');
    assert.deepEqual([exitCode, /STACK_RUNNING/.test(stderr)], [2, true], stderr);
    assert.equal((await findStack(stateDir)).status, 'up');
  });

  test('the stack restarts a killed worker, and counts the restart', async () => {
    const before = stack.state.workers[1]?.pid ?? 0;
    process.kill(before, 'SIGKILL');
    const worker = await eventually('restart of w1', async () => {
      const now = (await stack.refresh()).workers[1];
      return now && now.pid !== 0 && now.pid !== before ? now : undefined;
    });
    assert.equal(worker.restarts, 1);
    assert.equal(stack.state.workers[0]?.restarts, 0);
    const found = await findStack(stateDir);
    assert.equal(found.status === 'up' && found.stack.state.workers[1]?.restarts, 1);
    await eventually('health of w1', () =>
      fetch(`${worker.controlUrl}/healthz`).then(
        ({ ok }) => ok,
        () => false,
      ),
    );
  });

  test('a stopped stack leaves nothing behind', async () => {
    const { state } = stack;
    for (const { exitCode, all } of [await command('down'), await command('down')]) assert.equal(exitCode, 0, all);
    assert.deepEqual(living(state), []);
    assert.equal(existsSync(stateDir), false);
    assert.equal((await findStack(stateDir)).status, 'down');
    await assert.rejects(fetch(state.target));
  });
});
