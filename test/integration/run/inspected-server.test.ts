/** A server that contains nothing of ours: Node's inspector tells what its connections keep. */
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import { inProcessScript, startInProcess } from '../../helpers/in-process-run.ts';
import { startOrphan } from '../../helpers/process.ts';

const KEPT_BYTES = 64 * 1024;
/** What a connection keeps beside that: sockets, and the first HTTP request. */
const OWN_BYTES = { least: 8 * 1024, most: 20 * 1024 };
const PAUSES = 3;

/** Keeps an array of numbers for each connection. */
const SERVER = `
  const http = require('node:http').createServer();
  const io = new (require(${JSON.stringify(createRequire(import.meta.url).resolve('socket.io'))}).Server)(http);
  const kept = new Map();
  function keep() { return new Array(${KEPT_BYTES / 8}).fill(0.5); }
  io.on('connection', (socket) => {
    kept.set(socket.id, keep());
    socket.on('disconnect', () => kept.delete(socket.id));
  });
  http.listen(0, '127.0.0.1', () => console.log(process.pid + '\\n' + http.address().port));`;

test('a run reads the memory at rest of an unchanged server, and which function allocates it', {
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
    { singleRoundTrips: 0, broadcasts: { count: 0 }, hold: 0.2, workers: { pids, inspect: true, profile: true } },
    {},
    [{ hold: true }],
  );
  const { result, output } = await startInProcess(script).ended;
  const { memory } = result;
  const found = memory.perConnectionBytes.workerKept;
  assert.ok(found, output);
  const beside = found.slope - KEPT_BYTES;
  assert.ok(beside > OWN_BYTES.least && beside < OWN_BYTES.most, JSON.stringify(found));
  assert.equal(memory.collected, true);
  assert.equal(memory.sources.workerKept, "Node's inspector");
  assert.equal(memory.inspector?.processes, 1);
  assert.ok((memory.residualBytes.workerKept ?? Number.NaN) < KEPT_BYTES * 10, output);
  const { places } = memory;
  const [first] = places?.functions ?? [];
  assert.equal(first?.name, 'keep', JSON.stringify(memory.absent));
  assert.ok(Math.abs(first.bytes - KEPT_BYTES) < 0.05 * KEPT_BYTES, JSON.stringify(first));
  assert.ok(Math.abs(places?.unattributedBytes ?? 0) < 0.1 * KEPT_BYTES, JSON.stringify(places));
  assert.match(output, /of the [\d.]+ KB that V8 counts per connection: application/);
  assert.match(output, /Node's inspector collects the garbage of 1 process/);
});
