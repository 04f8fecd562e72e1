/** Tests memory of processes without `instrument(io)` through Node's inspector: opening, refusals and closing. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { appendFileSync, copyFileSync, writeFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer } from 'node:net';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { WebSocket } from 'ws';
import { Inspectors, isInspectable } from '../../../plugin/samplers/inspector/inspectors.ts';
import type { ErrorCode } from '../../../protocol/codes/error-codes.ts';
import { startProcess } from '../../helpers/process.ts';
import { listen } from '../../helpers/raw-listen.ts';
import { tempFolder } from '../../helpers/temp-folder.ts';

const linux = { skip: process.platform !== 'linux' && 'there is no /proc' };
const MB = 1024 ** 2;
/** Program of less than 64 KB. */
const SLEEP = '/bin/sleep';

/** Program that keeps an array of 8,000,000 bytes for every line of its input, and makes as much garbage. */
const KEEPER = `
  const kept = [];
  const fill = () => Array.from({ length: 1e6 }, (_, index) => index);
  process.stdin.on('data', () => { kept.push(fill()); fill(); console.log('kept'); });
  console.log('ready');`;

/** End of the name of this program. This program has the port, or is the debugger. */
const OWN_NAME = new RegExp(`node .*\\(pid ${process.pid}\\)`);

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

async function start(t: TestContext, script: string, ...options: string[]) {
  const started = startProcess(t, process.execPath, [...options, '-e', script], { stdio: ['pipe', 'pipe', 'pipe'] });
  await started.said(/ready/);
  return started;
}

async function isListening(port: number): Promise<boolean> {
  const socket = connect({ port, host: '127.0.0.1' });
  const outcome = await Promise.race([once(socket, 'connect'), once(socket, 'error')]).then(
    () => socket.readyState === 'open',
    () => false,
  );
  socket.destroy();
  return outcome;
}

function inspect(...pids: number[]): Promise<Inspectors> {
  return Inspectors.connect({ pids: async () => pids });
}

async function assertRefused(code: ErrorCode, pid: number, message = /./): Promise<void> {
  await assert.rejects(inspect(pid), { code, message });
}

async function heapAfterGc(inspectors: Inspectors): Promise<number> {
  await inspectors.gc();
  return (await inspectors.memory()).reduce((sum, { keptBytes }) => sum + keptBytes, 0);
}

