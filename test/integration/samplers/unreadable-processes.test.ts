/**
 * Tests processes of another user. Figures that cannot be read are missing with a reason, and the processes do not
 * count as ended.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { execa } from 'execa';
import { tryOrUndefined } from '../../../protocol/base/try-or-undefined.ts';
import { startProcess } from '../../helpers/process.ts';

/** Mounts a private `/proc`, because an option of the existing mount would change it for the whole machine. */
const HIDING = 'mount -t proc -o hidepid=2 proc /proc';
const canHide =
  tryOrUndefined(() => execFileSync('unshare', ['-m', 'sh', '-c', HIDING], { stdio: 'ignore' })) !== undefined;
const NOBODY = 65_534;

const module = (name: string) => JSON.stringify(new URL(`../../../plugin/${name}`, import.meta.url).href);

/** @returns the run's readings of the process, first as root, then as another user in the same mount namespace */
async function readAsOtherUser(pid: number, mount: string) {
  const script = `
    import { absencesOfReadings, knownValues, ProcessWatch, roleOf, Sampler, ServerProcesses } from ${module('samplers/index.ts')};
    import { describeProcesses } from ${module('run/target/measured-processes.ts')};
    const pids = [${pid}];
    const watch = new ProcessWatch();
    watch.add({ worker: pids });
    const server = new ServerProcesses({ pids }, { maxAgeMs: 0 });
    const identity = server.identity();
    process.setgroups([]);
    process.setgid(${NOBODY});
    process.setuid(${NOBODY});
    const sampler = new Sampler({ pids: () => ({ worker: pids }), connections: () => 0, notShared: 'elsewhere' });
    const readings = await sampler.reading();
    await sampler.cpu();
    const { measured } = await describeProcesses({ worker: pids }, { port: 1, listening: { pids: [] } }, [], null);
    const query = (named) => {
      try {
        return new ServerProcesses(named) && 'found';
      } catch ({ message, fix }) {
        return message + ' | ' + fix;
      }
    };
    console.log(JSON.stringify({
      ended: watch.ended().length,
      isSame: server.identity() === identity,
      pids: await server.pids(),
      openFiles: (await server.openFiles()) ?? null,
      rss: knownValues(readings).workerRss ?? 0,
      incompleteCpu: [...sampler.incompleteCpu],
      absent: absencesOfReadings(readings),
      holds: measured.map(({ holds }) => holds),
      named: query({ pids }),
      matched: query({ match: '^no such program' }),
      dead: query({ pids: [2 ** 22] }),
    }));
    watch.close();`;
  const command = `${mount} && exec "${process.execPath}" --input-type=module`;
  const { stdout } = await execa('unshare', ['-m', 'sh', '-c', command], { input: script });
  return JSON.parse(stdout);
}

async function startIdle(t: Parameters<typeof startProcess>[0]): Promise<number> {
  const { child, pid } = startProcess(t, 'sleep', ['1000']);
  await once(child, 'spawn');
  return pid;
}

test('reports a process that /proc starts to hide as absent, not as ended', { skip: !canHide }, async (t) => {
  const pid = await startIdle(t);
  const found = await readAsOtherUser(pid, HIDING);
  assert.deepEqual([found.ended, found.isSame, found.pids, found.openFiles], [0, true, [pid], null]);
  assert.deepEqual(found.incompleteCpu, ['worker']);
  assert.match(found.absent.workerRss, /1 of its 1 processes may not be read: .*hidepid/);
  assert.match(found.named, new RegExp(`^process ${pid} may not be read: .*hidepid.* \\| run as root`));
  assert.match(found.matched, /hides those of other users .* \| run as root/);
  assert.match(found.dead, /^there is no process 4194304 /);
});

test('reads the RSS of another user’s process, and gives a reason for each unreadable figure', {
  skip: !canHide,
}, async (t) => {
  const pid = await startIdle(t);
  const found = await readAsOtherUser(pid, 'true');
  assert.deepEqual([found.ended, found.isSame, found.openFiles, found.holds], [0, true, null, [null]]);
  assert.ok(found.rss > 0);
  assert.deepEqual(found.incompleteCpu, []);
  assert.match(found.absent.workerPss, /readable only by its user and by root/);
  assert.equal(found.named, 'found');
});
