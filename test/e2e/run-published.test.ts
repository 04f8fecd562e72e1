/**
 * Tests data that Artillery publishes during a run: publish-metrics to three receivers, and `--record` to a simulated
 * Artillery Cloud.
 */
import assert from 'node:assert/strict';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { json, text } from 'node:stream/consumers';
import { describe, it, type TestContext } from 'node:test';
import { startApp } from '../helpers/app.ts';
import { urlOf } from '../helpers/raw-listen.ts';
import { goodResult, quickScript, startRun } from '../helpers/run.ts';

interface Event {
  eventType: string;
  eventData: { aggregate?: { counters?: Record<string, number> }; exitCode?: number; isEarlyStop?: boolean };
}

const CLOUD: Record<string, object> = {
  '/api/user/whoami': { id: 'u1', email: 'someone@example.org', activeOrg: 'o1' },
  '/api/ping': {},
  '/api/events': {},
};

/** @param status status of the load test that the Cloud page reports */
async function startReceivers(t: TestContext, status: () => object = () => ({ status: 'RUNNING' })) {
  const events: Event[] = [];
  const received = { pushgateway: '', otlp: '', statsd: '' };
  const http = createServer(async (request, response) => {
    const { url = '' } = request;
    const [, first] = url.split('/');
    if (url === '/api/events') events.push((await json(request)) as Event);
    if (first === 'pushgateway' || first === 'otlp') received[first] += await text(request);
    const reply = first === 'api' ? (CLOUD[url] ?? status()) : {};
    response.setHeader('content-type', 'application/json').end(JSON.stringify(reply));
  });
  const url = await urlOf(t, http);
  const udp = createSocket('udp4', (message) => (received.statsd += `${message}\n`));
  udp.bind(0, '127.0.0.1');
  t.after(() => udp.close());
  await once(udp, 'listening');
  const publishers = [
    { type: 'prometheus', pushgateway: `${url}/pushgateway` },
    { type: 'open-telemetry', metrics: { exporter: 'otlp-http', endpoint: `${url}/otlp` } },
    { type: 'statsd', host: '127.0.0.1', port: udp.address().port, prefix: 'artillery.' },
  ];
  const env = { ARTILLERY_CLOUD_ENDPOINT: url, ARTILLERY_CLOUD_API_KEY: 'key' };
  const last = (type: string) => events.findLast(({ eventType }) => eventType === type)?.eventData;
  return { received, events, last, publishers, env };
}

async function script(t: TestContext, options: object = {}) {
  const app = await startApp(t);
  return quickScript({ target: app.url }, { control: app.control, ...options });
}

describe('a run', { concurrency: 2 }, () => {
  it('a run sends its metrics and its exit code once to each configured monitoring service', async (t) => {
    const { received, events, last, publishers, env } = await startReceivers(t);
    const { config, scenarios } = await script(t);
    // Artillery loads this plugin first, so it receives Artillery's events before socketio-capacity.
    const plugins = { 'publish-metrics': publishers, ...config.plugins };
    const run = startRun(t, { script: { config: { ...config, plugins }, scenarios }, env, args: ['--record'] });
    const { latency } = await goodResult(run);

    const { p99, max } = latency.oneWayMs as { p99: number | null; max: number };
    const { pushgateway, otlp, statsd } = received;
    assert.match(pushgateway, /metric="socketio_delivery_coverage"[^}\n]*\} 1$/m);
    assert.match(pushgateway, RegExp(`metric="socketio_broadcast_latency_p99"[^}]*\\} ${p99 ?? max}\n`));
    assert.match(otlp, /socketio\.delivery\.coverage/);
    assert.match(statsd, /socketio\.delivery\.expected:30\|c/);
    // Each of Artillery's own counters is sent exactly once.
    let created = 0;
    for (const [, count] of statsd.matchAll(/vusers\.created:(\d+)\|c/g)) created += Number(count);
    assert.equal(created, 10);

    const { counters } = last('testrun:aggregatereport')?.aggregate ?? {};
    assert.deepEqual([counters?.['socketio.delivery.expected'], counters?.['vusers.created']], [30, 10]);
    assert.ok(events.some(({ eventType }) => eventType === 'testrun:metrics'));
    const end = last('testrun:end');
    assert.deepEqual([end?.isEarlyStop, end?.exitCode ?? 0], [false, await run.ended]);
  });

  it('a run that is stopped in Artillery Cloud ends with an INVALID result and reports its exit code', async (t) => {
    let isStopRequested = false;
    const { last, env } = await startReceivers(t, () =>
      isStopRequested ? { status: 'CANCELLATION_REQUESTED', cancelledBy: 'someone' } : { status: 'RUNNING' },
    );
    const run = startRun(t, { script: await script(t, { hold: 60 }), env, args: ['--record'] });
    await run.reached('hold');
    isStopRequested = true;
    assert.notEqual(await run.ended, 0);
    const result = run.result();
    assert.deepEqual([result?.run.complete, result?.verdict.status], [false, 'INVALID']);
    assert.equal(last('testrun:end')?.exitCode, await run.ended);
  });
});
