/** Servers into which nothing was put. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { EXIT_CODES } from '../../protocol/codes/exit-codes.ts';
import { goodInProcess } from '../helpers/in-process-run.ts';
import { startPlainServer } from '../helpers/plain-server.ts';
import { goodResult, quickScript, startRun, strays } from '../helpers/run.ts';

/** The admin UI tells its counts every two seconds. */
const ADMIN_SECONDS = 6;

const FLOW = [{ emit: ['hello', 'server'], acknowledge: { match: { value: 'hello, server' } } }, { hold: true }];

function plainScript(target: string, options: object = {}) {
  return { ...quickScript({ target }, options), scenarios: [{ engine: 'socketio-capacity', flow: FLOW }] };
}

function withPauses(script: ReturnType<typeof plainScript>, pause: number) {
  const ramp = { duration: 1, arrivalRate: 5, rampTo: 5 };
  return { ...script, config: { ...script.config, phases: [ramp, { pause }, ramp, { pause }] } };
}

describe('a plain Socket.IO server', { concurrency: 2 }, () => {
  it('without a control port: connections and generator, and nothing that nobody measured', async (t) => {
    const { url } = await startPlainServer(t);
    const run = startRun(t, { script: plainScript(url) });
    const result = await goodResult(run);
    assert.equal(result.run.complete, true);
    assert.deepEqual([result.connections.peak, result.connections.held, result.connections.failed], [10, 10, 0]);
    assert.ok((result.connections.connectMs?.count ?? 0) === 10);
    assert.ok(result.generator.length > 0);
    assert.equal(result.delivery, null);
    assert.equal(result.absent.memory, 'no control port');
    assert.deepEqual(result.memory.perConnectionBytes.workerRss, undefined);
    assert.match(run.output(), /no control port/);
    const page = readFileSync(join(run.directory, 'results/latest/report.html'), 'utf8');
    assert.match(page, /no control port/);
    assert.deepEqual(strays(run), []);
  });

  it('with its process id: RSS per connection, as it was, in result, console and page', async (t) => {
    const { url, pid } = await startPlainServer(t);
    const ramp = { duration: 1, arrivalRate: 50, rampTo: 50 };
    const phases = [ramp, { pause: 4 }, ramp, { pause: 4 }, ramp, { pause: 4 }];
    const script = plainScript(url, { warmUp: 0, workers: { pids: [pid] } });
    const run = startRun(t, { script: { ...script, config: { ...script.config, phases } } });
    const result = await goodResult(run);
    const { memory } = result;
    assert.equal(memory.collected, false);
    assert.equal(memory.sources.workerRss, '/proc of its processes');
    assert.deepEqual(memory.residualBytes, {}, 'nothing at rest is claimed');
    const { slope = 0, doubt } = memory.perConnectionBytes.workerRss ?? {};
    assert.equal(doubt, undefined);
    // What the server keeps for each, and some more for its connection.
    assert.ok(slope > 2 ** 20 && slope < 1.2 * 2 ** 20, String(slope));
    assert.ok((result.cpu.worker?.rampSecondsPerThousandConnects ?? 1) > 0);
    assert.ok((result.capacity.memoryLimited?.connections ?? 0) > 1000);
    assert.deepEqual([result.absent.memory, result.absent.delivery], [undefined, 'no control port']);
    const kilobytes = (slope / 1024).toLocaleString('en-US', { maximumFractionDigits: 1 });
    const page = readFileSync(join(run.directory, 'results/latest/report.html'), 'utf8');
    for (const text of [run.output(), page]) assert.ok(text.includes(kilobytes), `${kilobytes} KB in\n${run.output()}`);
  });

  it('with metrics of its own, on two pages: their sum, and whose figures they are', async (t) => {
    const [one, other] = [await startPlainServer(t), await startPlainServer(t)];
    const prometheus = [one, other].map(({ url }) => ({ url: `${url}/metrics` }));
    const { result } = await goodInProcess(plainScript(one.url, { warmUp: 0, workers: { prometheus } }));
    const { memory, absent } = result;
    assert.equal(memory.sources.workerRss, 'Prometheus metrics');
    assert.deepEqual([absent.memory, memory.collected], [undefined, false]);
    const first = memory.plateaus[0]?.workerRss ?? 0;
    // Each process of Node alone takes more than half of that.
    assert.ok(first > 60 * 2 ** 20, String(first));
    assert.ok((memory.plateaus.at(-1)?.workerRss ?? 0) >= first + 8 * 2 ** 20);
  });

  it('with an admin UI: its counts agree with what the run holds, and nothing of memory is claimed', async (t) => {
    const { url } = await startPlainServer(t);
    const { result } = await goodInProcess(withPauses(plainScript(url, { workers: { adminUi: {} } }), ADMIN_SECONDS));
    const { connections, absent } = result;
    // And the run's connection to the admin UI.
    assert.deepEqual([connections.peak, connections.perServer], [10, { chat: 11 }]);
    assert.deepEqual([absent.memory, absent.cpu], ['no control port', 'no control port']);
  });

  it('that dies during the run makes it INVALID', async (t) => {
    const { url, pid, child } = await startPlainServer(t);
    const run = startRun(t, { script: plainScript(url, { hold: 3, workers: { pids: [pid] } }) });
    await run.reached('hold');
    child.kill('SIGKILL');
    assert.equal(await run.ended, EXIT_CODES.invalid, run.output());
    assert.ok(run.result()?.verdict.reasons.some(({ code }) => code === 'DEPLOYMENT_CHANGED'));
  });
});
