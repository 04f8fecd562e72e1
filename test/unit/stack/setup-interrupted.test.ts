/** A set-up that is stopped while apt-get installs: the system is as it was, at once or after the next set-up. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { processRef, terminate } from '../../../server/stack/state/processes.ts';
import { eventually } from '../../helpers/poll.ts';

const FIXTURE = join(import.meta.dirname, '../../fixtures/setup-owner.ts');
const PROGRAMS = ['apt-get', 'systemctl'];

function fakeRoot(t: TestContext): string {
  const dir = mkdtempSync(join(tmpdir(), 'setup-'));
  t.after(() => rmSync(dir, { recursive: true, force: true }));
  // Installs nginx, and then takes its time. What stops it is noted, as is whether services may start then.
  program(dir, 'apt-get', [
    '[ "$1" = install ] || exit 0',
    `[ -e ${dir}/nginx ] || ( echo '#!/bin/sh' > ${dir}/nginx; chmod +x ${dir}/nginx )`,
    `for signal in INT TERM HUP; do trap "${dir}/policy-rc.d; echo $signal \\$? >> ${dir}/stopped; exit 100" $signal; done`,
    `echo $$ > ${dir}/installing`,
    'while :; do sleep 0.05; done',
  ]);
  program(dir, 'systemctl', [`echo "$*" >> ${dir}/disabled`]);
  return dir;
}

function program(dir: string, name: string, lines: string[]): void {
  writeFileSync(join(dir, name), ['#!/bin/sh', ...lines, ''].join('\n'), { mode: 0o755 });
}

/** @returns the process of a set-up whose apt-get is at work, and apt-get's */
async function installing(t: TestContext, dir: string) {
  const child = spawn(process.execPath, [FIXTURE, dir], { stdio: ['ignore', 'pipe', 'inherit'] });
  t.after(() => child.kill('SIGKILL'));
  let output = '';
  child.stdout.on('data', (data) => {
    output += data;
  });
  const ended = once(child, 'close').then(([exitCode]) => ({ exitCode, output }));
  await eventually('apt-get at work', () => read(dir, 'installing') !== '');
  const aptGet = processRef(Number(read(dir, 'installing')));
  assert.ok(aptGet);
  t.after(() => terminate([aptGet], 1_000));
  return { child, aptGet, ended };
}

function read(dir: string, name: string): string {
  return existsSync(join(dir, name)) ? readFileSync(join(dir, name), 'utf8').trim() : '';
}

suite('a set-up that is stopped in the middle', () => {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    test(`by ${signal} lets apt-get end before services may start again`, async (t) => {
      const dir = fakeRoot(t);
      const { child, ended } = await installing(t, dir);
      child.kill(signal);
      const { exitCode, output } = await ended;
      assert.equal(exitCode, 4, output);
      assert.match(output, /apt-get failed/);
      assert.equal(read(dir, 'stopped'), `${signal.slice(3)} 101`);
      assert.equal(read(dir, 'disabled'), 'disable nginx', 'what is installed does not start with the next boot');
      assert.deepEqual(
        readdirSync(dir).sort(),
        [...PROGRAMS, 'disabled', 'installing', 'nginx', 'stopped'].sort(),
        'no ban',
      );
    });
  }

  test('by the end of apt-get lets services start again', async (t) => {
    const dir = fakeRoot(t);
    const { aptGet, ended } = await installing(t, dir);
    process.kill(aptGet.pid, 'SIGKILL');
    assert.equal((await ended).exitCode, 4);
    assert.equal(existsSync(join(dir, 'policy-rc.d')), false);
  });

  test('by SIGKILL is repaired by the next one', async (t) => {
    const dir = fakeRoot(t);
    const { child, aptGet, ended } = await installing(t, dir);
    child.kill('SIGKILL');
    await ended;
    await terminate([aptGet], 1_000);
    assert.equal(existsSync(join(dir, 'policy-rc.d')), true);
    program(dir, 'redis-server', []);
    const next = spawn(process.execPath, [FIXTURE, dir], { stdio: ['ignore', 'ignore', 'inherit'] });
    assert.deepEqual(await once(next, 'close'), [0, null]);
    assert.equal(existsSync(join(dir, 'policy-rc.d')), false);
  });

  test('leaves a policy that was there before as it was, also the next one does', async (t) => {
    const dir = fakeRoot(t);
    program(dir, 'policy-rc.d', ['exit 101']);
    const before = read(dir, 'policy-rc.d');
    for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
      rmSync(join(dir, 'installing'), { force: true });
      const { child, aptGet, ended } = await installing(t, dir);
      child.kill(signal);
      await ended;
      await terminate([aptGet], 1_000);
      assert.equal(read(dir, 'policy-rc.d'), before);
    }
  });

  test('is not disturbed by a second one', async (t) => {
    const dir = fakeRoot(t);
    const first = await installing(t, dir);
    const ban = read(dir, 'policy-rc.d');
    rmSync(join(dir, 'installing'));
    const second = await installing(t, dir);
    second.child.kill('SIGTERM');
    await second.ended;
    assert.equal(read(dir, 'policy-rc.d'), ban);
    first.child.kill('SIGTERM');
    await first.ended;
    assert.equal(existsSync(join(dir, 'policy-rc.d')), false);
  });
});
