import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { GENERATORS } from '../../../bench/client/generators.ts';
import { ProcessTree } from '../../../bench/client/measured-generator.ts';

/** Program that uses CPU in a thread and in a child, prints the process id of the child, and waits. */
const PROGRAM = `
  const { Worker } = require('node:worker_threads');
  const { execFileSync, spawn } = require('node:child_process');
  const burn = 'const end = process.cpuUsage().user + 150_000; while (process.cpuUsage().user < end);';
  const child = spawn(process.execPath, ['-e', burn + 'console.log("burnt"); setInterval(() => {}, 1000)']);
  new Worker(burn, { eval: true }).on('exit', () => child.stdout.on('data', () => console.log(child.pid)));
  setInterval(() => {}, 1000);
`;

test('a process tree counts CPU time and memory of a process, its threads and its children', async (t) => {
  const root = spawn(process.execPath, ['-e', PROGRAM], { stdio: ['ignore', 'pipe', 'inherit'] });
  const tree = new ProcessTree(root.pid as number);
  t.after(() => tree.kill('SIGKILL'));
  const [line] = await once(root.stdout, 'data');
  assert.deepEqual(tree.pids(), [root.pid, Number(line)]);
  assert.ok(tree.cpuUs() >= 150_000, `${tree.cpuUs()} µs`);
  assert.ok(tree.cpuUs() < 5_000_000, `${tree.cpuUs()} µs`);
  assert.ok(tree.pssBytes() > 10_000_000, `${tree.pssBytes()} bytes`);

  const ended = once(root, 'exit');
  const usedUs = tree.cpuUs();
  tree.kill('SIGKILL');
  await ended;
  assert.ok(tree.cpuUs() >= usedUs, 'CPU time of ended processes stays counted');
  assert.ok(!tree.pids().includes(root.pid as number));
});

const PROGRAMS = ['light', 'own-event', 'light-default', 'ws', 'socket.io-client', 'socket.io-client-default'];

for (const { name, start } of GENERATORS.filter(({ name }) => PROGRAMS.includes(name))) {
  test(`the bench starts the load generator ${name}`, async () => {
    const load = { url: 'http://127.0.0.1:1', connections: 1, ratePerSec: 1 };
    const { close } = await start(load, undefined as never, '');
    await close();
  });
}
