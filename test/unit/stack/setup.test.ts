import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { type SetupSystem, setUpStackTools } from '../../../server/stack/setup.ts';
import { requireTool } from '../../../server/stack/tools.ts';
import { fileTree } from '../../helpers/file-tree.ts';
import { eventually } from '../../helpers/poll.ts';

const SETUP = import.meta.resolve('../../../server/stack/setup.ts');
const POLICY = 'policy-rc.d';
const TOOL = 'exit 0';
const BOTH = { nginx: TOOL, 'redis-server': TOOL };

/** Stub of apt-get that records its call and whether services may start, then "installs" the requested packages. */
const APT_GET = `
cd "$(dirname "$0")"
./${POLICY} 2>/dev/null; echo "$1 $([ $? = 101 ] && echo quiet || echo free) $*" >> calls
[ "$1" = install ] || exit 0
for name in nginx redis-server; do
  case "$*" in *$name*) printf '#!/bin/sh\\n${TOOL}\\n' > $name; chmod +x $name;; esac
done`;

/** @param programs shell scripts by name; default: a stub of apt-get */
function system(t: TestContext, programs: Record<string, string> = {}, isRoot = true) {
  const scripts = Object.entries({ 'apt-get': APT_GET, ...programs });
  const dir = fileTree(t, Object.fromEntries(scripts.map(([name, script]) => [name, `#!/bin/sh\n${script}\n`])));
  for (const [name] of scripts) chmodSync(join(dir, name), 0o755);
  const lines: string[] = [];
  const read = (name: string) => (existsSync(join(dir, name)) ? readFileSync(join(dir, name), 'utf8').trim() : '');
  const parts: SetupSystem = { dirs: [dir], isRoot, policyFile: join(dir, POLICY), print: (line) => lines.push(line) };
  return { ...parts, dir, lines, calls: () => read('calls').split('\n').filter(Boolean) };
}

suite('setup', () => {
  test('setup prints one line for each program that exists, and installs nothing', async (t) => {
    const there = system(t, BOTH);
    assert.deepEqual(await setUpStackTools(there), []);
    assert.deepEqual([there.lines.length, there.calls()], [2, []]);
  });

  test('setup installs missing programs without starting their services', async (t) => {
    const systemctl = 'echo "systemctl $*" >> "$(dirname "$0")/calls"';
    const { calls, ...missing } = system(t, { nginx: TOOL, systemctl });
    assert.deepEqual(await setUpStackTools(missing), []);
    assert.deepEqual(calls(), [
      'update free update -q',
      'install quiet install -y -q --no-install-recommends redis-server',
      'systemctl disable redis-server',
    ]);
    assert.equal(existsSync(missing.policyFile), false, 'the ban is lifted again');
    assert.deepEqual(await setUpStackTools(missing), []);
    assert.equal(calls().length, 3, 'a second time does nothing');
  });

  for (const [what, policy, isKept] of [
    ['keeps an existing policy on service starts', 'exit 101', true],
    [
      'replaces the policy on service starts of a setup that was killed',
      '# socketio-capacity setup\nkill -0 4194304 && exit 101\nexit 0',
      false,
    ],
  ] as const) {
    test(`setup ${what}`, async (t) => {
      const { calls, ...missing } = system(t, { [POLICY]: policy });
      assert.deepEqual(await setUpStackTools(missing), []);
      assert.match(calls()[1] ?? '', /^install quiet/);
      assert.equal(existsSync(missing.policyFile), isKept);
    });
  }

  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    test(`setup leaves no policy on service starts after ${signal}`, async (t) => {
      const waits = '[ "$1" = update ] || { echo installing > "$(dirname "$0")/calls"; exec sleep 30; }';
      const { dir, policyFile, calls } = system(t, { 'apt-get': waits });
      const parts = `{ dirs: ['${dir}'], isRoot: true, policyFile: '${policyFile}', print() {} }`;
      const script = `import { setUpStackTools } from ${JSON.stringify(SETUP)}; await setUpStackTools(${parts});`;
      const child = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: 'ignore', detached: true });
      t.after(() => process.kill(-(child.pid as number), 'SIGKILL'));
      await eventually('apt-get installs', () => calls().length > 0 && existsSync(policyFile));
      child.kill(signal);
      assert.deepEqual(await once(child, 'exit'), [null, signal]);
      assert.equal(existsSync(policyFile), false);
    });
  }

  test('setup succeeds without root: installs nothing, and reports missing programs and their replacements', async (t) => {
    const { calls, ...missing } = system(t, {}, false);
    assert.deepEqual([await setUpStackTools(missing), calls()], [['nginx', 'redis-server'], []]);
    assert.match(
      missing.lines.join(),
      /^nginx and redis-server are not installed\. .*embedded profile: one worker, no proxy/,
    );
  });

  test('setup reports a failure of apt-get', async (t) => {
    const failing = system(t, { 'apt-get': 'echo "E: no network" >&2; exit 100' });
    assert.deepEqual(await setUpStackTools(failing), ['nginx', 'redis-server']);
    assert.match(failing.lines.join('\n'), /E: no network[\s\S]*embedded profile/);
  });

  test('setup fails if a required tool is missing', (t) => {
    const { dirs } = system(t);
    for (const name of ['nginx', 'redis-server'] as const)
      assert.throws(() => requireTool(name, dirs), { code: 'NOT_INSTALLED' });
  });
});
