/** The set-up with an apt-get of our own, in folders of our own. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { type SetupSystem, setup } from '../../../server/stack/setup.ts';
import { requireTool } from '../../../server/stack/tools.ts';
import { eventually } from '../../helpers/poll.ts';

const SETUP = import.meta.resolve('../../../server/stack/setup.ts');

interface FakeSystem extends SetupSystem {
  dir: string;
  lines: string[];
  calls(): string[];
}

function fakeSystem(t: TestContext): FakeSystem {
  const dir = mkdtempSync(join(tmpdir(), 'setup-'));
  t.after(() => rmSync(dir, { recursive: true, force: true }));
  const lines: string[] = [];
  return {
    dir,
    lines,
    dirs: [dir],
    isRoot: true,
    policyFile: join(dir, 'policy-rc.d'),
    print: (line) => lines.push(line),
    calls: () => (existsSync(join(dir, 'calls')) ? readFileSync(join(dir, 'calls'), 'utf8').trim().split('\n') : []),
  };
}

function program(dir: string, name: string, script: string): void {
  writeFileSync(join(dir, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
}

const NGINX = 'exit 0';
const REDIS = 'exit 0';

/** Notes its call and whether services may start, then «installs» what it is asked for. */
function aptGet(dir: string): void {
  const install = (name: string, script: string) =>
    `case "$*" in *${name}*) printf '#!/bin/sh\\n%s\\n' '${script}' > ${dir}/${name}; chmod +x ${dir}/${name};; esac`;
  program(
    dir,
    'apt-get',
    [
      `${dir}/policy-rc.d 2>/dev/null; echo "$1 $([ $? = 101 ] && echo quiet || echo free) $*" >> ${dir}/calls`,
      `[ "$1" = install ] || exit 0`,
      install('nginx', NGINX),
      install('redis-server', REDIS),
    ].join('\n'),
  );
}

suite('setup', () => {
  test('reports what it finds, one line each, and installs nothing', async (t) => {
    const system = fakeSystem(t);
    program(system.dir, 'nginx', NGINX);
    program(system.dir, 'redis-server', REDIS);
    aptGet(system.dir);
    assert.equal(await setup(system), 0);
    assert.equal(system.lines.length, 2);
    assert.deepEqual(system.calls(), []);
  });

  test('installs what is missing, without letting services start', async (t) => {
    const system = fakeSystem(t);
    program(system.dir, 'nginx', NGINX);
    aptGet(system.dir);
    program(system.dir, 'systemctl', `echo "systemctl $*" >> ${system.dir}/calls`);
    assert.equal(await setup(system), 0);
    assert.deepEqual(system.calls(), [
      'update free update -q',
      'install quiet install -y -q --no-install-recommends redis-server',
      'systemctl disable redis-server',
    ]);
    assert.equal(existsSync(system.policyFile), false, 'the ban is lifted again');
    assert.equal(await setup(system), 0);
    assert.equal(system.calls().length, 3, 'a second time does nothing');
  });

  test('keeps an existing policy, and replaces one that a killed setup has left', async (t) => {
    for (const [policy, isKept] of [
      ['exit 101', true],
      ['# socketio-capacity setup\nkill -0 4194304 2>/dev/null && exit 101\nexit 0', false],
    ] as const) {
      const system = fakeSystem(t);
      program(system.dir, 'policy-rc.d', policy);
      aptGet(system.dir);
      assert.equal(await setup(system), 0);
      assert.match(system.calls()[1] ?? '', /^install quiet/);
      assert.equal(existsSync(system.policyFile), isKept);
    }
  });

  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    test(`by ${signal} leaves no policy`, async (t) => {
      const { dir, policyFile } = fakeSystem(t);
      program(dir, 'apt-get', `[ "$1" = update ] || { echo installing > ${dir}/calls; exec sleep 30; }`);
      const system = `{ dirs: ['${dir}'], isRoot: true, policyFile: '${policyFile}', print() {} }`;
      const script = `import { setup } from ${JSON.stringify(SETUP)}; await setup(${system});`;
      const child = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: 'ignore', detached: true });
      t.after(() => process.kill(-(child.pid as number), 'SIGKILL'));
      await eventually('apt-get installs', () => existsSync(join(dir, 'calls')) && existsSync(policyFile));
      child.kill(signal);
      assert.deepEqual(await once(child, 'exit'), [null, signal]);
      assert.equal(existsSync(policyFile), false);
    });
  }

  test('without root, prints in one line what to do', async (t) => {
    const system = { ...fakeSystem(t), isRoot: false };
    aptGet(system.dir);
    assert.equal(await setup(system), 4);
    assert.deepEqual(system.calls(), []);
  });

  test('a failure of apt-get is reported', async (t) => {
    const system = fakeSystem(t);
    program(system.dir, 'apt-get', 'echo "E: no network" >&2; exit 100');
    assert.equal(await setup(system), 4);
    assert.match(system.lines.join('\n'), /E: no network/);
  });

  test('a missing tool is an error with its fix', (t) => {
    const { dirs } = fakeSystem(t);
    assert.throws(() => requireTool('nginx', dirs), { code: 'NOT_INSTALLED' });
    assert.throws(() => requireTool('redis-server', dirs), { code: 'NOT_INSTALLED' });
  });
});
