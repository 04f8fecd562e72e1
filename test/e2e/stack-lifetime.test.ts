/** Tests the ways in which a stack ends. All its processes and files disappear, unless the stack is persistent. */
import assert from 'node:assert/strict';
import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { openRunTarget } from '../../plugin/run/target/target.ts';
import { findStack, type StackOptions, startStack } from '../../server/stack/stack.ts';
import { markedProcesses } from '../../server/stack/state/marks.ts';
import { childrenOf, processRef, terminateProcesses } from '../../server/stack/state/stack-processes.ts';
import { readStackState, type StackState, writeStackState } from '../../server/stack/state/state.ts';
import { hookConfig } from '../helpers/measurements.ts';
import { eventually } from '../helpers/poll.ts';
import { processes } from '../helpers/process.ts';
import { listen } from '../helpers/raw-listen.ts';
import { mountSmallDisk, NO_MOUNTS, type SmallDisk } from '../helpers/small-disk.ts';
import { living, processesOf, tempStateDir } from '../helpers/stack.ts';

const OWNER = join(import.meta.dirname, '../fixtures/stack-owner.ts');

const FAILING_PM2 = join(import.meta.dirname, '../fixtures/failing-pm2.cjs');

const embedded = (stateDir: string): StackOptions => ({ profile: 'embedded', port: 0, connections: 10, stateDir });
const full = (stateDir: string): StackOptions => ({ ...embedded(stateDir), profile: 'full', workers: 1 });

function startOwner(t: TestContext, options: StackOptions, env: NodeJS.ProcessEnv = {}): ChildProcess {
  const owner = fork(OWNER, [JSON.stringify(options)], { env: { ...process.env, ...env } });
  t.after(() => owner.kill('SIGKILL'));
  return owner;
}

async function assertNothingLeft(state: StackState, stateDir: string): Promise<void> {
  await eventually('end of every process', () => living(state).length === 0);
  await eventually('end of the files', () => !existsSync(stateDir));
}

async function untilStarted(owner: ChildProcess): Promise<StackState> {
  const [state] = await Promise.race([
    once(owner, 'message'),
    once(owner, 'exit').then(([code]) => Promise.reject(new Error(`the owner ended with ${code}`))),
  ]);
  assert.ok(living(state).length > 0);
  return state;
}

/**
 * Starts a stack and kills its owner.
 * @param before makes further damage to the stack
 */
async function leaveStack(t: TestContext, options: StackOptions, before = (_state: StackState) => {}) {
  const owner = startOwner(t, options);
  const state = await untilStarted(owner);
  before(state);
  owner.kill('SIGKILL');
  await once(owner, 'exit');
  return state;
}

test('a stack ends when its owner is killed', async (t) => {
  const stateDir = tempStateDir(t, 'a "b" c');
  const home = join(stateDir, '../home');
  mkdirSync(home);
  const owner = startOwner(t, full(stateDir), { HOME: home });
  const state = await untilStarted(owner);
  assert.equal(state.ownerPid, owner.pid);
  owner.kill('SIGKILL');
  await assertNothingLeft(state, stateDir);
  assert.deepEqual(readdirSync(home), [], 'the user’s own ~/.pm2 is not touched');
});

test('a stack whose owner is killed during the start leaves nothing behind', async (t) => {
  const stateDir = tempStateDir(t);
  const owner = startOwner(t, full(stateDir));
  const state = await eventually('a first process', () => {
    const now = readStackState(stateDir);
    return typeof now === 'object' && now.redisNodes[0]?.pid ? now : undefined;
  });
  assert.equal(state.phase, 'starting');
  owner.kill('SIGKILL');
  await assertNothingLeft(state, stateDir);
});

test('the next run waits until the previous embedded stack has ended', async (t) => {
  const stateDir = tempStateDir(t);
  const old = await leaveStack(t, embedded(stateDir));
  assert.deepEqual([old.profile, old.nginxPid, old.redisNodes, old.redisUrl], ['embedded', undefined, [], undefined]);
  assert.equal(old.workers.length, 1);
  const stack = await startStack(embedded(stateDir));
  assert.deepEqual(living(old), []);
  assert.notEqual(stack.state.token, old.token);
  await stack.close();
  await stack.close();
  assert.equal(existsSync(stateDir), false);
});

