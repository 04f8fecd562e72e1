import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, it, test } from 'node:test';
import { MachineWatch, machineSharesBetween } from '../../../plugin/samplers/index.ts';
import { readByPs, readProcesses, readProcessStat } from '../../../plugin/samplers/processes/proc.ts';
import { readProcessTable } from '../../../plugin/samplers/processes/process-table.ts';
import { readCpu, readMemory, readSlabBytes, readSwap, readTcpBytes } from '../../../protocol/base/machine/kernel.ts';
import { eventually } from '../../helpers/poll.ts';
import { startProcess } from '../../helpers/process.ts';

const MB = 1024 * 1024;
const linux = { skip: process.platform !== 'linux' && 'only Linux has /proc' };

/** Program that keeps 64 MB, uses 200 ms of CPU, and prints a line. */
const PROGRAM = `
  const held = Buffer.alloc(64 * ${MB}, 1);
  const untilUs = 200_000;
  while (process.cpuUsage().user + process.cpuUsage().system < untilUs);
  process.stdout.write('ready\\n');
  setInterval(() => held, 1e6);
`;
const child = startProcess({ after }, process.execPath, ['-e', PROGRAM]);
await child.said(/ready/);

test('readProcesses gives RSS, PSS, CPU time and start of a process', linux, async () => {
  const reading = (await readProcesses([child.pid], { pss: true })).get(child.pid);
  assert.ok(reading?.pssBytes);
  assert.ok(reading.rssBytes > 64 * MB && reading.rssBytes < 400 * MB, `${reading.rssBytes}`);
  assert.ok(reading.pssBytes > 64 * MB && reading.pssBytes <= reading.rssBytes, `${reading.pssBytes}`);
  assert.ok((reading.anonymousBytes ?? 0) > 64 * MB && reading.sharedBytes !== undefined);
  assert.ok(reading.cpuUs >= 190_000 && reading.cpuUs < 5_000_000, `${reading.cpuUs}`);
  assert.ok(reading.startedAtUs > 0);
  const { pssBytes } = (await readProcesses([child.pid], { pss: false })).get(child.pid) ?? {};
  assert.equal(pssBytes, undefined, 'it was not requested');
});

test('readProcesses leaves out ended processes, pid 0 and impossible ids', async () => {
  const short = spawn(process.execPath, ['-e', '']);
  await once(short, 'exit');
  const pids = [process.pid, short.pid as number, 0, -1, 2 ** 30, process.pid];
  assert.deepEqual([...(await readProcesses(pids, { pss: true })).keys()], [process.pid]);
  assert.equal((await readProcesses([], { pss: true })).size, 0);
});

test('a zombie process counts as ended, although its exit code has not been read', linux, async (t) => {
  // The shell replaces itself with another program, which does not wait for the shell's child.
  const parent = startProcess(t, '/bin/sh', ['-c', 'sleep 0 & echo "child $!"; exec sleep 60']);
  const [, pid = ''] = await parent.said(/child (\d+)/);
  await eventually('it is a zombie', () => readProcessStat(Number(pid))?.isZombie);
  assert.equal((await readProcesses([Number(pid)], { pss: false })).size, 0);
  assert.equal(readProcessTable().has(Number(pid)), false);
});

test('readings of processes by ps agree with /proc', linux, async (t) => {
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
  // `ps` on Linux reports CPU time in whole seconds.
  assert.ok(Math.abs(reading.cpuUs - viaProc.cpuUs) <= 1_000_000);
  assert.equal((await readByPs([short.pid as number])).size, 0);
});

test('reads each memory figure of the kernel, or the reason why it is unreadable', () => {
  for (const read of [readTcpBytes, readSlabBytes, readMemory, readCpu]) {
    try {
      read();
    } catch (error) {
      // Reading slabinfo needs root, and other systems have no such file.
      assert.match(
        (error as Error).message,
        /readable only by root|does not exist on this system|available on Linux only/,
      );
    }
  }
});

test('reads memory, CPU and swap of the whole machine', linux, () => {
  const { usedBytes, heldBytes, pageTablesBytes } = readMemory();
  assert.ok(usedBytes > 0 && pageTablesBytes > 0 && heldBytes > pageTablesBytes);
  const { busyUs, idleUs } = readCpu();
  assert.ok(busyUs > 0 && idleUs > 0);
  const swap = readSwap();
  assert.ok(swap && swap.inBytes >= 0 && swap.outBytes >= 0);
});

const skip = process.platform !== 'linux' && 'there is no /proc';
/** CPU time of 0.3 s, thirty times the precision. */
const ENOUGH_US = 300_000;
/** Name of the program's first thread. It contains characters that break naive parsers. */
const ODD = 'h) S 1 (og';

it('reports the CPU time of another busy program, and all shares add up to the busy time', {
  skip,
}, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'hog-'));
  symlinkSync('/bin/sh', join(folder, ODD));
  const hog = spawn(join(folder, ODD), ['-c', 'while :; do :; done'], { stdio: 'ignore' });
  const exited = once(hog, 'exit');
  t.after(async () => {
    hog.kill('SIGKILL');
    await exited;
    rmSync(folder, { recursive: true });
  });
  await once(hog, 'spawn');
  const pid = hog.pid as number;
  const used = async () => (await readProcesses([pid], { pss: false })).get(pid)?.cpuUs ?? 0;
  await eventually('it runs', async () => (await used()) > 0);

  const watch = new MachineWatch(async () => []);
  const from = await watch.totals();
  const before = await used();
  await eventually('it has used enough', async () => (await used()) - before > ENOUGH_US);
  const to = await watch.totals();
  assert.ok(from && to);
  const cpuUs = (await used()) - before;
  const shares = machineSharesBetween(from, to);
  assert.ok(shares, 'time has passed');
  const found = shares.programs.find(({ name }) => name === ODD);
  assert.ok(found, JSON.stringify(shares));
  const expected = cpuUs / 1e6 / shares.seconds;
  assert.ok(Math.abs(found.cores - expected) < 0.2 * expected, `${found.cores} of ${expected}`);
  assert.ok((shares.othersCores ?? 0) >= found.cores);
  const { busyCores, stealCores, oursCores, othersCores, kernelCores, cores } = shares;
  const named = stealCores + (oursCores ?? 9) + (othersCores ?? 9) + (kernelCores ?? 9);
  assert.ok(Math.abs(busyCores - named) < 0.3 * cores, JSON.stringify(shares));

  const ownWatch = new MachineWatch(async () => [pid]);
  const first = await ownWatch.totals();
  const then = await used();
  await eventually('it has used enough again', async () => (await used()) - then > ENOUGH_US);
  const last = await ownWatch.totals();
  const own = first && last && machineSharesBetween(first, last);
  assert.ok(own && (own.oursCores ?? 0) > 0 && !own.programs.some(({ name }) => name === ODD), JSON.stringify(own));
});
