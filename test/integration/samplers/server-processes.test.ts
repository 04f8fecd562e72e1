/**
 * Tests finding the processes of a server in /proc by id, command line and control group, with their children, and the
 * processes that use its port.
 */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import {
  addWorkerChildren,
  findFullestProcess,
  Sampler,
  ServerProcesses,
  suggestProcessQuery,
} from '../../../plugin/samplers/index.ts';
import { connectionHoldingsOf, connectionsTo } from '../../../plugin/samplers/processes/connections-to.ts';
import { listenersOn } from '../../../plugin/samplers/processes/listeners.ts';
import { eventually } from '../../helpers/poll.ts';
import { startOrphan, startProcess } from '../../helpers/process.ts';
import { listen } from '../../helpers/raw-listen.ts';
import { readAll } from '../../helpers/readings.ts';
import { tempFolder } from '../../helpers/temp-folder.ts';

const linux = { skip: process.platform !== 'linux' && 'there is no /proc' };
const IDLE = 'setInterval(() => {}, 1e6)';
const PARENT = `
  const { spawn } = require('node:child_process');
  const child = spawn(process.execPath, ['-e', ${JSON.stringify(IDLE)}]);
  child.once('spawn', () => console.log(process.pid, child.pid));`;

/** Starts a server process with a child. */
async function startServer(t: TestContext, name: string) {
  const { pids, end } = await startOrphan(t, '-e', PARENT, name);
  const [parent = 0, child = 0] = pids;
  return { parent, child, end };
}

describe('the processes of a server', linux, () => {
  it('the processes of a server given by id include their children', async (t) => {
    const { parent, child } = await startServer(t, 'by-id');
    const processes = new ServerProcesses({ pids: [parent] });
    assert.deepEqual((await processes.pids()).sort(), [parent, child].sort());
  });

  it('finds the processes of a server by command line, except the generator and its children', async (t) => {
    const name = `chat-${process.pid}`;
    const { parent, child } = await startServer(t, name);
    // Starts a process of the test whose command line also contains the name.
    const own = startProcess(t, process.execPath, ['-e', IDLE, name]);
    await once(own.child, 'spawn');
    const found = await new ServerProcesses({ match: `node.* ${name}$` }).pids();
    assert.ok(found.includes(parent) && found.includes(child), String(found));
    assert.ok(!found.includes(own.pid) && !found.includes(process.pid), String(found));
  });

  it('finds the processes of a server by control group, and those of the groups below it', async (t) => {
    const folder = tempFolder(t);
    mkdirSync(join(folder, 'inner'));
    writeFileSync(join(folder, 'cgroup.procs'), '');
    const { parent, child } = await startServer(t, 'in-a-group');
    writeFileSync(join(folder, 'inner/cgroup.procs'), `${parent}\n${child}\n`);
    assert.deepEqual((await new ServerProcesses({ cgroup: folder }).pids()).sort(), [parent, child].sort());
  });

  it('the identity of the server’s processes changes when one ends, and its CPU stays in the sum', async (t) => {
    const { parent, child, end } = await startServer(t, 'ends');
    const processes = new ServerProcesses({ pids: [parent, child] });
    const before = processes.identity();
    assert.equal(processes.identity(), before);
    await end();
    assert.notEqual(processes.identity(), before);
    assert.ok((await processes.pids()).includes(parent));
  });

  it('the server’s processes include short-lived helpers, which do not change their identity', async (t) => {
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
    assert.equal(processes.identity(), before, 'the helper is not part of the identity');
    assert.deepEqual((await processes.pids()).sort(), [parent, child].sort());
    process.kill(child, 'SIGKILL');
    await eventually('the worker has ended', () => processes.identity() !== before);
  });

  it('counts open files of the server’s processes, which include their connections', async (t) => {
    const { parent } = await startServer(t, 'with-files');
    const files = await new ServerProcesses({ pids: [parent] }).openFiles();
    assert.ok(files !== undefined && files > 6, String(files));
  });

  it('checks the limit of open files of the server’s processes', async (t) => {
    const files = `
      const { openSync } = require('node:fs');
      const open = () => { try { openSync('/dev/null'); open(); } catch { console.log(process.pid); setInterval(() => {}, 1e6); } };
      open();`;
    const shell = startProcess(t, 'sh', ['-c', `ulimit -n 60; exec "$0" -e "$1"`, process.execPath, files]);
    await shell.said(/\d+/);
    const { parent } = await startServer(t, 'not-full');
    const full = await findFullestProcess([parent, shell.pid]);
    assert.deepEqual([full?.pid, full?.limit], [shell.pid, 60]);
    assert.match(full?.command ?? '', /\bnode -e/);
    assert.ok((full?.openFiles ?? 0) >= 57, JSON.stringify(full));
    assert.deepEqual([await findFullestProcess([]), await findFullestProcess([4_194_305])], [undefined, undefined]);
  });

  it('describes the server’s processes by their start command if no other process has it', async (t) => {
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
    const query = suggestProcessQuery([pid]);
    assert.ok(query && 'match' in query, JSON.stringify(query));
    assert.doesNotMatch(query.match, /secret/);
    assert.deepEqual(await new ServerProcesses(query).pids(), [pid]);
    await start();
    assert.deepEqual(suggestProcessQuery([pid]), { pids: [pid] });
    assert.equal(suggestProcessQuery([]), undefined);
  });

  it('reports an error at once, with the query, if no process of the server is found', () => {
    const refused = (query: object, message: RegExp) =>
      assert.throws(() => new ServerProcesses(query), { code: 'PROCESS_NOT_FOUND', message });
    refused({ pids: [process.ppid, 4_194_305] }, /there is no process 4194305/);
    refused({ match: 'no-such-server-[0-9]{9}' }, /no command line matches \/no-such-server.*, of \d+ processes/);
    refused({ cgroup: 'no-such.slice' }, /^\/sys\/fs\/cgroup\/no-such\.slice /);
  });
});