test('a stack whose keeper and owner were killed together is ended by the next run at its port', async (t) => {
  const stateDir = tempStateDir(t);
  const old = await leaveStack(t, full(stateDir), ({ keeperPid }) => process.kill(keeperPid as number, 'SIGKILL'));
  assert.ok(living(old).length > 3, 'nginx, Redis, PM2 and a worker');
  setVariable(t, 'SOCKETIO_CAPACITY_HOME', stateDir);
  const stack = { port: Number(new URL(old.target).port) };
  const settings = hookConfig({ stack, profile: 'embedded' }, { target: old.target });
  const messages: string[] = [];
  const target = await openRunTarget(settings, 10, (text) => messages.push(text), new AbortController().signal);
  assert.deepEqual([target.profile, target.url], ['embedded', old.target], 'a new stack, not the old one');
  assert.match(messages.join(), /left by a killed run/);
  assert.deepEqual(living(old), []);
  const now = readStackState(stateDir);
  assert.ok(typeof now === 'object' && now.token !== old.token);
  assert.deepEqual(daemonsOf(old.pm2Home).length, now.pm2Home === old.pm2Home ? 1 : 0);
  await target.close();
  assert.equal(existsSync(stateDir), false);
});

test('cleaning up a stale stack does not signal an unrelated process that reuses its pid', async (t) => {
  const stateDir = tempStateDir(t);
  const state = await leaveStack(t, { ...full(stateDir), persistent: true });
  assert.equal(state.ownerPid, undefined);
  assert.equal((await findStack(stateDir)).status, 'up');
  const response = await fetch(`${state.target}/socket.io/?EIO=4&transport=polling`);
  assert.equal(response.status, 200);

  const bystander = spawn('sleep', ['60']);
  t.after(() => bystander.kill('SIGKILL'));
  await once(bystander, 'spawn');
  const { pid = 0 } = bystander;
  const redisPid = state.redisNodes[0]?.pid;
  assert.ok(state.nginxPid && state.pm2Pid && redisPid);
  process.kill(state.nginxPid, 'SIGKILL');
  process.kill(state.pm2Pid, 'SIGKILL');
  const isStale = async () => (await findStack(stateDir)).status === 'stale';
  await eventually('a stale stack', isStale);
  // Simulates that Redis has also died, and that another process has its process id.
  const reused = { ...state, redisNodes: [{ port: 1, pid }], startTimes: { ...state.startTimes, [pid]: '1' } };
  writeStackState(stateDir, reused);
  const found = await findStack(stateDir);
  assert.ok(found.status === 'stale');
  assert.match(found.reason, /has ended/);
  await found.clean();
  assert.doesNotThrow(() => process.kill(pid, 0));
  assert.equal(bystander.exitCode ?? bystander.signalCode, null);
  await eventually(
    'end of the rest, including the Redis that is no longer in the state',
    () => living(state).length === 0,
  );
  assert.equal(existsSync(stateDir), false);
});

test('a stack whose state folder was removed still ends every process', async (t) => {
  const stateDir = tempStateDir(t);
  const stack = await startStack(full(stateDir));
  const { state } = stack;
  t.after(() => terminateProcesses(processesOf(state), 5_000));
  assert.ok(living(state).length > 5);
  rmSync(stateDir, { recursive: true });
  await stack.close();
  assert.deepEqual(living(state), []);
  assert.deepEqual(daemonsOf(state.pm2Home), []);
  assert.equal(existsSync(stateDir), false);
});

test('the stack reports a port in use before it starts anything', async (t) => {
  const stateDir = tempStateDir(t);
  const port = await listen(t, createServer());
  const message = new RegExp(`pid ${process.pid}`);
  await assert.rejects(startStack({ ...embedded(stateDir), port }), { code: 'PORT_UNAVAILABLE', message });
  assert.equal(existsSync(stateDir), false);
});

test('the stack reports a Redis that does not answer, without its password', async (t) => {
  const stateDir = tempStateDir(t);
  const started = startStack({ ...full(stateDir), redisUrl: 'redis://:secret@127.0.0.1:1' });
  await assert.rejects(started, { code: 'REDIS_UNREACHABLE', message: /^(?!.*secret).*127\.0\.0\.1:1/s });
  assert.equal(existsSync(stateDir), false);
});

test('the stack quotes the log of a worker that cannot start, and leaves nothing behind', async (t) => {
  const stateDir = tempStateDir(t);
  setVariable(t, 'CAPACITY_PING_INTERVAL_MS', 'soon');
  const message = /CAPACITY_PING_INTERVAL_MS/;
  await assert.rejects(startStack(embedded(stateDir)), { code: 'START_FAILED', message });
  assert.equal(existsSync(stateDir), false);
  assert.deepEqual(daemonsOf(join(stateDir, 'pm2')), []);
});

