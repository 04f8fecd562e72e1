/** Tests which processes found by a query belong to the server: its listeners, their children and restarts. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { findPortListeners, ServerProcesses } from '../../../plugin/samplers/index.ts';
import { eventually } from '../../helpers/poll.ts';
import { startOrphan } from '../../helpers/process.ts';
import { tempFolder } from '../../helpers/temp-folder.ts';

const linux = { skip: process.platform !== 'linux' && 'there is no /proc' };

const LISTEN = `require('node:net').createServer().listen({ port: Number(process.argv[2] ?? 0), reusePort: true, exclusive: true }, function () {
  console.log(process.pid + ' ' + this.address().port); });`;
const CLUSTER = `
  const cluster = require('node:cluster');
  if (cluster.isPrimary) {
    const fork = () => cluster.fork().once('listening', (address) => console.log(process.pid + ' ' + address.port));
    process.title = 'primary';
    fork();
    process.on('SIGUSR2', fork);
  } else require('node:net').createServer().listen(Number(process.argv[2] ?? 0));`;
const SUPERVISOR = `
  const { spawn } = require('node:child_process');
  const start = () => spawn(process.execPath, [process.argv[2]], { stdio: ['ignore', 'inherit', 'inherit'] }).once('exit', start);
  start();`;

/** Creates scripts in a separate folder, so that a pattern matches no other process. */
function scripts(t: TestContext) {
  const folder = tempFolder(t, 'membership-');
  const write = (name: string, text: string) => {
    const path = join(folder, name);
    writeFileSync(path, text);
    return { path, match: `^[^ ]*node ${path}( |$)` };
  };
  return Object.assign(write, { folder });
}

async function start(t: TestContext, ...args: string[]) {
  const { pids, end, line } = await startOrphan(t, ...args);
  const [pid = 0, port = 0] = pids;
  return { pid, port, end, line };
}

const processesFor = async (match: string, port: number) =>
  new ServerProcesses({ match }, { port, listening: await findPortListeners(port), maxAgeMs: 0 });

describe('processes that match a pattern', linux, () => {
  it('a second copy of the server on another port is not counted, and is listed', async (t) => {
    const { path, match } = scripts(t)('index.js', LISTEN);
    const server = await start(t, path);
    const other = await start(t, path);
    const processes = await processesFor(match, server.port);
    assert.deepEqual(await processes.pids(), [server.pid]);
    const [outsider] = processes.outsiders();
    assert.deepEqual([outsider?.pid, outsider?.ports], [other.pid, [other.port]]);
    assert.match(outsider?.why ?? '', /neither listens on port/);
    assert.match(outsider?.command ?? '', /index\.js/);
  });

  it('a matching process that starts during the run is not counted, and is listed without its secrets', async (t) => {
    const { path, match } = scripts(t)('index.js', LISTEN);
    const server = await start(t, path);
    const processes = await processesFor(match, server.port);
    const other = await start(t, path, '0', '--token=abc123secret');
    assert.deepEqual(await processes.pids(), [server.pid]);
    const [outsider] = processes.outsiders();
    assert.deepEqual([outsider?.pid, outsider?.ports], [other.pid, [other.port]]);
    assert.match(outsider?.why ?? '', /began during the run/);
    assert.doesNotMatch(outsider?.command ?? '', /abc123/);
  });

  it('counts a process that starts to listen on the port of the server', async (t) => {
    const { path, match } = scripts(t)('index.js', LISTEN);
    const server = await start(t, path);
    const processes = await processesFor(match, server.port);
    const second = await start(t, path, String(server.port));
    assert.deepEqual(await processes.pids(), [server.pid, second.pid]);
    assert.deepEqual(processes.outsiders(), []);
  });

  it('counts workers of a cluster, including later ones, although only the primary listens', async (t) => {
    const { path, match } = scripts(t)('cluster.js', CLUSTER);
    const primary = await start(t, path);
    t.after(() => process.kill(primary.pid, 'SIGKILL'));
    const processes = await processesFor(match, primary.port);
    const before = await processes.pids();
    assert.ok(before.length >= 1 && !before.includes(process.pid));
    process.kill(primary.pid, 'SIGUSR2');
    await primary.line();
    const later = await processes.pids();
    assert.equal(later.length, before.length + 1, `${before} then ${later}`);
    assert.deepEqual(processes.outsiders(), []);
  });

  it('a process restarted by its supervisor replaces the previous one in the count', async (t) => {
    const write = scripts(t);
    const supervisor = write('supervisor.js', SUPERVISOR);
    const { path, match } = write('index.js', LISTEN);
    const server = await start(t, supervisor.path, path);
    const processes = await processesFor(match, server.port);
    const identity = processes.identity();
    process.kill(server.pid, 'SIGKILL');
    const [pid] = (await server.line()).split(' ').map(Number);
    t.after(async () => {
      const parent = await processesFor(supervisor.match, 0);
      for (const pid of await parent.pids()) process.kill(pid, 'SIGKILL');
    });
    await eventually('it is counted', async () => (await processes.pids()).includes(pid as number));
    assert.deepEqual(await processes.pids(), [pid]);
    assert.notEqual(processes.identity(), identity);
  });

  it('counts another program behind the listener, but no program without a port', async (t) => {
    const write = scripts(t);
    const front = await start(t, write('front.js', LISTEN).path);
    const backend = await start(t, write('backend.js', LISTEN).path);
    const idle = await startOrphan(t, write('idle.js', 'console.log(process.pid); setInterval(() => {}, 1e6)').path);
    const processes = await processesFor(write.folder, front.port);
    assert.deepEqual(
      await processes.pids(),
      [front.pid, backend.pid].sort((a, b) => a - b),
    );
    assert.deepEqual(
      processes.outsiders().map(({ pid }) => pid),
      idle.pids,
    );
  });

  it('counts all matching processes if the listeners cannot be read', async (t) => {
    const { path, match } = scripts(t)('index.js', LISTEN);
    const [first, second] = [await start(t, path), await start(t, path)];
    const processes = new ServerProcesses({ match }, { port: first.port, listening: { unseen: 'hidden' } });
    assert.deepEqual(
      await processes.pids(),
      [first.pid, second.pid].sort((a, b) => a - b),
    );
  });
});
