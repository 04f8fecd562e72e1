/** Whole runs at servers that ask each user for a token in the handshake: the run's own clients have one, too. */
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { it, type TestContext } from 'node:test';
import { Server } from 'socket.io';
import { instrument } from '../../server/instrument.ts';
import { TOKEN } from '../helpers/app.ts';
import { goodResult, quickScript, reasonsOfServer, startRun } from '../helpers/run.ts';

/** @param isKnown who is let in */
async function serve(t: TestContext, isKnown: (token: string) => boolean) {
  const http = createServer();
  const io = new Server(http, { serveClient: false });
  io.engine.use((request: never, response: never, next: () => void) => {
    const { authorization = '' } = (request as { headers: { authorization?: string } }).headers;
    if (isKnown(authorization)) return next();
    const answer = response as { writeHead(status: number): void; end(text: string): void };
    answer.writeHead(401);
    answer.end('who are you?');
  });
  const instrumented = await instrument(io, { token: TOKEN, controlPort: 0, worker: 'w0' });
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  t.after(async () => {
    await instrumented.close();
    await io.close();
  });
  const control = { urls: [`http://127.0.0.1:${instrumented.controlPort}`], token: TOKEN };
  return { url: `http://127.0.0.1:${(http.address() as AddressInfo).port}`, control };
}

const before = 'seq -f token-%g 0 29 > tokens.csv';

function script(target: string, options: object) {
  const payload = [{ path: 'tokens.csv', fields: ['token'], order: 'sequence' }];
  const quick = quickScript({ target, payload }, options);
  const socketio = { extraHeaders: { authorization: '{{ token }}' } };
  return { ...quick, scenarios: quick.scenarios.map((scenario) => ({ ...scenario, socketio })) };
}

it('a run with warm-up, probe and reference receiver', async (t) => {
  const { url, control } = await serve(t, (token) => token.startsWith('token-'));
  const { latency, delivery } = await goodResult(startRun(t, { before, script: script(url, { control }) }));
  assert.equal(delivery?.coverage, 1);
  assert.equal(latency.roundTripHalfMs.single?.count, 2);
  assert.ok(latency.sentinelMs);
});

it('a server that knows the users of the load only is measured without them, and this is said', async (t) => {
  const { url, control } = await serve(t, (token) => Number(token.split('-')[1]) < 10);
  const run = startRun(t, { before, script: script(url, { control }) });
  await run.ended;
  const result = run.result();
  assert.deepEqual(result && reasonsOfServer(result), ['CLIENTS_REFUSED'], run.output());
  const { message = '' } = result?.verdict.reasons.find(({ code }) => code === 'CLIENTS_REFUSED') ?? {};
  assert.match(
    message,
    /no client of the run in: 401 who are you\?; .*without round trips, reference receiver, warm-up/,
  );
  assert.equal(result?.delivery?.coverage, 1);
});