const CLIENT = `const [port, host] = process.argv.slice(1);
  require('node:net').connect(port, host, () => console.log('connected'));`;

for (const host of ['127.0.0.1', '::1']) {
  it(`counts connections to a port from ${host}, except those of this process`, {
    skip: process.platform !== 'linux',
  }, async (t) => {
    const port = await listen(t, createServer(), '::');
    assert.equal(await connectionsTo(port), 0);
    await once(connect(port, host), 'connect');
    const clients = [1, 2].map(() => startProcess(t, process.execPath, ['-e', CLIENT, String(port), host]));
    await Promise.all(clients.map((client) => client.said(/connected/)));
    await eventually('two', async () => (await connectionsTo(port)) === 2);
    for (const client of clients) client.kill();
    await eventually('none', async () => (await connectionsTo(port)) === 0);
  });
}

const LISTENER = `require('node:net').createServer((one) => one.on('error', () => {}))
  .listen(0, function () { console.log(this.address().port); });`;
const PROXY = `const net = require('node:net');
  net.createServer((one) => one.on('error', () => {}).pipe(net.connect(Number(process.argv[1]))).on('error', () => {}))
    .listen(0, function () { console.log(this.address().port); });`;

it('finds the processes that hold connections, and the proxy in front of them', {
  skip: process.platform !== 'linux',
}, async (t) => {
  const server = startProcess(t, process.execPath, ['-e', LISTENER]);
  const [, port = ''] = await server.said(/^(\d+)$/m);
  const proxy = startProcess(t, process.execPath, ['-e', PROXY, port]);
  const [, proxied = ''] = await proxy.said(/^(\d+)$/m);
  const pids = [server.pid, proxy.pid, process.pid];
  assert.deepEqual(await connectionHoldingsOf(pids, Number(proxied)), []);
  const clients = Array.from({ length: 20 }, () => connect(Number(proxied), '127.0.0.1'));
  t.after(() => clients.forEach((client) => void client.destroy()));
  const isThrough = async () =>
    ((await connectionHoldingsOf(pids, Number(proxied)))?.[1]?.[0]?.connections ?? 0) === 20;
  await eventually('the proxy has passed them on', isThrough);
  const hop = (pid: number, passesOn: boolean) => [{ pid, connections: 20, passesOn }];
  assert.deepEqual(await connectionHoldingsOf(pids, Number(proxied)), [hop(proxy.pid, true), hop(server.pid, false)]);
  assert.deepEqual(await connectionHoldingsOf([proxy.pid], Number(proxied)), [hop(proxy.pid, true)]);
});