describe('the inspector of a process', linux, () => {
  it('reads retained memory without garbage through the inspector, and closes it after each reading', async (t) => {
    const port = await freePort();
    const keeper = await start(t, KEEPER, `--inspect-port=${port}`);
    const inspectors = await inspect(keeper.pid);
    t.after(() => inspectors.close());
    const before = await heapAfterGc(inspectors);
    keeper.child.stdin?.write('more');
    await keeper.said(/kept/);
    const growth = (await heapAfterGc(inspectors)) - before;
    assert.ok(Math.abs(growth - 8e6) < 0.1e6, `${growth} bytes`);
    assert.equal(await isListening(port), false);
    assert.deepEqual(
      (await inspectors.stats()).map(({ collections }) => collections),
      [2],
    );
    assert.ok(inspectors.longestPauseMs > 0);
  });

  it('counts threads that serve connections, except one that never answers the inspector', async (t) => {
    const script = `
      const { Worker } = require('node:worker_threads');
      new Worker('Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)', { eval: true });
      const server = \`require('node:net').createServer().listen(0, '127.0.0.1', () => {${KEEPER}});\`;
      process.stdin.pipe(new Worker(server, { eval: true, stdin: true }).stdin);`;
    const keeper = await start(t, script, '--inspect-port=0');
    const inspectors = await inspect(keeper.pid);
    t.after(() => inspectors.close());
    const before = await heapAfterGc(inspectors);
    keeper.child.stdin?.write('more');
    await keeper.said(/kept/);
    const growth = (await heapAfterGc(inspectors)) - before;
    assert.ok(Math.abs(growth - 8e6) < 0.1e6, `${growth} bytes`);
    assert.equal((await inspectors.memory())[0]?.mallocBytes, undefined);
  });

  it('opens the inspector of one process after the other if they share a port, also for two runs', async (t) => {
    const port = await freePort();
    const all = await Promise.all([1, 2, 3].map(() => start(t, KEEPER, `--inspect-port=${port}`)));
    const pids = all.map(({ pid }) => pid);
    const runs = await Promise.all([inspect(...pids), inspect(...pids)]);
    for (const run of runs) t.after(() => run.close());
    await Promise.all(runs.map((run) => run.gc()));
    for (const run of runs) {
      assert.equal((await run.memory()).length, 3);
      assert.deepEqual(
        await run.stats(),
        pids.map((pid) => ({ worker: `process ${pid}`, collections: 1, failure: undefined })),
      );
    }
    assert.equal(await isListening(port), false);
  });

  it('reports the program that took the inspector’s port during a collection, and gives no reading', async (t) => {
    const port = await freePort();
    const keeper = await start(t, KEEPER, `--inspect-port=${port}`);
    const inspectors = await inspect(keeper.pid);
    t.after(() => inspectors.close());
    const server = createServer().listen(port, '127.0.0.1');
    await once(server, 'listening');
    await inspectors.gc();
    server.close();
    await once(server, 'close');
    await assert.rejects(inspectors.memory(), { code: 'INSPECTOR_BUSY', message: OWN_NAME });
    const [{ collections, failure = '' } = { collections: 1 }] = await inspectors.stats();
    assert.equal(collections, 0);
    assert.match(failure, OWN_NAME);
  });

  it('opens the inspector of a cluster’s workers only, since the primary passes the signal on to them', async (t) => {
    const port = await freePort();
    const worker = join(tempFolder(t), 'worker.cjs');
    writeFileSync(worker, 'setInterval(() => {}, 1e6);');
    const script = `
      const cluster = require('node:cluster');
      cluster.setupPrimary({ exec: ${JSON.stringify(worker)}, execArgv: ['--inspect-port=0'], inspectPort: ${port} });
      const workers = [cluster.fork(), cluster.fork()];
      let online = 0;
      cluster.on('online', () => {
        if (++online === workers.length)
          console.log('ready ' + workers.map((one) => one.process.pid).join(' '));
      });`;
    const primary = await start(t, script, `--inspect-port=${port}`);
    const [, pids = ''] = await primary.said(/ready (\d+ \d+)/);
    const workers = pids.split(' ').map(Number);
    const inspectors = await inspect(primary.pid, ...workers);
    t.after(() => inspectors.close());
    await inspectors.gc();
    assert.deepEqual(
      (await inspectors.stats()).map(({ worker, collections }) => [worker, collections]),
      workers.map((pid) => [`process ${pid}`, 1]),
    );
    assert.doesNotMatch(primary.output(), /failed: address already in use/);
  });

  it('leaves the inspector of a process open if it was open before the run', async (t) => {
    const port = await freePort();
    const keeper = await start(t, KEEPER, `--inspect=${port}`);
    for (const sources of [{ pids: async () => [keeper.pid] }, { urls: [`http://127.0.0.1:${port}`] }]) {
      const inspectors = await Inspectors.connect(sources);
      assert.ok((await heapAfterGc(inspectors)) > MB);
      const [memory] = await inspectors.memory();
      assert.ok((memory?.mallocBytes ?? 0) > MB);
      await inspectors.close();
      assert.equal(await isListening(port), true);
    }
  });

  it('closes the inspector when the run ends during a reading, and the process stays alive', async (t) => {
    const port = await freePort();
    const keeper = await start(t, KEEPER, `--inspect-port=${port}`);
    const inspectors = await inspect(keeper.pid);
    const reading = inspectors.gc();
    await inspectors.close();
    await inspectors.close();
    await reading.catch(() => {});
    assert.equal(await isListening(port), false);
    keeper.child.stdin?.write('more');
    await keeper.said(/kept/);
  });

  it('closes the inspector after it has started a profile, which continues inside the process', async (t) => {
    const port = await freePort();
    const keeper = await start(t, KEEPER, `--inspect-port=${port}`);
    const inspectors = await inspect(keeper.pid);
    t.after(() => inspectors.close());
    await inspectors.startProfiles('heap');
    assert.equal(await isListening(port), false);
    keeper.child.stdin?.write('more');
    await keeper.said(/kept/);
    const [profile] = await inspectors.takeProfiles();
    const bytes = profile?.nodes.reduce((sum, node) => sum + node.self, 0) ?? 0;
    assert.ok(Math.abs(bytes - 8e6) < 0.2e6, `${bytes} bytes`);
    await inspectors.startProfiles('heap');
    await inspectors.close();
    const reopened = await inspect(keeper.pid);
    t.after(() => reopened.close());
    await assert.rejects(reopened.takeProfiles());
  });

  it('inspects no child process that is another program', async (t) => {
    const keeper = await start(t, KEEPER, '--inspect-port=0');
    const other = startProcess(t, 'sleep', ['60']);
    const inspectors = await inspect(keeper.pid, other.pid);
    t.after(() => inspectors.close());
    assert.equal((await inspectors.memory()).length, 1);
  });

  it('counts no garbage collection of a process that has ended', async (t) => {
    const [stays, ends] = await Promise.all([1, 2].map(() => start(t, KEEPER, '--inspect-port=0')));
    assert.ok(stays && ends);
    const inspectors = await inspect(stays.pid, ends.pid);
    t.after(() => inspectors.close());
    ends.kill();
    await ends.ended;
    await inspectors.gc().catch(() => {});
    const counted = (await inspectors.stats()).find(({ worker }) => worker === `process ${ends.pid}`);
    assert.equal(counted?.collections, 0);
  });
});

