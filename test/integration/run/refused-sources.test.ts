/**
 * Tests sources of figures that start to refuse the run during the measurement. Their figures are missing from then on,
 * and no failure of the deployment is reported.
 */
import assert from 'node:assert/strict';
import { createServer, request } from 'node:http';
import { describe, it, type TestContext } from 'node:test';
import type { Result } from '../../../protocol/result/result.ts';
import { startApp } from '../../helpers/app.ts';
import { inProcessScript, startInProcess } from '../../helpers/in-process-run.ts';
import { startPlainServer } from '../../helpers/plain-server.ts';
import { listen } from '../../helpers/raw-listen.ts';

/** Starts a proxy. The test can make it reply with a status and close its forwarded connections. */
async function startGateway(t: TestContext, toUrl: string) {
  let status = 0;
  const open = new Set<{ destroy(): void }>();
  const http = createServer((incoming, response) => {
    if (status > 0) return response.writeHead(status).end();
    const { method, headers, url = '/' } = incoming;
    const outgoing = request(new URL(url, toUrl), { method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(response);
    });
    outgoing.on('error', () => response.destroy());
    return incoming.pipe(outgoing);
  });
  http.on('upgrade', (incoming, client, head) => {
    if (status > 0) return client.end(`HTTP/1.1 ${status} Refused\r\nconnection: close\r\n\r\n`);
    const outgoing = request(new URL(incoming.url ?? '/', toUrl), { headers: incoming.headers });
    outgoing.on('error', () => client.destroy());
    outgoing.on('upgrade', (answer, server, first) => {
      const lines = Object.entries(answer.headers).map(([name, value]) => `${name}: ${value}\r\n`);
      client.write(`HTTP/1.1 101 Switching Protocols\r\n${lines.join('')}\r\n`);
      client.write(first);
      server.write(head);
      server.pipe(client).pipe(server);
      for (const socket of [client, server]) open.add(socket.on('error', () => {}));
    });
    return outgoing.end();
  });
  const url = `http://127.0.0.1:${await listen(t, http)}`;
  const refuse = (nextStatus: number) => {
    status = nextStatus;
    for (const socket of open) socket.destroy();
  };
  return { url, refuse };
}

function assertAbsent({ findings, outcome }: Result, cause: RegExp, output: string) {
  const found = findings.find(({ code }) => code === 'SOURCE_UNREADABLE');
  assert.match(found?.message ?? '', cause, output);
  const codes = findings.map(({ code }) => code);
  for (const code of ['DEPLOYMENT_CHANGED', 'PROCESS_ENDED', 'RUN_INCOMPLETE'])
    assert.ok(!codes.includes(code), `${code}:\n${output}`);
  assert.equal(outcome.status, 'PASSED', output);
}

const OPTIONS = { warmUp: 0, singleRoundTrips: 1, hold: 1, drain: { quiet: 0.2 } };

describe('during a run', () => {
  for (const [stage, status] of [
    ['ramp', 403],
    ['hold', 401],
    ['broadcasts', 403],
  ] as const) {
    it(`a control port that answers ${status} during the ${stage} is reported, and the run continues`, async (t) => {
      const app = await startApp(t);
      const gateway = await startGateway(t, app.controlUrl);
      const control = { ...app.control, urls: [gateway.url] };
      const run = startInProcess(
        inProcessScript({ target: app.url }, { ...OPTIONS, control, broadcasts: { count: 5, interval: 0.3 } }),
      );
      await run.reached(stage);
      gateway.refuse(status);
      const { result, output } = await run.ended;
      assertAbsent(result, new RegExp(`^a control port may not be read since [\\d.]+ s: .*HTTP ${status}$`), output);
      assert.deepEqual(result.connections.lost, {}, output);
    });
  }

  for (const [status, cause] of [
    [401, 'may not be read'],
    [404, 'is no longer there'],
    [500, 'did not answer'],
  ] as const) {
    it(`the run reports that a metrics page ${cause} if its status becomes ${status} during the run`, async (t) => {
      let bytes = 5e7;
      const page = createServer((_, response) => {
        // Memory grows, because constant memory would be excluded.
        bytes += 4096;
        response.end(`process_resident_memory_bytes ${bytes}\n`);
      });
      const gateway = await startGateway(t, `http://127.0.0.1:${await listen(t, page)}`);
      const { url } = await startPlainServer(t);
      const workers = { prometheus: { url: `${gateway.url}/metrics` } };
      const run = startInProcess(inProcessScript({ target: url }, { ...OPTIONS, workers }, {}, [{ hold: true }]));
      await run.reached('ramp');
      gateway.refuse(status);
      const { result, output } = await run.ended;
      assertAbsent(result, new RegExp(`/metrics ${cause} since [\\d.]+ s: HTTP ${status}$`), output);
      assert.match(result.memory.absent.workerRss ?? '', new RegExp(`HTTP ${status}`));
    });
  }
});

it('the run ends, and reports the status, if a control port answers 403 from the start', async (t) => {
  const app = await startApp(t);
  const gateway = await startGateway(t, app.controlUrl);
  gateway.refuse(403);
  const control = { ...app.control, urls: [gateway.url] };
  const { output } = await startInProcess(inProcessScript({ target: app.url }, { ...OPTIONS, control })).failed;
  assert.match(output, /BAD_TOKEN: worker \S+ refused the control token: HTTP 403/);
});
