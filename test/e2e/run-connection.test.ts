/** The run's own receivers connect like the load, wherever the scenario sets the options for it. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import { Server } from 'socket.io';
import { instrument } from '../../server/instrument.ts';
import { TOKEN } from '../helpers/app.ts';
import { startInProcess } from '../helpers/in-process-run.ts';
import { quickScript } from '../helpers/run.ts';

const pem = (name: string) => readFileSync(new URL(`../fixtures/tls/${name}.pem`, import.meta.url), 'utf8');
const PATH = '/private/';

/** Lets in only who knows its certificate, its path, and what to bring in header, query and auth. */
async function startStrictServer(t: TestContext) {
  const http = createServer({ cert: pem('cert'), key: pem('key') });
  const io = new Server(http, { path: PATH, serveClient: false });
  const refused: string[] = [];
  io.use(({ handshake: { headers, query, auth } }, next) => {
    const given = JSON.stringify([headers['x-tenant'], query.version, auth.user]);
    if (given === '["blue","2","load"]') return next();
    refused.push(given);
    next(new Error('who are you?'));
  });
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  const instrumentation = await instrument(io, { token: TOKEN, worker: 'w0' });
  t.after(async () => {
    await instrumentation.close();
    await io.close();
  });
  const { port } = http.address() as AddressInfo;
  return { url: `https://127.0.0.1:${port}`, controlUrl: `http://127.0.0.1:${instrumentation.controlPort}`, refused };
}

const WHO = { headers: { 'X-Tenant': 'blue' }, query: { version: 2 }, auth: { user: 'load' } };
const FLOW = [{ emit: ['join_room', { clientKey: 'capacity' }] }, { hold: true }];

describe('a target with a private certificate, a path of its own, and demands', () => {
  const cases: Record<string, (tls: object) => { config: object; flow: unknown[] }> = {
    'in the places that older flows use': (tls) => ({
      config: { tls, socketio: { path: PATH, query: WHO.query }, 'socketio-capacity': { ...WHO, query: undefined } },
      flow: FLOW,
    }),
    'in the flow’s own connect': (tls) => ({
      config: { tls },
      flow: [{ connect: { path: PATH, ...WHO } }, ...FLOW],
    }),
  };
  for (const [where, describeConnection] of Object.entries(cases)) {
    it(`is measured where these stand ${where}`, async (t) => {
      const { url, controlUrl, refused } = await startStrictServer(t);
      // The address is not the name that is asked for.
      const { config, flow } = describeConnection({ ca: pem('cert'), servername: 'localhost' });
      const control = { urls: [controlUrl], token: TOKEN };
      const script = quickScript({ target: url, engines: {}, ...config }, { control });
      const scenarios = [{ engine: 'socketio-capacity', flow }];
      const { result, output } = await startInProcess({ ...script, scenarios }).ended;
      assert.equal(result.connections.peak, 10, output);
      assert.equal(result.delivery?.coverage, 1);
      assert.equal(result.latency.roundTripHalfMs.single?.count, 2, 'the probe is connected');
      assert.equal(result.latency.sentinelMs?.count, 3, 'the sentinel is connected');
      assert.deepEqual(refused, []);
    });
  }
});

it('quotes a server that refuses some of the load, in console, result and report', async (t) => {
  const http = createHttpServer();
  const io = new Server(http, { serveClient: false });
  let users = 0;
  io.use(({ handshake: { auth } }, next) => {
    const isTooMany = auth.user === 'load' && ++users === 3;
    next(isTooMany ? Object.assign(new Error('full\x1b[2J'), { data: { free: 0 } }) : undefined);
  });
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  const instrumentation = await instrument(io, { token: TOKEN, worker: 'w0' });
  t.after(async () => {
    await instrumentation.close();
    await io.close();
  });
  const target = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  const control = { urls: [`http://127.0.0.1:${instrumentation.controlPort}`], token: TOKEN };
  // A template, so that the receivers of the run and the warm-up have no such user.
  const flow = [{ connect: { auth: { user: '{{ user }}' } } }, ...FLOW];
  const script = quickScript({ target, engines: {} }, { control });
  const scenarios = [{ engine: 'socketio-capacity', flow }];
  const { result, output } = await startInProcess({ ...script, scenarios }, [{ user: 'load' }]).ended;
  const { connections } = result;
  assert.deepEqual(connections.failures, { namespace_refused: 1 });
  assert.deepEqual(connections.failureExamples, { namespace_refused: 'full\\u{1b}[2J {"free":0}' });
  assert.match(output, /first namespace_refused: full\\u\{1b\}\[2J \{"free":0\}/);
});
