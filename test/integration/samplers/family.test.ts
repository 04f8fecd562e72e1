/** What a worker has started belongs to it: memory and CPU, while it is there and afterwards. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { Sampler, withChildren } from '../../../plugin/samplers/index.ts';
import { startOrphan } from '../../helpers/process.ts';

const skip = process.platform !== 'linux' && 'there is no /proc';
const MB = 2 ** 20;
const KEPT = 64 * MB;

const CHILD = `const kept = Buffer.alloc(${KEPT}, 1); console.log('kept'); setInterval(() => kept, 1e6)`;
/** Some tenths of a second. */
const BURN = 'i=0; while [ $i -lt 500000 ]; do i=$((i+1)); done';
const SERVER = `
  const { spawn, spawnSync } = require('node:child_process');
  const child = spawn(process.execPath, ['-e', ${JSON.stringify(CHILD)}], { stdio: ['ignore', 'pipe', 'inherit'] });
  child.stdout.once('data', () => console.log([process.pid, child.pid].join(' ')));
  process.on('SIGUSR2', () => {
    spawnSync('sh', ['-c', ${JSON.stringify(BURN)}]);
    console.log('burnt');
  });`;

it('memory and CPU of a worker are those of its process tree', { skip }, async (t) => {
  const { pids, line } = await startOrphan(t, '-e', SERVER);
  const [worker = 0, child = 0] = pids;
  const found = await withChildren({ worker: [worker], nginx: [1] });
  assert.deepEqual(found, { worker: [worker, child], workerChildren: [child], nginx: [1] });

  const sampler = new Sampler({ pids: () => withChildren({ worker: [worker] }), connections: () => 0 });
  const { workerPss = 0, workerChildrenPss = 0 } = await sampler.reading();
  assert.ok(
    workerChildrenPss > KEPT && workerPss > workerChildrenPss,
    JSON.stringify({ workerPss, workerChildrenPss }),
  );
  const alone = await new Sampler({ pids: () => ({ worker: [worker] }), connections: () => 0 }).reading();
  assert.equal(alone.workerChildrenPss, 0);
  assert.ok((alone.workerPss ?? 0) < workerPss - KEPT / 2);

  const { worker: beforeUs = 0 } = await sampler.cpu();
  process.kill(worker, 'SIGUSR2');
  assert.equal(await line(), 'burnt');
  const { worker: afterUs = 0 } = await sampler.cpu();
  assert.ok(afterUs - beforeUs > 100_000, `${afterUs - beforeUs} us of a child that nobody saw`);
});

it('the generator is no worker’s, whoever has started it', { skip }, async () => {
  const { workerChildren } = await withChildren({ worker: [process.ppid] });
  assert.ok(!workerChildren?.includes(process.pid));
});
