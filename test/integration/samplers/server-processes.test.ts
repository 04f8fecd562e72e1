/** A server's processes in /proc: by id, command line and control group, with what they have started. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { fullestOf, queryFor, ServerProcesses } from '../../../plugin/samplers/index.ts';
import { eventually } from '../../helpers/poll.ts';
import { startOrphan, startProcess } from '../../helpers/process.ts';
import { tempFolder } from '../../helpers/temp-folder.ts';

const linux = { skip: process.platform !== 'linux' && 'there is no /proc' };
const IDLE = 'setInterval(() => {}, 1e6)';
const PARENT = `
  const { spawn } = require('node:child_process');
  const child = spawn(process.execPath, ['-e', ${JSON.stringify(IDLE)}]);
  child.once('spawn', () => console.log(process.pid, child.pid));`;

/** A server with a process of its own. */
async function startServer(t: TestContext, name: string) {
  const { pids, end } = await startOrphan(t, '-e', PARENT, name);
  const [parent = 0, child = 0] = pids;
  return { parent, child, end };
}

describe('the processes of a server', linux, () => {
  it('are those named by id, and what they have started', async (t) => {
    const { parent, child } = await startServer(t, 'by-id');
    const processes = new ServerProcesses({ pids: [parent] });
    assert.deepEqual((await processes.pids()).sort(), [parent, child].sort());
  });

  it('are those whose command line matches, but not the generator and its own', async (t) => {
    const name = `chat-${process.pid}`;
    const { parent, child } = await startServer(t, name);
    // Its command line names the server, too.
    const own = startProcess(t, process.execPath, ['-e', IDLE, name]);
    await once(own.child, 'spawn');
    const found = await new ServerProcesses({ match: `node.* ${name}$` }).pids();
    assert.ok(found.includes(parent) && found.includes(child), String(found));
    assert.ok(!found.includes(own.pid) && !found.includes(process.pid), String(found));
  });

  it('are those of a control group and of the groups below it', async (t) => {
    const folder = tempFolder(t);
    mkdirSync(join(folder, 'inner'));
    writeFileSync(join(folder, 'cgroup.procs'), '');
    const { parent, child } = await startServer(t, 'in-a-group');
    writeFileSync(join(folder, 'inner/cgroup.procs'), `${parent}\n${child}\n`);
    assert.deepEqual((await new ServerProcesses({ cgroup: folder }).pids()).sort(), [parent, child].sort());
  });

  it('are identified: one that ends is noticed, and stays in a sum that it is missing from', async (t) => {
    const { parent, child, end } = await startServer(t, 'ends');
    const processes = new ServerProcesses({ pids: [parent, child] });
    const before = processes.identity();
    assert.equal(processes.identity(), before);
    await end();
    assert.notEqual(processes.identity(), before);
    assert.ok((await processes.pids()).includes(parent));
  });

  it('are neither helpers that come and go, nor lost with them', async (t) => {
    const script = `${PARENT}
      child.once('spawn', () => {
        const helper = spawn('cat');
        helper.once('spawn', () => console.log('helps')).once('exit', () => console.log('helped'));
        process.once('SIGUSR2', () => helper.stdin.end());
      });`;
    const { pids, line } = await startOrphan(t, '-e', script);
    const [parent = 0, child = 0] = pids;
    assert.equal(await line(), 'helps');
    const processes = new ServerProcesses({ pids: [parent] });
    assert.equal((await processes.pids()).length, 3);
    const before = processes.identity();
    assert.deepEqual(before.split(',').map(Number).sort(), [parent, child].sort());
    process.kill(parent, 'SIGUSR2');
    assert.equal(await line(), 'helped');
    assert.equal(processes.identity(), before, 'it was none of the workers');
    assert.deepEqual((await processes.pids()).sort(), [parent, child].sort());
    process.kill(child, 'SIGKILL');
    await eventually('the worker has ended', () => processes.identity() !== before);
  });

  it('have files open, which show their connections', async (t) => {
    const { parent } = await startServer(t, 'with-files');
    const files = await new ServerProcesses({ pids: [parent] }).openFiles();
    assert.ok(files !== undefined && files > 6, String(files));
  });

  it('can be at the limit of open files', async (t) => {
    const files = `
      const { openSync } = require('node:fs');
      const open = () => { try { openSync('/dev/null'); open(); } catch { console.log(process.pid); setInterval(() => {}, 1e6); } };
      open();`;
    const shell = startProcess(t, 'sh', ['-c', `ulimit -n 60; exec "$0" -e "$1"`, process.execPath, files]);
    await shell.said(/\d+/);
    const { parent } = await startServer(t, 'not-full');
    const full = await fullestOf([parent, shell.pid]);
    assert.deepEqual([full?.pid, full?.limit], [shell.pid, 60]);
    assert.ok((full?.openFiles ?? 0) >= 57, JSON.stringify(full));
    assert.deepEqual([await fullestOf([]), await fullestOf([4_194_305])], [undefined, undefined]);
  });

  it('are named by what they are started with, if that is theirs alone', async (t) => {
    const folder = tempFolder(t, 'query(1)-');
    const script = join(folder, 'app+1.js');
    writeFileSync(script, `${IDLE}; console.log('up')`);
    const start = async (...args: string[]) => {
      const { pids, end } = await startOrphan(
        t,
        '-e',
        `const child = require('node:child_process').spawn(process.execPath, ${JSON.stringify([script, ...args])}, { stdio: 'pipe' });
         child.stdout.once('data', () => console.log(child.pid));`,
      );
      return { pid: pids[0] as number, end };
    };
    const { pid } = await start('--token=secret');
    const query = queryFor([pid]);
    assert.ok(query && 'match' in query, JSON.stringify(query));
    assert.doesNotMatch(query.match, /secret/);
    assert.deepEqual(await new ServerProcesses(query).pids(), [pid]);
    await start();
    assert.deepEqual(queryFor([pid]), { pids: [pid] });
    assert.equal(queryFor([]), undefined);
  });

  it('are an error at once where there are none, with what was looked for', () => {
    const refused = (query: object, message: RegExp) =>
      assert.throws(() => new ServerProcesses(query), { code: 'PROCESS_NOT_FOUND', message });
    refused({ pids: [process.ppid, 4_194_305] }, /there is no process 4194305/);
    refused({ match: 'no-such-server-[0-9]{9}' }, /no command line matches \/no-such-server.*, of \d+ processes/);
    refused({ cgroup: 'no-such.slice' }, /^\/sys\/fs\/cgroup\/no-such\.slice /);
  });
});
