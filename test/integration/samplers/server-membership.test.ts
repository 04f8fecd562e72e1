/** Which of the processes that a query finds are the server's: as its port tells, and later its parents and restarts. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { ServerProcesses, whoListens } from '../../../plugin/samplers/index.ts';
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

/** Scripts of their own folder, so that a pattern matches no other process. */
function scripts(t: TestContext) {
  const folder = tempFolder(t, 'membership-');
  const write = (name: string, text: string) => {
    const path = join(folder, name);
    writeFileSync(path, text);
    return { path, match: `^[^ ]*node ${path}( |$)` };
  };
  return Object.assign(write, { folder });
}

/** @returns its process id and port */
async function start(t: TestContext, ...args: string[]) {
  const { pids, end, line } = await startOrphan(t, ...args);
  const [pid = 0, port = 0] = pids;
  return { pid, port, end, line };
}

const found = async (match: string, port: number) =>
  new ServerProcesses({ match }, { port, listening: await whoListens(port), maxAgeMs: 0 });

describe('of the processes that a pattern matches,', linux, () => {
  it('a second copy of the server on another port is not counted, and is named', async (t) => {
    const { path, match } = scripts(t)('index.js', LISTEN);
    const server = await start(t, path);
    const other = await start(t, path);
    const processes = await found(match, server.port);
    assert.deepEqual(await processes.pids(), [server.pid]);
    const [outsider] = processes.outsiders();
    assert.deepEqual([outsider?.pid, outsider?.ports], [other.pid, [other.port]]);
    assert.match(outsider?.why ?? '', /neither listens on port/);
    assert.match(outsider?.command ?? '', /index\.js/);
  });

  it('one that begins during the run is not counted, and is named without its secrets', async (t) => {
    const { path, match } = scripts(t)('index.js', LISTEN);
    const server = await start(t, path);
    const processes = await found(match, server.port);
    const other = await start(t, path, '0', '--token=abc123secret');
    assert.deepEqual(await processes.pids(), [server.pid]);
    const [outsider] = processes.outsiders();
    assert.deepEqual([outsider?.pid, outsider?.ports], [other.pid, [other.port]]);
    assert.match(outsider?.why ?? '', /began during the run/);
    assert.doesNotMatch(outsider?.command ?? '', /abc123/);
  });

  it('one that begins to listen on the same port is counted', async (t) => {
    const { path, match } = scripts(t)('index.js', LISTEN);
    const server = await start(t, path);
    const processes = await found(match, server.port);
    const second = await start(t, path, String(server.port));
    assert.deepEqual(await processes.pids(), [server.pid, second.pid]);
    assert.deepEqual(processes.outsiders(), []);
  });

  it('workers of a cluster are counted, also those that are forked later, although only the primary listens', async (t) => {
    const { path, match } = scripts(t)('cluster.js', CLUSTER);
    const primary = await start(t, path);
    t.after(() => process.kill(primary.pid, 'SIGKILL'));
    const processes = await found(match, primary.port);
    const before = await processes.pids();
    assert.ok(before.length >= 1 && !before.includes(process.pid));
    process.kill(primary.pid, 'SIGUSR2');
    await primary.line();
    const later = await processes.pids();
    assert.equal(later.length, before.length + 1, `${before} then ${later}`);
    assert.deepEqual(processes.outsiders(), []);
  });

  it('one that a supervisor starts again takes the place of the one before', async (t) => {
    const write = scripts(t);
    const supervisor = write('supervisor.js', SUPERVISOR);
    const { path, match } = write('index.js', LISTEN);
    const server = await start(t, supervisor.path, path);
    const processes = await found(match, server.port);
    const identity = processes.identity();
    process.kill(server.pid, 'SIGKILL');
    const [pid] = (await server.line()).split(' ').map(Number);
    t.after(async () => {
      const parent = await found(supervisor.match, 0);
      for (const one of await parent.pids()) process.kill(one, 'SIGKILL');
    });
    await eventually('it is counted', async () => (await processes.pids()).includes(pid as number));
    assert.deepEqual(await processes.pids(), [pid]);
    assert.notEqual(processes.identity(), identity);
  });

  it('another program behind the listener is counted, and one that listens nowhere is not', async (t) => {
    const write = scripts(t);
    const front = await start(t, write('front.js', LISTEN).path);
    const backend = await start(t, write('backend.js', LISTEN).path);
    const idle = await startOrphan(t, write('idle.js', 'console.log(process.pid); setInterval(() => {}, 1e6)').path);
    const processes = await found(write.folder, front.port);
    assert.deepEqual(
      await processes.pids(),
      [front.pid, backend.pid].sort((a, b) => a - b),
    );
    assert.deepEqual(
      processes.outsiders().map(({ pid }) => pid),
      idle.pids,
    );
  });

  it('none is left out where the listeners cannot be seen', async (t) => {
    const { path, match } = scripts(t)('index.js', LISTEN);
    const [one, other] = [await start(t, path), await start(t, path)];
    const processes = new ServerProcesses({ match }, { port: one.port, listening: { unseen: 'hidden' } });
    assert.deepEqual(
      await processes.pids(),
      [one.pid, other.pid].sort((a, b) => a - b),
    );
  });
});
