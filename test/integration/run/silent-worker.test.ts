/**
 * Tests a worker that blocks for longer than a usual request, or loses its control connection during the measurement.
 */
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { CONTROL_PORT } from '../../../plugin/run/measurements/absent-sources.ts';
import { tolerateRefusedControl } from '../../../plugin/run/target/control-client.ts';
import type { SourceAbsence } from '../../../plugin/samplers/absence.ts';
import { ControlClients } from '../../../plugin/samplers/control/control-workers.ts';
import { CONTROL_NAMESPACE } from '../../../protocol/wire/events.ts';
import { startApp, TOKEN } from '../../helpers/app.ts';
import { startChat } from '../../helpers/chat-server.ts';
import { inProcessScript, startInProcess } from '../../helpers/in-process-run.ts';
import { startLeakyServer } from '../../helpers/plain-server.ts';

/**
 * Starts to measure a worker that closes the connection at the first request of each kind, and replies to the second.
 */
async function startCutting(t: TestContext, isSilent = false) {
  const requests: string[] = [];
  const { url } = await startChat(t, (server) =>
    server.of(CONTROL_NAMESPACE).on('connection', (socket) =>
      socket.onAny((event, ...args) => {
        requests.push(event);
        if (isSilent) return;
        if (requests.filter((request) => request === event).length === 1) socket.conn.close();
        else args.at(-1)({ ok: true, value: { worker: 'w0', monotonicUs: 5, members: 3, batches: 1 } });
      }),
    ),
  );
  return { requests, ...(await startMeasuring(t, url)) };
}

async function startMeasuring(t: TestContext, url: string, deadline = 15) {
  const clients = await ControlClients.connect([url], TOKEN);
  t.after(() => clients.close());
  const absentSources = new Map<string, SourceAbsence>();
  const stop = new AbortController();
  const waiting = { config: { drain: { deadline } }, signal: stop.signal };
  const control = tolerateRefusedControl(clients, { absentSources, samplesBeganAtUs: 1 }, waiting);
  return { control, absentSources, stop };
}

describe('the control of a measuring run', () => {
  it('the run repeats a control request over the next connection if the connection is lost', async (t) => {
    const { control, requests, absentSources } = await startCutting(t);
    await control.clock(0);
    assert.equal(await control.members('r', 0), 3);
    assert.deepEqual(requests, ['time', 'time', 'members', 'members']);
    assert.equal(absentSources.size, 0);
  });

  it('the run reports a figure as missing if the reply to an unrepeatable control request is lost', async (t) => {
    const { control, requests, absentSources } = await startCutting(t);
    assert.deepEqual(await control.batches(), []);
    assert.deepEqual(requests, ['batches']);
    assert.match([...absentSources][0]?.join() ?? '', /^the count of batches/);
    assert.ok(!absentSources.has(CONTROL_PORT));
  });

  it('figures of an unresponsive worker are unknown, with the reason, and the run waits only once', async (t) => {
    const { url } = await startChat(t, (server) => void server.of(CONTROL_NAMESPACE));
    const { control, absentSources } = await startMeasuring(t, url, 0.1);
    assert.deepEqual(await control.stats(), []);
    const { reason, detail, fix } = absentSources.get(CONTROL_PORT) ?? {};
    assert.equal(reason, 'unanswered');
    assert.match(`${detail} ${fix}`, /did not answer `stats` within \d+ ms its event loop is blocked/);
    assert.deepEqual([await control.stats(), await control.resources()], [[], []]);
  });

  it('a run stops waiting for an answer of a worker when it is stopped', async (t) => {
    const { control, stop } = await startCutting(t, true);
    const pending = control.stats();
    stop.abort(new Error('stopped'));
    await assert.rejects(pending, /stopped/);
  });

  it('a run does not wait for a control port that is closed', async (t) => {
    const app = await startApp(t);
    const { control } = await startMeasuring(t, app.controlUrl);
    await control.stats();
    await app.close();
    await assert.rejects(control.stats(), { code: 'SOURCE_UNREACHABLE' });
  });
});

/** Time in milliseconds that exceeds the deadline of the drain plus two requests of 5 s. */
const BLOCKED_MS = 15_000;

it('the run reports a worker that blocks during the broadcasts, and counts every copy', async (t) => {
  const { url, control } = await startLeakyServer(t, { blockMs: BLOCKED_MS });
  const options = {
    ...{ control, warmUp: 0, singleRoundTrips: 0, hold: 0 },
    ...{ broadcasts: { count: 8, interval: 0.25 }, drain: { quiet: 0.2, deadline: 2 } },
  };
  const run = startInProcess(inProcessScript({ target: url }, options));
  const { result, output } = await run.ended;
  const codes = result.findings.map(({ code }) => code);
  assert.ok(codes.includes('WORKER_STALLED') && !codes.includes('RUN_INCOMPLETE'), output);
  assert.notEqual(result.verdict.status, 'INVALID', output);
  assert.deepEqual([result.delivery?.coverage, result.delivery?.broadcasts], [1, 8], output);
});