const STEPS: Record<string, (state: StackState) => unknown> = {
  'the state file exists': () => true,
  'PM2’s daemon exists': ({ pm2Home }) => daemonsOf(pm2Home).length > 0,
  'Redis exists': ({ pm2Pid = 0 }) => childrenOf(pm2Pid).length > 0,
  'a worker exists': ({ pm2Pid = 0 }) => childrenOf(pm2Pid).length > 1,
  'nginx exists': ({ nginxPid }) => nginxPid,
};
for (const [step, isReached] of Object.entries(STEPS)) {
  test(`a start of the stack that is stopped once ${step} leaves no process and no file`, async (t) => {
    const stateDir = tempStateDir(t);
    const stop = new AbortController();
    const started = startStack(full(stateDir), stop.signal).then((stack) => stack.close());
    await eventually(step, () => {
      const state = readStackState(stateDir);
      return typeof state === 'object' && isReached(state);
    });
    stop.abort(new Error('stopped'));
    await assert.rejects(started, /stopped/);
    assert.deepEqual(markedProcesses(stateDir), []);
    assert.equal(existsSync(stateDir), false);
  });
}

for (const [fault, breakDisk] of Object.entries({
  'has no room': (disk: SmallDisk) => disk.fill(),
  'is read-only': (disk: SmallDisk) => disk.makeReadOnly(),
})) {
  test(`the stack reports a state folder that ${fault} before it starts anything`, { skip: NO_MOUNTS }, async (t) => {
    const disk = mountSmallDisk(t);
    breakDisk(disk);
    const stateDir = join(disk.folder, 's');
    const message = /^The state folder \S+ cannot be (created|written to)\.$/;
    await assert.rejects(startStack(full(stateDir)), { code: 'STATE_DIR_UNUSABLE', message });
    assert.deepEqual(markedProcesses(stateDir), []);
  });
}

test('a stack whose disk becomes full keeps running, and leaves no process when it is stopped', {
  skip: NO_MOUNTS,
}, async (t) => {
  const disk = mountSmallDisk(t);
  const stateDir = join(disk.folder, 's');
  const stack = await startStack(full(stateDir));
  disk.fill();
  process.kill(stack.state.workers[0]?.pid ?? 0, 'SIGKILL');
  await eventually('another worker', async () => (await stack.refresh()).workers[0]?.restarts);
  await stack.close();
  assert.deepEqual(markedProcesses(stateDir), []);
  assert.equal(existsSync(stateDir), false);
});

test('a start of the stack in which PM2’s daemon is slow and its command fails leaves no process', async (t) => {
  const stateDir = tempStateDir(t);
  const pm2Home = join(stateDir, 'pm2');
  setVariable(t, 'NODE_OPTIONS', `--require=${FAILING_PM2}`);
  await assert.rejects(startStack(embedded(stateDir)), { code: 'START_FAILED' });
  const left = processesWithHome(pm2Home);
  t.after(() => terminateProcesses(left, 1000));
  assert.deepEqual(left, []);
  assert.equal(existsSync(stateDir), false);
});

test('the processes of a stack with a damaged state file are ended before the file is removed', async (t) => {
  const stateDir = tempStateDir(t);
  const state = await leaveStack(t, { ...full(stateDir), persistent: true });
  writeFileSync(join(stateDir, 'state.json'), '{"version": 1');
  const found = await findStack(stateDir);
  assert.ok(found.status === 'stale');
  await found.clean();
  assert.deepEqual(living(state), []);
  assert.equal((await findStack(stateDir)).status, 'down');
});

function setVariable(t: TestContext, name: string, value: string): void {
  const { [name]: before } = process.env;
  process.env[name] = value;
  t.after(() => {
    if (before === undefined) delete process.env[name];
    else process.env[name] = before;
  });
}

/** Finds the processes of a PM2_HOME, even before PM2 has set their names. */
function processesWithHome(pm2Home: string) {
  return processes()
    .filter(({ environment }) => environment.includes(`PM2_HOME=${pm2Home}`))
    .flatMap(({ pid }) => processRef(pid) ?? []);
}

const daemonsOf = (pm2Home: string) => processes().filter(({ command }) => command.includes(pm2Home));
