/**
 * Tests `socketio-capacity-instrument` as users get it: packed, installed into an empty project, and run by every
 * supported version of Node. The versions come from the npm package `node`, through npm's cache.
 */
import assert from 'node:assert/strict';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it, type TestContext } from 'node:test';
import { execa } from 'execa';
import { emptyMeasurements } from '../../bench/calibrate/calibration-setup.ts';
import { memoryFigures } from '../../plugin/result/memory/assemble-memory.ts';
import { readMemoryAtRest } from '../../plugin/run/memory/readings.ts';
import { ControlClients, Sampler } from '../../plugin/samplers/index.ts';
import { TOKEN } from '../helpers/app.ts';
import { fleetSettings, joinAll, startFleet } from '../helpers/fleet.ts';
import * as packages from '../helpers/packages.ts';
import { ROOT } from '../helpers/pages.ts';
import { startProcess } from '../helpers/process.ts';

const { INSTRUMENT } = packages;

const KB = 1024;
/** Memory that the application keeps for each connection, and memory that it allocates and drops for each. */
const KEPT_BYTES = 64 * KB;
const GARBAGE_BYTES = 64 * KB;
/**
 * Heap that Socket.IO itself keeps for a connection: 4 KB with Node 26, up to 15 KB with Node 18. It includes compiled
 * code.
 */
const OF_SOCKET_IO = { least: 2 * KB, most: 20 * KB };
const PLATEAUS = 4;
const CONNECTIONS_OF_EACH = 40;

const OLDEST = { node: '18.2.0', socketIo: '4.6.0' };
/** Versions of Node to test, including the version that runs this test. */
const NODES = [OLDEST.node, '18', '20', '22', '24', '26'];

const SERVING = `
  const io = new Server(createServer().listen(0, '127.0.0.1'));
  const doubles = (bytes) => new Array(bytes / 8).fill(0.5);
  io.on('connection', (socket) => {
    socket.data.kept = doubles(${KEPT_BYTES});
    doubles(${GARBAGE_BYTES});
  });
  instrument(io, { token: '${TOKEN}', worker: 'w0' }).then(({ controlPort }) =>
    console.log(io.httpServer.address().port + ' ' + controlPort));`;
const SERVERS = {
  'server.mjs': `
    import { createServer } from 'node:http';
    import { Server } from 'socket.io';
    import { instrument } from '${INSTRUMENT}'; ${SERVING}`,
  'server.cjs': `
    const { createServer } = require('node:http');
    const { Server } = require('socket.io');
    const { instrument } = require('${INSTRUMENT}'); ${SERVING}`,
};

let folder = '';
const newest = () => join(folder, 'newest');
const oldest = () => join(folder, 'oldest');

before(async () => {
  const packed = await packages.pack([INSTRUMENT]);
  folder = packed.folder;
  const tarball = packed.tarballs[INSTRUMENT] as string;
  await packages.install(newest(), tarball);
  await packages.install(oldest(), tarball, `socket.io@${OLDEST.socketIo}`);
  for (const project of [newest(), oldest()])
    for (const [file, code] of Object.entries(SERVERS)) writeFileSync(join(project, file), code);
});
after(() => rmSync(folder, { recursive: true, force: true }));

describe('instrument in a project', () => {
  it('the instrument package has two dependencies, and declares the oldest tested Node and Socket.IO', () => {
    const path = join(newest(), 'node_modules', INSTRUMENT, 'package.json');
    const { dependencies, engines, peerDependencies } = JSON.parse(readFileSync(path, 'utf8'));
    assert.deepEqual(Object.keys(dependencies).sort(), ['prom-client', 'zod']);
    assert.equal(engines.node, `>=${OLDEST.node}`);
    assert.equal(peerDependencies['socket.io'], `^${OLDEST.socketIo}`);
  });

  for (const version of NODES) {
    describe(`on Node ${version}`, { concurrency: 2 }, () => {
      const project = version === OLDEST.node ? oldest : newest;
      let node: string | undefined;
      before(async () => {
        node = await packages.nodeOf(version, join(folder, `node-${version}`));
      });

      for (const file of Object.keys(SERVERS)) {
        it(`the packed instrument measures the memory of an application on Node ${version} (${file})`, async (t) => {
          if (node === undefined) return t.skip(packages.NO_REGISTRY);
          await assertMeasures(t, node, version, join(project(), file));
        });
      }
    });
  }

  it('the packed instrument has types for import and require', async () => {
    const code = `
      import { createServer } from 'node:http';
      import { Server } from 'socket.io';
      import { type Instrumentation, type InstrumentOptions, instrument } from '${INSTRUMENT}';
      const io = new Server<{ hello: (name: string) => void }>(createServer());
      const options: InstrumentOptions = { token: '${TOKEN}', controlPort: process.env.PORT };
      export const done: Promise<Instrumentation> = instrument(io, options);
      done.then(({ controlPort, registry, close }) => [controlPort.toFixed(), registry.metrics(), close()]);
      // @ts-expect-error a token is text
      instrument(io, { token: 1 });`;
    const files = ['types.mts', 'types.cts'];
    for (const file of files) writeFileSync(join(newest(), file), code);
    const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
    const options = ['--noEmit', '--strict', '--target', 'es2022', '--types', 'node', '--module', 'node16'];
    const { all } = await execa(process.execPath, [tsc, ...options, ...files], {
      cwd: newest(),
      all: true,
      reject: false,
    });
    assert.equal(all, '');
  });
});

async function assertMeasures(t: TestContext, node: string, version: string, file: string): Promise<void> {
  const server = startProcess(t, node, [file]);
  const [, port, controlPort] = await server.said(/^(\d+) (\d+)$/m);
  const health = await fetch(`http://127.0.0.1:${controlPort}/healthz`);
  assert.deepEqual(await health.json(), { status: 'ok', worker: 'w0' });
  const control = await ControlClients.connect([`http://127.0.0.1:${controlPort}`], TOKEN);
  t.after(() => control.close());
  const fleet = await startFleet(t, fleetSettings(`http://127.0.0.1:${port}`));
  const sampler = new Sampler({
    pids: () => ({ worker: [server.pid] }),
    connections: () => fleet.status().connected,
    workers: control,
  });
  const measurements = emptyMeasurements();
  for (let plateau = 0; plateau < PLATEAUS; plateau++) {
    await joinAll(fleet, CONNECTIONS_OF_EACH);
    const { layers, uncollected } = await readMemoryAtRest(control, sampler, { count: 1 });
    assert.deepEqual(uncollected, [], 'the worker collected its garbage');
    measurements.plateaus.push({ connections: fleet.status().connected, layers });
  }
  const { slope = 0 } = memoryFigures(measurements, sampler).perConnectionBytes.workerHeapUsed ?? {};
  const ofSocketIo = slope - KEPT_BYTES;
  assert.ok(
    ofSocketIo > OF_SOCKET_IO.least && ofSocketIo < OF_SOCKET_IO.most,
    `${(slope / KB).toFixed(1)} KB per connection, of which the application keeps ${KEPT_BYTES / KB}`,
  );
  const [stats] = await control.stats();
  assert.ok(stats?.versions.node.startsWith(version), stats?.versions.node);
  if (version === OLDEST.node) assert.equal(stats?.versions.socketIo, OLDEST.socketIo);
  assert.match(stats?.versions.webSocketEngine ?? '', /^ws \d/);
}
