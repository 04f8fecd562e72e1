/** Uninstrumented servers. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Script } from '../../plugin/script/script.ts';
import { judgeSearchRun } from '../../report/search/judge.ts';
import { goodInProcess, inProcessScript as script, startInProcess } from '../helpers/in-process-run.ts';
import { startPlainServer } from '../helpers/plain-server.ts';
import { freePort } from '../helpers/redis.ts';

const HELLO = [{ emit: ['hello', 'server'], acknowledge: { match: { value: 'hello, server' } } }, { hold: true }];
/** Memory that the server keeps for each connection. */
const KEPT_BYTES = 2 ** 20;

describe('a run on an uninstrumented server', { concurrency: 3 }, () => {
  it('a run without a control port measures only the connections and the load generator', async (t) => {
    const { url } = await startPlainServer(t);
    const { result, output, page } = await goodInProcess(script({ target: url }, {}, {}, HELLO));
    const { run, connections, generator, delivery, absent, memory } = result;
    assert.equal(run.complete, true);
    assert.deepEqual([connections.peak, connections.held, connections.failed], [10, 10, 0]);
    assert.equal(connections.connectMs?.count, 10);
    assert.ok(generator.length > 0);
    assert.deepEqual([delivery, absent.memory], [null, 'requires the option `workers`, or `instrument(io)`']);
    assert.equal(memory.perConnectionBytes.workerRss, undefined);
    for (const text of [output, page]) assert.match(text, /option .*delivery.*instrument\(io\)/s);
  });

  it('a run measures RSS per connection by process ids, without collecting garbage', async (t) => {
    const { url, pid } = await startPlainServer(t);
    const ramp = { duration: 1, arrivalRate: 50, rampTo: 50 };
    const phases = [ramp, { pause: 2 }, ramp, { pause: 2 }, ramp, { pause: 2 }];
    const own = script({ target: url, phases }, { warmUp: 0, workers: { pids: [pid] } }, {}, HELLO);
    const { result, output, page } = await goodInProcess(own);
    const { memory, cpu, capacity, absent } = result;
    assert.equal(memory.collected, false);
    assert.equal(memory.sources.workerRss, '/proc of its processes');
    assert.deepEqual(memory.residualBytes, {}, 'without collections, there is no memory at rest');
    const { slope = 0, doubt } = memory.perConnectionBytes.workerRss ?? {};
    assert.equal(doubt, undefined);
    // The connection itself takes some memory, too.
    assert.ok(slope > KEPT_BYTES && slope < 1.2 * KEPT_BYTES, String(slope));
    assert.ok((cpu.worker?.rampSecondsPerThousandConnects ?? 1) > 0);
    assert.ok((capacity.memoryLimited?.connections ?? 0) > 1000);
    assert.equal(absent.memory, undefined);
    assert.ok(absent.delivery);
    const kilobytes = (slope / 1024).toLocaleString('en-US', { maximumFractionDigits: 1 });
    for (const text of [output, page]) assert.ok(text.includes(kilobytes), `${kilobytes} KB in\n${output}`);
  });

  it('a run counts the HTTP requests of users of another engine beside the connections', async (t) => {
    const { url } = await startPlainServer(t);
    const own: Script = script({ target: url }, {}, {}, HELLO);
    const closed = `http://127.0.0.1:${await freePort()}/`;
    const flow = [{ get: { url: '/metrics' } }, { get: { url: '/socket.io/?EIO=4' } }, { get: { url: closed } }];
    own.scenarios?.push({ flow });
    const { result, output } = await goodInProcess(own, ['OTHER_USERS_FAILED']);
    const { connections, http, otherUsers } = result;
    assert.deepEqual([connections.target, connections.held, connections.asked, connections.failed], [5, 5, 5, 0]);
    assert.equal(connections.configuredRatePerSec, 2.5);
    assert.deepEqual(http, { requests: 15, responses: { 200: 5, 400: 5 }, failures: { econnrefused: 5 }, pending: 0 });
    assert.deepEqual(otherUsers, { started: 5, ended: 5, failures: { econnrefused: 5 } });
    assert.match(
      output.replace(/\s+/g, ' '),
      /5 virtual users of other engines, 5 failed .* 15 HTTP requests: 5 answered/,
    );
  });

  it('a run counts the copies of events without ids on each connection', async (t) => {
    const { url } = await startPlainServer(t);
    const flow = [{ every: { seconds: 0.5, emit: { channel: 'say', data: 'x' } } }, { hold: true }];
    const own = script({ target: url }, { counts: [{ event: 'said', from: 'say' }, 'never'], hold: 3 }, {}, flow);
    const { result, output } = await goodInProcess(own, ['EVENT_COUNTS_DIFFER']);
    const [said, never] = result.eventCounts;
    assert.deepEqual([said?.receivers, said?.missingAtLeast, never?.most], [10, 0, 0]);
    assert.ok(Math.abs((said?.sent ?? 0) - (said?.most ?? 0)) <= 10, JSON.stringify(said));
    assert.ok((said?.fewest ?? 0) > 10, JSON.stringify(said));
    assert.match(output.replace(/\s+/g, ' '), /o copy of `never` came to any of 10 connections/);
  });

  it('a run adds up the metrics of two servers, and reports their source', async (t) => {
    const [first, second] = await Promise.all([startPlainServer(t), startPlainServer(t)]);
    const prometheus = [first, second].map(({ url }) => ({ url: `${url}/metrics` }));
    const own = script({ target: first.url }, { warmUp: 0, workers: { prometheus } }, {}, HELLO);
    const { memory, absent } = (await goodInProcess(own)).result;
    assert.equal(memory.sources.workerRss, 'metrics pages');
    assert.deepEqual([absent.memory, memory.collected], [undefined, false]);
    const firstBytes = memory.plateaus[0]?.workerRss ?? 0;
    assert.ok(firstBytes > 60 * 2 ** 20, String(firstBytes));
    assert.ok((memory.plateaus.at(-1)?.workerRss ?? 0) >= firstBytes + 8 * KEPT_BYTES);
  });

  it('a run reports a growing queue if the server cannot keep up with broadcasts, though all copies arrive', async (t) => {
    // The server needs 20 ms for each broadcast, so it sends 50 per second. It writes the time into a broadcast when
    // its turn comes.
    const { url } = await startPlainServer(t, { workMs: 20 });
    // A shorter window shows nothing on a busy machine.
    const [perSec, count] = [80, 800];
    const publish = { emit: ['say', '$id'], every: 1 / perSec, count };
    const options = { delivery: { event: 'said', id: '$.0.id', sentAt: '$.0.at', publish } };
    const { result, output } = await startInProcess(
      script({ target: url }, options, {}, [{ connect: {} }, { hold: true }]),
    ).ended;
    assert.deepEqual([result.delivery?.broadcasts, result.delivery?.coverage], [count, 1], output);
    assert.ok(
      result.findings.some(({ code }) => code === 'QUEUE_GROWS'),
      output,
    );
    assert.notEqual(judgeSearchRun(result, { until: [], vary: 'broadcastsPerSec' }).outcome, 'holds', output);
  });
});