it('reports the number of connections as unknown if the kernel lists none', async () => {
  assert.equal(await connectionsTo(1, ['/nowhere']), undefined);
});

it('finds the processes that listen on a port, except the generator’s own', {
  skip: process.platform !== 'linux',
}, async (t) => {
  const script = `const server = require('node:net').createServer();
    server.listen(0, () => [process.pid, server.address().port].forEach((line) => console.log(line)));`;
  const { pids, line } = await startOrphan(t, '-e', script);
  const port = Number(await line());
  assert.deepEqual(await listenersOn(port), pids);
  assert.equal(await listenersOn(await listen(t, createServer())), undefined);
});

const skip = process.platform !== 'linux' && 'there is no /proc';
const MB = 2 ** 20;
const KEPT = 64 * MB;

const CHILD = `const kept = Buffer.alloc(${KEPT}, 1); console.log('kept'); setInterval(() => kept, 1e6)`;
/** Shell commands that take some tenths of a second of CPU. */
const BURN = 'i=0; while [ $i -lt 500000 ]; do i=$((i+1)); done';
const SERVER = `
  const { spawn, spawnSync } = require('node:child_process');
  const child = spawn(process.execPath, ['-e', ${JSON.stringify(CHILD)}], { stdio: ['ignore', 'pipe', 'inherit'] });
  child.stdout.once('data', () => console.log([process.pid, child.pid].join(' ')));
  process.on('SIGUSR2', () => {
    spawnSync('sh', ['-c', ${JSON.stringify(BURN)}]);
    console.log('burnt');
  });`;

it('memory and CPU of a worker are the sum of its process tree', { skip }, async (t) => {
  const { pids, line } = await startOrphan(t, '-e', SERVER);
  const [worker = 0, child = 0] = pids;
  const found = await addWorkerChildren({ worker: [worker], nginx: [1] });
  assert.deepEqual(found, { worker: [worker, child], workerChildren: [child], nginx: [1] });

  const sampler = new Sampler({ pids: () => addWorkerChildren({ worker: [worker] }), connections: () => 0 });
  const { workerPss = 0, workerChildrenPss = 0 } = (await readAll(sampler)).bytes;
  assert.ok(
    workerChildrenPss > KEPT && workerPss > workerChildrenPss,
    JSON.stringify({ workerPss, workerChildrenPss }),
  );
  const withoutChildren = new Sampler({ pids: () => ({ worker: [worker] }), connections: () => 0 });
  const { bytes: bytesWithoutChildren } = await readAll(withoutChildren);
  assert.equal(bytesWithoutChildren.workerChildrenPss, 0);
  assert.ok((bytesWithoutChildren.workerPss ?? 0) < workerPss - KEPT / 2);

  const { worker: beforeUs = 0 } = await sampler.cpu();
  process.kill(worker, 'SIGUSR2');
  assert.equal(await line(), 'burnt');
  const { worker: afterUs = 0 } = await sampler.cpu();
  assert.ok(afterUs - beforeUs > 100_000, `${afterUs - beforeUs} us of an unobserved child`);
});

it('the generator never counts as a worker’s child', { skip }, async () => {
  const { workerChildren } = await addWorkerChildren({ worker: [process.ppid] });
  assert.ok(!workerChildren?.includes(process.pid));
});
