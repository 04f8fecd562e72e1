/** Tests `doctor --target` on the command line: arguments, output and exit codes. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { startApp } from '../../helpers/app.ts';
import { cli } from '../../helpers/cli.ts';

const doctor = (...args: string[]) => cli(tmpdir(), 'doctor', ...args);

test('the doctor passes a server that can be measured, with and without a scenario', async (t) => {
  const app = await startApp(t, { CAPACITY_PING_INTERVAL_MS: '300', CAPACITY_PING_TIMEOUT_MS: '200' });
  const alone = await doctor('--target', app.url);
  assert.equal(alone.code, 0, alone.stdout + alone.stderr);
  assert.match(alone.stdout, /^ok {6}the addresses of 127\.0\.0\.1: 127\.0\.0\.1$/m);
  assert.match(alone.stdout, /can be measured\.$/);
  assert.match(alone.stderr, /^Holding one silent connection for 4 s\.$/);
  const path = join(tmpdir(), `doctor-target-${process.pid}.json`);
  const ramp = { duration: 2, arrivalRate: 500, rampTo: 500 };
  const plugins = { 'socketio-capacity': {} };
  const flow = [{ connect: {} }, { hold: true }];
  const config = { target: 'http://127.0.0.1:1', engines: { 'socketio-capacity': {} }, plugins, phases: [ramp] };
  writeFileSync(path, JSON.stringify({ config, scenarios: [{ engine: 'socketio-capacity', flow }] }));
  const { code, stdout } = await doctor(path, '--target', app.url, '--json');
  assert.equal(code, 0, stdout);
  const { target, passed, checks } = JSON.parse(stdout);
  assert.deepEqual([target, passed], [app.url, true]);
  assert.match(JSON.stringify(checks), /generator ports for 1,000 connections/);
});

test('the doctor fails for an unreachable server, and refuses invalid arguments', async () => {
  const unreachable = await doctor('--target', 'http://127.0.0.1:1', '--json');
  assert.equal(unreachable.code, 2);
  assert.equal(JSON.parse(unreachable.stdout).passed, false);
  const nothing = await doctor();
  assert.deepEqual([nothing.code, /CONFIG_INVALID: name a scenario/.test(nothing.stderr)], [2, true]);
  const both = await doctor('a.yml', '--target', 'b.yml');
  assert.match(both.stderr, /CONFIG_INVALID: --target: with a scenario before it, a URL is expected/);
});
