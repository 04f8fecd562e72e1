/** Runs that cannot begin: one clear message with the way out, exit code 2, and nothing left. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { after, describe, it, type TestContext } from 'node:test';
import { Server as SocketIoServer } from 'socket.io';
import { instrument } from '../../server/instrument.ts';
import { freePorts } from '../../server/stack/ports.ts';
import { startApp, TOKEN } from '../helpers/app.ts';
import { quickScript, type StartedRun, startRun, strays } from '../helpers/run.ts';

const app = await startApp();
after(() => app.close());

async function assertRefused(run: StartedRun, code: string, ...patterns: RegExp[]): Promise<void> {
  const exitCode = await run.ended;
  const output = run.output();
  assert.equal(exitCode, 2, output);
  assert.equal(output.split(`${code}: `).length, 2, `reported once: ${code}\n${output}`);
  for (const pattern of patterns) assert.match(output, pattern);
  assert.match(output, /\n {2}fix: \S/);
  assert.doesNotMatch(output, /TypeError|\n\s+at |Phase started|Unhandled|Warning/i);
  assert.deepEqual(strays(run), []);
  assert.deepEqual(readdirSync(run.directory), ['quick.yml'], 'no file is left');
  assert.equal(existsSync(run.stateDir), false);
}

async function listen(t: TestContext, server: Server): Promise<string> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => sockets.add(socket));
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function ownServer(target: string, token = TOKEN) {
  return quickScript({ target }, { control: { urls: [app.controlUrl], token } });
}

describe('a run that cannot begin', { concurrency: 3 }, () => {
  it('names all unknown options of the plugin, and mistakes in phases and environment, together', async (t) => {
    const phases = [{ duration: '2x', arrivalRate: 1 }, { duration: 2 }, { duration: 1, arrivalRate: 0.5 }];
    const script = quickScript({ target: 'nonsense', phases }, { brodcasts: 1, drain: { quite: 1 }, hold: 'long' });
    const run = startRun(t, { script, env: { RATE: 'fast' } });
    await assertRefused(
      run,
      'CONFIG_INVALID',
      /config\.plugins\.socketio-capacity\.brodcasts: unknown option, did you mean "broadcasts"\?/,
      /config\.plugins\.socketio-capacity\.drain\.quite: unknown option, did you mean "quiet"\?/,
      /config\.plugins\.socketio-capacity\.hold: expected number/,
      /config\.phases\[0\]\.duration: expected seconds, or a duration such as "2m"/,
      /config\.phases\[1\]: a phase needs an `arrivalRate`/,
      /config\.phases\[2\]: Artillery accepts a fractional arrivalRate only/,
      /config\.target: expected a URL/,
      /environment variable\.RATE: expected number/,
    );
  });

  it('names all mistakes in the engine’s options and steps', async (t) => {
    const script = ownServer(app.url);
    const { config, scenarios } = script as { config: { engines: object }; scenarios: { flow: unknown[] }[] };
    config.engines = { 'socketio-capacity': { timeot: 1 } };
    scenarios[0]?.flow.push({ emti: ['x'] });
    await assertRefused(
      startRun(t, { script }),
      'CONFIG_INVALID',
      /config\.engines\.socketio-capacity\.timeot: unknown option, did you mean "timeout"\?/,
      /scenarios\[0\]\.flow\[2\]: unknown step "emti"/,
    );
  });

  it('when the target refuses', async (t) => {
    const [port] = await freePorts(1);
    const run = startRun(t, { script: ownServer('http://127.0.0.1:1'), env: { TARGET: `http://127.0.0.1:${port}` } });
    await assertRefused(run, 'TARGET_UNREACHABLE', new RegExp(`127.0.0.1:${port}: ECONNREFUSED`));
  });

  it('when the target answers 502', async (t) => {
    const url = await listen(
      t,
      createHttpServer((_request, response) => response.writeHead(502).end()),
    );
    await assertRefused(startRun(t, { script: ownServer(url) }), 'TARGET_UNREACHABLE', /: http_502/, /workers behind/);
  });

  it('when the target is a web server of another kind', async (t) => {
    const url = await listen(
      t,
      createHttpServer((_request, response) => response.writeHead(200).end('hello')),
    );
    await assertRefused(
      startRun(t, { script: ownServer(url) }),
      'TARGET_UNREACHABLE',
      /http_200/,
      /Socket\.IO 4 server/,
    );
  });

  it('when the target accepts connections and does not respond', async (t) => {
    const url = await listen(t, createServer());
    await assertRefused(startRun(t, { script: ownServer(url) }), 'TARGET_UNREACHABLE', /no answer within 10 s/);
  });

  it('when the control token is wrong', async (t) => {
    await assertRefused(startRun(t, { script: ownServer(app.url, 'not-the-token-of-it') }), 'BAD_TOKEN');
  });

  it('when the server does not open the room of the scenario', async (t) => {
    const http = createHttpServer();
    const url = await listen(t, http);
    const io = new SocketIoServer(http, { serveClient: false });
    const instrumentation = await instrument(io, { token: TOKEN });
    t.after(() => instrumentation.close());
    const control = { urls: [`http://127.0.0.1:${instrumentation.controlPort}`], token: TOKEN };
    const script = quickScript({ target: url }, { control, room: 'lobby' });
    await assertRefused(startRun(t, { script }), 'JOIN_REFUSED', /"lobby/, /instrument\(io, \{rooms/);
  });

  it('when a control token is missing', async (t) => {
    const run = startRun(t, { script: quickScript({ target: app.url }), env: { CAPACITY_CONTROL: app.controlUrl } });
    await assertRefused(run, 'CONFIG_INVALID', /CAPACITY_TOKEN/);
  });

  it('when nobody listens on the control port', async (t) => {
    const [port] = await freePorts(1);
    const script = quickScript({ target: app.url }, { control: { urls: [`http://127.0.0.1:${port}`], token: TOKEN } });
    await assertRefused(startRun(t, { script }), 'SOURCE_UNREACHABLE', /ECONNREFUSED/);
  });

  it('when another program has the port of the stack', async (t) => {
    const url = await listen(
      t,
      createHttpServer((_request, response) => response.writeHead(404).end()),
    );
    const run = startRun(t, { script: quickScript({ target: url }) });
    await assertRefused(run, 'PORT_UNAVAILABLE', /not a Socket\.IO server: it answers HTTP 404/, /ss -ltnp/);
  });

  it('when an external engine drives the load, and no worker is known that counts its connections', async (t) => {
    const script = quickScript({ target: app.url, environments: { stock: {} } });
    const run = startRun(t, { script, args: ['-e', 'stock'] });
    await assertRefused(run, 'CONTROL_MISSING', /engine socketio does not count/, /instrument\(io\)/);
  });

  it('when the open-file limit is very low', async (t) => {
    const run = startRun(t, { script: ownServer(app.url), before: 'ulimit -n 256' });
    await assertRefused(run, 'LIMIT_TOO_LOW', /only 256 files/, /ulimit -n/);
  });

  it('when Redis is not available', async (t) => {
    const [port, dead] = await freePorts(2);
    const run = startRun(t, {
      script: quickScript({ target: `http://127.0.0.1:${port}` }),
      env: { REDIS_URL: `redis://:secret@127.0.0.1:${dead}` },
    });
    await assertRefused(run, 'REDIS_UNREACHABLE', new RegExp(`127.0.0.1:${dead} does not answer`), /REDIS_URL/);
    assert.doesNotMatch(run.output(), /secret/);
  });

  it('when results cannot be written', async (t) => {
    const script = quickScript({ target: app.url }, { results: 'quick.yml/results' });
    await assertRefused(startRun(t, { script }), 'FILE_UNWRITABLE', /quick\.yml\/results/);
  });
});

it('invalid YAML is refused by Artillery itself, in one line', async (t) => {
  const run = startRun(t, { script: 'config:\n  target: [\n scenarios: }' });
  assert.equal(await run.ended, 1, run.output());
  assert.match(run.output(), /quick\.yml|YAML|flow|collection/i);
  assert.doesNotMatch(run.output(), /\n\s+at /);
});
