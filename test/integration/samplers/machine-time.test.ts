/** Who uses the CPUs of a real machine, with a program that uses as much as it gets. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { MachineWatch, readProcesses, sharesBetween } from '../../../plugin/samplers/index.ts';
import { eventually } from '../../helpers/poll.ts';

const skip = process.platform !== 'linux' && 'there is no /proc';
/** 0.3 s of CPU time: thirty times the precision. */
const ENOUGH_US = 300_000;
/** As its first thread is named: characters that confuse whoever splits at them. */
const ODD = 'h) S 1 (og';

it('a hog is named, with what it used; what it used is not ours, and the sum is the busy time', { skip }, async (t) => {
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
  const shares = sharesBetween(from, to);
  assert.ok(shares, 'there was time in between');
  const found = shares.programs.find(({ name }) => name === ODD);
  assert.ok(found, JSON.stringify(shares));
  const expected = cpuUs / 1e6 / shares.seconds;
  assert.ok(Math.abs(found.cores - expected) < 0.2 * expected, `${found.cores} of ${expected}`);
  assert.ok((shares.othersCores ?? 0) >= found.cores);
  const { busyCores, stealCores, oursCores, othersCores, kernelCores, cores } = shares;
  const named = stealCores + (oursCores ?? 9) + (othersCores ?? 9) + (kernelCores ?? 9);
  assert.ok(Math.abs(busyCores - named) < 0.3 * cores, JSON.stringify(shares));

  const ours = new MachineWatch(async () => [pid]);
  const first = await ours.totals();
  const then = await used();
  await eventually('it has used enough again', async () => (await used()) - then > ENOUGH_US);
  const last = await ours.totals();
  const own = first && last && sharesBetween(first, last);
  assert.ok(own && (own.oursCores ?? 0) > 0 && !own.programs.some(({ name }) => name === ODD), JSON.stringify(own));
});
