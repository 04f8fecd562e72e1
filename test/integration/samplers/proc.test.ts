import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { after, test } from 'node:test';
import { readByPs, readProcesses } from '../../../plugin/samplers/processes/proc.ts';
import { readCpu, readMemory, readSlabBytes, readSwap, readTcpBytes } from '../../../protocol/machine/kernel.ts';
import { startProcess } from '../../helpers/process.ts';

const MB = 1024 * 1024;
const linux = { skip: process.platform !== 'linux' && 'only Linux has /proc' };

/** Holds 64 MB and has burnt 200 ms of CPU; writes a line when that is so. */
const PROGRAM = `
  const held = Buffer.alloc(64 * ${MB}, 1);
  const untilUs = 200_000;
  while (process.cpuUsage().user + process.cpuUsage().system < untilUs);
  process.stdout.write('ready\\n');
  setInterval(() => held, 1e6);
`;
const child = startProcess({ after }, process.execPath, ['-e', PROGRAM]);
await child.said(/ready/);

test('RSS, PSS, CPU time and start of a living process', linux, async () => {
  const reading = (await readProcesses([child.pid], { pss: true })).get(child.pid);
  assert.ok(reading?.pssBytes);
  assert.ok(reading.rssBytes > 64 * MB && reading.rssBytes < 400 * MB, `${reading.rssBytes}`);
  assert.ok(reading.pssBytes > 64 * MB && reading.pssBytes <= reading.rssBytes, `${reading.pssBytes}`);
  assert.ok(reading.cpuUs >= 190_000 && reading.cpuUs < 5_000_000, `${reading.cpuUs}`);
  assert.ok(reading.startedAtUs > 0);
  const { pssBytes } = (await readProcesses([child.pid], { pss: false })).get(child.pid) ?? {};
  assert.equal(pssBytes, undefined, 'it was not asked for');
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
  for (const read of [readTcpBytes, readSlabBytes, readMemory, readCpu]) {
    try {
      read();
    } catch (error) {
      // slabinfo is for root, and other systems have none of these.
      assert.match(
        (error as Error).message,
        /readable only by root|does not exist on this system|available on Linux only/,
      );
    }
  }
});

test('memory and CPU of the whole machine', linux, () => {
  const { usedBytes, heldBytes, pageTablesBytes } = readMemory();
  assert.ok(usedBytes > 0 && pageTablesBytes > 0 && heldBytes > pageTablesBytes);
  const { busyUs, idleUs } = readCpu();
  assert.ok(busyUs > 0 && idleUs > 0);
  const swap = readSwap();
  assert.ok(swap && swap.inBytes >= 0 && swap.outBytes >= 0);
});
