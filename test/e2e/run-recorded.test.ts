/** Runs with Artillery's `--record`, against a stand-in of Artillery Cloud. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { it, type TestContext } from 'node:test';
import { goodResult, quickScript, startRun } from '../helpers/run.ts';

interface Event {
  eventType: string;
  eventData: { report?: unknown; aggregate?: unknown; exitCode?: number; isEarlyStop?: boolean; lines?: string };
}

const REPLIES: Record<string, object> = {
  '/api/user/whoami': { id: 'u1', email: 'someone@example.org', activeOrg: 'o1' },
  '/api/ping': {},
  '/api/events': {},
};

/** @param status of the load test, as its page in the Cloud has it */
async function cloud(t: TestContext, status: () => object = () => ({ status: 'RUNNING' })) {
  const events: Event[] = [];
  const http = createServer(async (request, response) => {
    const { url = '' } = request;
    if (url === '/api/events') events.push((await json(request)) as Event);
    const reply = REPLIES[url] ?? status();
    response.setHeader('content-type', 'application/json').end(JSON.stringify(reply));
  });
  http.listen(0, '127.0.0.1');
  t.after(() => http.close());
  await once(http, 'listening');
  const env = {
    ARTILLERY_CLOUD_ENDPOINT: `http://127.0.0.1:${(http.address() as AddressInfo).port}`,
    ARTILLERY_CLOUD_API_KEY: 'key',
    PROFILE: 'embedded',
  };
  return { events, env };
}

const last = (events: Event[], type: string) => events.findLast(({ eventType }) => eventType === type)?.eventData;

it('--record sends the metrics of the run, its output and its exit code', async (t) => {
  const { events, env } = await cloud(t);
  const run = startRun(t, { script: quickScript(), env, args: ['--record'] });
  await goodResult(run);
  const counters = (last(events, 'testrun:aggregatereport')?.aggregate as { counters?: Record<string, number> })
    ?.counters;
  assert.equal(counters?.['socketio.delivery.expected'], 30);
  assert.equal(counters?.['vusers.created'], 10);
  assert.ok(events.some(({ eventType }) => eventType === 'testrun:metrics'));
  const text = events.map(({ eventData }) => eventData.lines ?? '').join('');
  assert.match(text, /passed/i);
  const end = last(events, 'testrun:end');
  assert.deepEqual([end?.isEarlyStop, end?.exitCode ?? 0], [false, await run.ended]);
});

it('a run that is stopped in the Cloud ends as one that is stopped by Ctrl-C', async (t) => {
  let stops = false;
  const { events, env } = await cloud(t, () =>
    stops ? { status: 'CANCELLATION_REQUESTED', cancelledBy: 'someone' } : { status: 'RUNNING' },
  );
  const script = quickScript({}, { hold: 60 });
  const run = startRun(t, { script, env, args: ['--record'] });
  await run.reached('hold');
  stops = true;
  assert.notEqual(await run.ended, 0);
  const { complete } = run.result()?.run ?? {};
  assert.equal(complete, false);
  assert.equal(run.result()?.verdict.status, 'INVALID');
  assert.match(run.output(), /someone requested to stop/);
  assert.equal(last(events, 'testrun:end')?.exitCode, await run.ended);
});
