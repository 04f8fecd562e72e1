/** A server's processes in /proc: by id, command line and control group, with what they have started. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, it } from 'node:test';
import { ServerProcesses } from '../../../plugin/samplers/index.ts';
import { eventually } from '../../helpers/poll.ts';

const linux = { skip: process.platform !== 'linux' && 'there is no /proc' };
const started: number[] = [];
afterEach(() => {
  for (const pid of started.splice(0)) kill(pid);
});

const IDLE = 'setInterval(() => {}, 1e6)';
const PARENT = `
  const child = require('node:child_process').spawn(process.execPath, ['-e', ${JSON.stringify(IDLE)}]);
  child.once('spawn', () => console.log(process.pid, child.pid));`;

/** A server with a process of its own. Both are orphans, since a shell started them and left: no process of a test's own. */
async function startServer(name: string): Promise<{ parent: number; child: number; end: () => Promise<void> }> {
  const shell = spawn('sh', ['-c', '"$0" "$@" &', process.execPath, '-e', PARENT, name], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = await once(shell.stdout, 'data');
  shell.stdout.destroy();
  const [parent = 0, child = 0] = String(line).split(' ').map(Number);
  started.push(parent, child);
  const end = async () => {
    for (const pid of [child, parent]) kill(pid);
    await eventually('both have ended', () => !isAlive(child) && !isAlive(parent));
  };
  return { parent, child, end };
}

/** An orphan can stay a zombie for as long as nobody asks for it. */
function isAlive(pid: number): boolean {
  try {
    return !/^State:\tZ/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // it has ended
  }
}

describe('the processes of a server', linux, () => {
  it('are those named by id, and what they have started', async () => {
    const { parent, child } = await startServer('by-id');
    const processes = new ServerProcesses({ pids: [parent] });
    assert.deepEqual(
      processes.pids(),
      [parent, child].sort((a, b) => a - b),
    );
  });

  it('are those whose command line matches, but not the generator and its own', async () => {
    const name = `chat-${process.pid}`;
    const { parent, child } = await startServer(name);
    // Its command line names the server, too.
    const own = spawn(process.execPath, ['-e', IDLE, name], { stdio: 'ignore' });
    started.push(own.pid as number);
    await once(own, 'spawn');
    const found = new ServerProcesses({ match: `node.* ${name}$` }).pids();
    assert.ok(found.includes(parent) && found.includes(child), String(found));
    assert.ok(!found.includes(own.pid as number) && !found.includes(process.pid), String(found));
  });

  it('are those of a control group and of the groups below it', async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'cgroup-'));
    t.after(() => rmSync(folder, { recursive: true }));
    mkdirSync(join(folder, 'inner'));
    writeFileSync(join(folder, 'cgroup.procs'), '');
    const { parent, child } = await startServer('in-a-group');
    writeFileSync(join(folder, 'inner/cgroup.procs'), `${parent}\n${child}\n`);
    assert.deepEqual(
      new ServerProcesses({ cgroup: folder }).pids(),
      [parent, child].sort((a, b) => a - b),
    );
  });

  it('are identified: one that ends is noticed, and stays in a sum that it is missing from', async () => {
    const { parent, child, end } = await startServer('ends');
    const processes = new ServerProcesses({ pids: [parent, child] });
    const before = processes.identity();
    assert.equal(processes.identity(), before);
    await end();
    assert.notEqual(processes.identity(), before);
    assert.ok(processes.pids().includes(parent));
  });

  it('are neither helpers that come and go, nor lost with them', async (t) => {
    const script = `${PARENT}
      const helper = require('node:child_process').spawn('sleep', ['0.5']);
      helper.once('spawn', () => console.log('helps'));
      helper.once('exit', () => console.log('helped'));`;
    const shell = spawn('sh', ['-c', '"$0" "$@" &', process.execPath, '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    t.after(() => shell.stdout.destroy());
    let output = '';
    shell.stdout.on('data', (data) => {
      output += data;
    });
    await eventually('the server and its helper run', () => /\d+ \d+/.test(output) && output.includes('helps'));
    const [parent = 0, child = 0] = (output.match(/\d+/g) ?? []).map(Number);
    started.push(parent, child);
    const processes = new ServerProcesses({ pids: [parent] });
    assert.equal(processes.pids().length, 3);
    const before = processes.identity();
    assert.deepEqual(before.split(',').map(Number).sort(), [parent, child].sort());
    await eventually('the helper has ended', () => output.includes('helped'));
    assert.equal(processes.identity(), before, 'it was none of the workers');
    assert.deepEqual(processes.pids().sort(), [parent, child].sort());
    kill(child);
    await eventually('the worker has ended', () => processes.identity() !== before);
  });

  it('have files open, which show their connections', async () => {
    const { parent } = await startServer('with-files');
    const files = await new ServerProcesses({ pids: [parent] }).openFiles();
    assert.ok(files !== undefined && files > 6, String(files));
  });

  it('are an error at once where there are none, with what was looked for', () => {
    const refused = (query: object, message: RegExp) =>
      assert.throws(() => new ServerProcesses(query), { code: 'WORKERS_NOT_FOUND', message });
    refused({ pids: [process.ppid, 4_194_305] }, /there is no process 4194305/);
    refused({ match: 'no-such-server-[0-9]{9}' }, /no command line matches \/no-such-server.*, of \d+ processes/);
    refused({ cgroup: 'no-such.slice' }, /^\/sys\/fs\/cgroup\/no-such\.slice is no control group/);
  });
});
