/** `npx socketio-capacity stack up | status | down`, as a user types them. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { execa } from 'execa';
import { readState } from '../../server/stack/state/state.ts';
import { living, tempStateDir } from '../helpers/stack.ts';

const CLI = join(import.meta.dirname, '../../plugin/hook/cli.js');

function cli(stateDir: string, ...args: string[]) {
  const env = { SOCKETIO_CAPACITY_HOME: stateDir };
  return execa(process.execPath, [CLI, 'stack', ...args], { env, all: true, reject: false });
}

test('up, status, down', async (t) => {
  const stateDir = tempStateDir(t);
  const before = await cli(stateDir, 'status');
  assert.equal(before.exitCode, 3);
  assert.match(before.all, /stack up/);

  const up = await cli(stateDir, 'up', '--profile', 'embedded', '--port', '0', '--connections', '100');
  assert.equal(up.exitCode, 0, up.all);
  const state = readState(stateDir);
  assert.ok(typeof state === 'object');
  for (const shown of [state.target, state.workers[0]?.controlUrl ?? '', 'embedded', 'stack down']) {
    assert.ok(up.stdout.includes(shown), shown);
  }
  assert.equal(up.all.includes(state.token), false);

  const status = await cli(stateDir, 'status');
  assert.equal(status.exitCode, 0);
  assert.match(status.stdout, new RegExp(`worker w0.*${state.workers[0]?.pid}`));

  const again = await cli(stateDir, 'up', '--profile', 'embedded', '--port', '0');
  assert.equal(again.exitCode, 2);
  assert.match(again.stderr, /STACK_RUNNING.*\n.*fix: .*stack down/);

  const json = await cli(stateDir, 'status', '--json');
  assert.equal(JSON.parse(json.stdout).target, state.target);
  assert.equal(json.stdout.includes(state.token), false);

  const down = await cli(stateDir, 'down');
  assert.equal(down.exitCode, 0);
  assert.deepEqual(living(state), []);
  assert.equal((await cli(stateDir, 'down')).exitCode, 0);
});

test('wrong options are refused, all of them at once', async (t) => {
  const stateDir = tempStateDir(t);
  const wrong = await cli(stateDir, 'up', '--port', 'many', '--profile', 'half');
  assert.equal(wrong.exitCode, 2);
  assert.match(wrong.stderr, /--port/);
  assert.match(wrong.stderr, /--profile/);
  assert.match(wrong.stderr, /stack up --help/);
  const noProxy = await cli(stateDir, 'up', '--tls', '--profile', 'embedded');
  assert.match(noProxy.stderr, /--tls: needs nginx/);
  const noCluster = await cli(stateDir, 'up', '--redis-nodes', '2');
  assert.match(noCluster.stderr, /--redis-nodes: expected 1, or 3 to 16 nodes/);
  const noRedis = await cli(stateDir, 'up', '--redis-nodes', '3', '--profile', 'embedded');
  assert.match(noRedis.stderr, /--redis-nodes: only for the Redis that the full profile starts/);
  assert.equal((await cli(stateDir, 'up', '--bogus')).exitCode, 2);
  assert.equal((await cli(stateDir, 'sideways')).exitCode, 2);
});
