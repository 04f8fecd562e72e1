/** `npx socketio-capacity stack up | status | down`, as a user types them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { execa } from 'execa';
import { readState } from '../../server/stack/state/state.ts';
import { CLI, cli } from '../helpers/cli.ts';
import { living, tempStateDir } from '../helpers/stack.ts';

function stack(stateDir: string, ...args: string[]) {
  const env = { SOCKETIO_CAPACITY_HOME: stateDir };
  return execa(process.execPath, [CLI, 'stack', ...args], { env, all: true, reject: false });
}

test('up, status, down', async (t) => {
  const stateDir = tempStateDir(t);
  assert.equal((await stack(stateDir, 'status')).exitCode, 3);

  const up = await stack(stateDir, 'up', '--profile', 'embedded', '--port', '0', '--connections', '100');
  assert.equal(up.exitCode, 0, up.all);
  const state = readState(stateDir);
  assert.ok(typeof state === 'object');
  for (const shown of [state.target, state.workers[0]?.controlUrl ?? '']) assert.ok(up.stdout.includes(shown), shown);
  assert.equal(up.all.includes(state.token), false);

  const status = await stack(stateDir, 'status');
  assert.equal(status.exitCode, 0);
  assert.match(status.stdout, new RegExp(`worker w0.*${state.workers[0]?.pid}`));

  const again = await stack(stateDir, 'up', '--profile', 'embedded', '--port', '0');
  assert.equal(again.exitCode, 2);
  assert.match(again.stderr, /STACK_RUNNING/);
  assert.equal(JSON.parse((await stack(stateDir, 'status', '--json')).stdout).target, state.target);

  const down = await stack(stateDir, 'down');
  assert.equal(down.exitCode, 0);
  assert.deepEqual(living(state), []);
  assert.equal((await stack(stateDir, 'down')).exitCode, 0);
});

test('wrong options are refused, all of them at once', async () => {
  const cases: [args: string, ...named: RegExp[]][] = [
    ['up --port many --profile half', /--port/, /--profile/, /stack up --help/],
    ['up --tls --profile embedded', /--tls/],
    ['up --redis-nodes 2', /--redis-nodes: .* 3 to 16/],
    ['up --redis-nodes 3 --profile embedded', /--redis-nodes/],
    ['up --bogus', /--bogus/],
    ['sideways', /sideways/],
  ];
  for (const [args, ...named] of cases) {
    const { code, stderr } = await cli(process.cwd(), 'stack', ...args.split(' '));
    assert.equal(code, 2, args);
    for (const name of named) assert.match(stderr, name);
  }
});
