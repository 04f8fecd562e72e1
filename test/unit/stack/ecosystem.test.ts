/** ecosystem.config.js as PM2 reads it, with what the stack sets. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { execa } from 'execa';
import { assertEach } from '../../helpers/columns.ts';

const CONFIG = join(import.meta.dirname, '../../../ecosystem.config.js');

interface App {
  name: string;
  cwd: string;
  script: string;
  interpreter: string;
  exec_mode: string;
  env: Record<string, string>;
}

async function apps(env: NodeJS.ProcessEnv): Promise<App[]> {
  const print = `import(${JSON.stringify(CONFIG)}).then(({ apps }) => console.log(JSON.stringify(apps)))`;
  const { stdout } = await execa(process.execPath, ['-e', print], { extendEnv: false, env });
  return JSON.parse(stdout);
}

test('one app per worker, each with its ports', async () => {
  const list = await apps({
    STACK_PORTS: '4001,4002',
    STACK_CONTROL_PORTS: '5001,5002',
    STACK_TOKEN: 'a-token-of-some-length',
    STACK_REDIS_URL: 'redis://127.0.0.1:6380',
    STACK_NODE: '/another/node',
    STACK_LOG_DIR: '/logs',
  });
  assertEach(list, ({ name, env }) => [name, env.CAPACITY_WORKER, env.CAPACITY_PORT, env.CAPACITY_CONTROL_PORT], [
    ['w0', 'w0', '4001', '5001'],
    ['w1', 'w1', '4002', '5002'],
  ]);
  for (const { cwd, script, interpreter, exec_mode, env } of list) {
    assert.ok(existsSync(join(cwd, script)));
    assert.equal(interpreter, '/another/node');
    assert.equal(exec_mode, 'fork');
    assert.equal(env.CAPACITY_TOKEN, 'a-token-of-some-length');
    assert.equal(env.REDIS_URL, 'redis://127.0.0.1:6380');
  }
});
