import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { after, before, test } from 'node:test';
import { readKernel } from '../../../plugin/samplers/kernel.ts';
import { readByPs, readProcesses } from '../../../plugin/samplers/proc.ts';

const MB = 1024 * 1024;
const linux = { skip: process.platform !== 'linux' && 'only Linux has /proc' };

/** Holds 64 MB and has burnt 200 ms of CPU; writes a line when that is so. */
const PROGRAM = `
  const held = Buffer.alloc(64 * ${MB}, 1);
  const untilUs = 200_000;
  while (process.cpuUsage().user + process.cpuUsage().system < untilUs);
  process.stdout.write('ready\\n');
  process.stdin.resume().on('end', () => process.exit(held.length > 0 ? 0 : 1));
`;
let child: ChildProcess & { pid: number };

before(async () => {
  child = spawn(process.execPath, ['-e', PROGRAM], { stdio: ['pipe', 'pipe', 'inherit'] }) as typeof child;
  await once(child.stdout as NodeJS.ReadableStream, 'data');
});
after(() => child.kill());

test('RSS, PSS, CPU time and start of a living process', linux, async () => {
  const reading = (await readProcesses([child.pid], { pss: true })).get(child.pid);
  assert.ok(reading?.pssBytes);
  assert.ok(reading.rssBytes > 64 * MB && reading.rssBytes < 400 * MB, `${reading.rssBytes}`);
  assert.ok(reading.pssBytes > 64 * MB && reading.pssBytes <= reading.rssBytes, `${reading.pssBytes}`);
  assert.ok(reading.cpuUs >= 190_000 && reading.cpuUs < 5_000_000, `${reading.cpuUs}`);
  assert.ok(reading.startedAtUs > 0);
});

test('PSS is read only when asked for', linux, async () => {
  const reading = (await readProcesses([child.pid], { pss: false })).get(child.pid);
  assert.ok(reading && reading.rssBytes > 64 * MB);
  assert.equal(reading.pssBytes, undefined);
});

test('a dead process, pid 0 and nonsense are missing; the others are there', async () => {
  const short = spawn(process.execPath, ['-e', '']);
  await once(short, 'exit');
  const pids = [process.pid, short.pid as number, 0, -1, 2 ** 30, process.pid];
  assert.deepEqual([...(await readProcesses(pids, { pss: true })).keys()], [process.pid]);
  assert.equal((await readProcesses([], { pss: true })).size, 0);
});

test('the way through ps agrees with /proc', linux, async (t) => {
  process.env.PIDUSAGE_USE_PS = 'true';
  t.after(() => delete process.env.PIDUSAGE_USE_PS);
  const short = spawn(process.execPath, ['-e', '']);
  await once(short, 'exit');
  const viaPs = await readByPs([child.pid, short.pid as number]);
  const viaProc = (await readProcesses([child.pid], { pss: false })).get(child.pid);
  const reading = viaPs.get(child.pid);
  assert.ok(reading && viaProc);
  assert.equal(viaPs.size, 1);
  assert.ok(Math.abs(reading.rssBytes - viaProc.rssBytes) < 5 * MB);
  // Linux' ps tells CPU time in whole seconds.
  assert.ok(Math.abs(reading.cpuUs - viaProc.cpuUs) <= 1_000_000);
  assert.equal((await readByPs([short.pid as number])).size, 0);
});

test('the kernel tells its figures, or why not', () => {
  const { tcp, slabBytes, memory, cpu, absent } = readKernel();
  for (const [key, value] of Object.entries({ tcp, slabBytes, memory, cpu })) {
    assert.notEqual(value === undefined, absent[key as keyof typeof absent] === undefined, key);
  }
  if (process.platform !== 'linux') return;
  assert.ok(memory && memory.availableBytes > 0 && memory.availableBytes < memory.totalBytes);
  assert.ok(cpu && cpu.busyUs > 0 && cpu.idleUs > 0);
  assert.ok(tcp && tcp.inUse >= 0);
});