describe('the inspector', { ...linux, concurrency: true }, () => {
  /** Programs that SIGUSR1 would end. A build id of Go marks a Go program. */
  const OTHERS: [program: string, appended: string, message: RegExp, fix: RegExp][] = [
    ['python3.12', '', /is a Python program/, /little garbage in Python/],
    ['bun', '', /runs in Bun/, /with garbage/],
    ['chat', '\x04\0\0\0Go\0\0', /is a Go program/, /\/debug\/pprof/],
    ['chat', '', /is neither Node, Deno nor a JVM/, /leave `inspect` out/],
  ];
  for (const [program, appended, message, fix] of OTHERS) {
    it(`refuses to inspect a program that ${message.source}, and sends it no signal`, async (t) => {
      const path = join(tempFolder(t), program);
      copyFileSync(SLEEP, path);
      appendFileSync(path, appended);
      const other = startProcess(t, path, ['600']);
      await once(other.child, 'spawn');
      // The error must be about the server, not about the shell that started it.
      const shell = startProcess(t, SLEEP, ['600']);
      await once(shell.child, 'spawn');
      assert.equal(await isInspectable(other.pid), false);
      await assert.rejects(inspect(shell.pid, other.pid), { code: 'INSPECTOR_UNSUITABLE', message, fix });
      assert.deepEqual([other.child.signalCode, other.child.exitCode], [null, null]);
    });
  }

  it('refuses to inspect a process that does not catch the signal, and sends it none', async (t) => {
    const keeper = await start(t, KEEPER, '--disable-sigusr1');
    await assertRefused('INSPECTOR_OFF', keeper.pid);
    keeper.child.stdin?.write('more');
    await keeper.said(/kept/);
  });

  it('refuses to inspect a process that handles the signal itself', async (t) => {
    const handles = await start(t, `process.on('SIGUSR1', () => console.log('handled'));${KEEPER}`, '--inspect-port=0');
    await assertRefused('INSPECTOR_SILENT', handles.pid);
    await handles.said(/handled/);
  });

  it('refuses to inspect a process that would listen on all interfaces', async (t) => {
    const keeper = await start(t, KEEPER, '--inspect-port=0.0.0.0:0');
    await assertRefused('INSPECTOR_EXPOSED', keeper.pid);
  });

  it('refuses to inspect a process whose inspector port another program uses', async (t) => {
    const port = await listen(t, createServer());
    const keeper = await start(t, KEEPER, `--inspect-port=${port}`);
    await assertRefused('INSPECTOR_BUSY', keeper.pid, OWN_NAME);
  });

  it('refuses to inspect a process with a connected debugger', async (t) => {
    const port = await freePort();
    const keeper = await start(t, KEEPER, `--inspect=${port}`);
    const [, url = ''] = await keeper.said(/listening on (ws:\S+)/);
    const socket = new WebSocket(url);
    await once(socket, 'open');
    t.after(() => socket.terminate());
    await assertRefused('INSPECTOR_BUSY', keeper.pid, OWN_NAME);
  });

  it('reports an inspector URL at which nothing listens as unreachable', async () => {
    const urls = [`http://127.0.0.1:${await freePort()}`];
    await assert.rejects(Inspectors.connect({ urls }), { code: 'SOURCE_UNREACHABLE' });
  });
});

describe('the inspector of another user', {
  skip: process.getuid?.() !== 0 && 'only root can start a process of one',
}, () => {
  it('refuses to inspect a process of another user', async (t) => {
    const other = startProcess(t, 'sleep', ['60'], { uid: 65533 });
    await once(other.child, 'spawn');
    process.seteuid?.(65534);
    try {
      await assertRefused('INSPECTOR_FORBIDDEN', other.pid);
    } finally {
      process.seteuid?.(0);
    }
  });
});
