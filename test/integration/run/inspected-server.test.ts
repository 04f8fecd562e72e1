/** Tests a server without `instrument(io)`. Node's inspector reads the memory of its connections. */
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import { inProcessScript, startInProcess } from '../../helpers/in-process-run.ts';
import { startOrphan } from '../../helpers/process.ts';

const KEPT_BYTES = 64 * 1024;
/** Memory that a connection keeps in addition: sockets, and the first HTTP request. */
const OWN_BYTES = { least: 8 * 1024, most: 20 * 1024 };
const PAUSES = 3;

/** Server that keeps an array of numbers for each connection. */
const SERVER = `
  const http = require('node:http').createServer();
  const io = new (require(${JSON.stringify(createRequire(import.meta.url).resolve('socket.io'))}).Server)(http);
  const kept = new Map();
  let sum = 0;
  function work() { for (let step = 0; step < 3e5; step++) sum += Math.sqrt(step); }
  function speak(text) { for (let step = 0; step < 3e5; step++) sum += Math.sqrt(step); io.emit('said', text); }
  function keep() { return new Array(${KEPT_BYTES / 8}).fill(0.5); }
  io.on('connection', (socket) => {
    kept.set(socket.id, keep());
    work();
    socket.on('say', speak);
    socket.on('disconnect', () => kept.delete(socket.id));
  });
  http.listen(0, '127.0.0.1', () => console.log(process.pid + '\\n' + http.address().port));`;

test('a run reads retained memory, and allocating functions, of a server without instrumentation', {
  skip: process.platform !== 'linux',
}, async (t) => {
  const { pids, line } = await startOrphan(t, '--inspect-port=0', '-e', SERVER);
  const ramp = { duration: 1, arrivalRate: 10 };
  const script = inProcessScript(
    {
      target: `http://127.0.0.1:${await line()}`,
      phases: Array(PAUSES)
        .fill([ramp, { pause: 0.1 }])
        .flat(),
    },
    {
      hold: 0.2,
      delivery: { event: 'said', id: '$.0', publish: { emit: ['say', '$id'], every: 0.1, count: 2 } },
      workers: { pids, inspect: true, profile: true },
    },
    {},
    [{ hold: true }],
  );
  const { result, output } = await startInProcess(script).ended;
  const { memory } = result;
  const found = memory.perConnectionBytes.workerKept;
  assert.ok(found, output);
  const furtherBytes = found.slope - KEPT_BYTES;
  assert.ok(furtherBytes > OWN_BYTES.least && furtherBytes < OWN_BYTES.most, JSON.stringify(found));
  assert.equal(memory.collected, true);
  assert.equal(memory.sources.workerKept, 'Node’s inspector');
  assert.equal(memory.sources.workerMalloc, 'Node’s inspector', JSON.stringify(memory.absent));
  assert.equal(memory.inspector?.processes, 1);
  assert.ok((memory.residualBytes.workerKept ?? Number.NaN) < KEPT_BYTES * 10, output);
  const { places: memoryPlaces } = memory;
  const [first] = memoryPlaces?.functions ?? [];
  assert.equal(first?.name, 'keep', JSON.stringify(memory.absent));
  assert.ok(Math.abs(first.bytes - KEPT_BYTES) < 0.05 * KEPT_BYTES, JSON.stringify(first));
  assert.ok(Math.abs(memoryPlaces?.unattributedBytes ?? 0) < 0.1 * KEPT_BYTES, JSON.stringify(memoryPlaces));
  const { connect, copy } = result.cpuByPlace ?? {};
  assert.ok(connect && copy, JSON.stringify(result.cpuByPlace));
  // While other programs use the CPUs, V8's sampling thread waits for one, and takes fewer samples of busy code.
  const isSaturated = result.findings.some(({ code }) => code === 'MACHINE_SATURATED');
  const unattributedShare = isSaturated ? 0.5 : 0.2;
  for (const [name, places] of [
    ['work', connect],
    ['speak', copy],
  ] as const) {
    const [largest] = places.functions;
    assert.equal(largest?.name, name, JSON.stringify(places));
    const sum = places.packages.reduce((total, { us }) => total + us, places.unattributedUs);
    assert.ok(Math.abs(sum - places.us) < 1e-6 * places.us, JSON.stringify(places));
    assert.ok(Math.abs(places.unattributedUs) < unattributedShare * places.us, JSON.stringify(places));
  }
  assert.match(output, /worker CPU by place, profiled: of [\d.]+ ms per connect: /);
  assert.match(output, /of the [\d.]+ KB that V8 counts per connection: application/);
  assert.match(output, /Node’s inspector, which collects the garbage of 1\s+process/);
});
