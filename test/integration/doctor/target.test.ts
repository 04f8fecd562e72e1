/** Tests `doctor --target` with real servers and proxies, with and without problems. */
import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { createServer as createHttp2Server, createSecureServer } from 'node:http2';
import { describe, it, type TestContext } from 'node:test';
import { generate } from 'selfsigned';
import type { Server, Socket } from 'socket.io';
import { checkWorkerSources } from '../../../plugin/doctor/target/check-sources.ts';
import { examineTarget } from '../../../plugin/doctor/target/examine.ts';
import type { TargetCheck } from '../../../plugin/doctor/target/target-check.ts';
import { startApp, TOKEN } from '../../helpers/app.ts';
import { startChat, startInstrumented } from '../../helpers/chat-server.ts';
import { column } from '../../helpers/columns.ts';
import { hookConfig } from '../../helpers/measurements.ts';
import { startOrphan } from '../../helpers/process.ts';
import { lacks, startHaproxy, startNginx, UPGRADE } from '../../helpers/proxies.ts';
import { listen } from '../../helpers/raw-listen.ts';
import { freePort } from '../../helpers/redis.ts';

/** Short ping interval, so that a whole cycle takes a few seconds. */
const QUICK_PINGS = { CAPACITY_PING_INTERVAL_MS: '2500', CAPACITY_PING_TIMEOUT_MS: '500', CAPACITY_WORKER: 'w0' };

async function startWorker(t: TestContext, environment: Record<string, string> = {}) {
  const app = await startApp(t, { ...QUICK_PINGS, ...environment });
  return app;
}

/** Returns the checks by name. If several have the same name, the last is returned. */
async function examine(target: string, options: object = {}, config: object = {}, burst = 0) {
  const seen: TargetCheck[] = [];
  const held: number[] = [];
  const watching = {
    burst,
    onCheck: (check: TargetCheck) => void seen.push(check),
    onHold: (s: number) => void held.push(s),
  };
  const settings = hookConfig(options, { target, ...config });
  const checks = await examineTarget(settings, { config: {} }, watching, new AbortController().signal);
  assert.deepEqual(checks, seen, 'each check is reported as soon as it is known');
  return { held, by: Object.fromEntries(checks.map((check) => [check.name, check])) as Record<string, TargetCheck> };
}

const failed = (by: Record<string, TargetCheck>) =>
  Object.values(by).flatMap(({ name, status }) => (status === 'failed' ? [name] : []));

const polling = { engines: { 'socketio-capacity': { transports: ['polling', 'websocket'] } } };

function certify(notAfterDate = new Date(Date.now() + 1e10)) {
  return generate([{ name: 'commonName', value: 'localhost' }], {
    notBeforeDate: new Date('2020-01-01'),
    notAfterDate,
    keyType: 'ec',
    curve: 'P-256',
    algorithm: 'sha256',
    extensions: [{ name: 'subjectAltName', altNames: [{ type: 2, value: 'localhost' }] }],
  });
}

const QUICK = { pingInterval: 500, pingTimeout: 200 };
/** Options with a longer ping timeout, for many clients in a process that all tests share. */
const PATIENT = { pingInterval: 500, pingTimeout: 3000 };
const PATIENT_WORKER = { CAPACITY_PING_INTERVAL_MS: '500', CAPACITY_PING_TIMEOUT_MS: '3000' };
const AT_ONCE = { CAPACITY_PING_INTERVAL_MS: '500', CAPACITY_PING_TIMEOUT_MS: '200' };

const SHORT = /of about 2 s is shorter than the ping cycle of 3\.0 s/;

// Runs concurrently, because the tests mostly wait for pings, each with its own server.
describe('doctor --target', { concurrency: true }, () => {
  it('the doctor passes a correct server behind nginx', { skip: lacks('nginx') }, async (t) => {
    const app = await startWorker(t);
    const { port } = await startNginx(t, app.port, `${UPGRADE} proxy_read_timeout 60s;`);
    const control = app.control;
    const { by, held } = await examine(`http://localhost:${port}`, { control }, polling);
    assert.deepEqual(failed(by), [], JSON.stringify(by));
    const all = ['clock', 'connect', 'control', 'idle', 'limits', 'name', 'polling', 'websocket', 'workers'];
    assert.deepEqual(Object.keys(by).toSorted(), all);
    assert.match(by.websocket?.found ?? '', /^granted, by nginx/);
    assert.match(by.control?.found ?? '', /^worker w0, instance [0-9a-f]{8}, .* version /);
    assert.match(by.idle?.found ?? '', /with [12] pings?; the ping cycle is 3\.0 s$/);
    assert.deepEqual(held, [6]);
  });

  const nginx = (location: string) => async (t: TestContext, port: number) =>
    (await startNginx(t, port, location)).port;
  const haproxy = (t: TestContext, port: number) => startHaproxy(t, port, { tunnelSeconds: 2 });
  for (const [what, program, start, names, found, fix] of [
    ['passes no upgrade', 'nginx', nginx(''), ['websocket', 'connect'], /a proxy in between .*, by nginx/, /./],
    ['has a short idle time-out', 'nginx', nginx(`${UPGRADE} proxy_read_timeout 2s;`), ['idle'], SHORT, /read_timeout/],
    ['has a short idle time-out', 'haproxy', haproxy, ['idle'], SHORT, /./],
  ] as const) {
    it(`the doctor finds that ${program} ${what}`, { skip: lacks(program) }, async (t) => {
      const app = await startWorker(t);
      const { by } = await examine(`http://127.0.0.1:${await start(t, app.port)}`);
      assert.deepEqual(failed(by), names);
      const [first = ''] = names;
      assert.match(by[first]?.found ?? '', found);
      assert.match(by[first]?.fix ?? '', fix);
      if (first !== 'idle') assert.equal(by.idle, undefined, 'no connection can be held');
    });
  }

  it('the doctor finds an expired certificate, and one for another name', async (t) => {
    const open = async (notAfterDate: Date) => {
      const { cert, private: key } = await certify(notAfterDate);
      return { ca: cert, ...(await startChat(t, () => {}, { tls: { cert, key }, ...QUICK })) };
    };
    const expired = await open(new Date('2021-01-01'));
    const old = await examine(`https://localhost:${expired.port}`, {}, { tls: { ca: expired.ca } });
    assert.deepEqual(failed(old.by), ['certificate', 'websocket', 'connect']);
    assert.match(old.by.certificate?.found ?? '', /^it expired on 2021-01-01$/);
    const valid = await open(new Date(Date.now() + 1e10));
    const given = async (tls: object) =>
      (await examine(`https://127.0.0.1:${valid.port}`, {}, { tls: { ca: valid.ca, ...tls } })).by;
    assert.match((await given({})).certificate?.found ?? '', /^it is for localhost, and not for 127\.0\.0\.1$/);
    const named = await given({ servername: 'localhost' });
    assert.deepEqual([failed(named), named.certificate?.status], [[], 'ok']);
  });

  it('the doctor finds that the server requires a client certificate', async (t) => {
    const { cert, private: key } = await certify();
    for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
      const only = { minVersion: version, maxVersion: version, requestCert: true, rejectUnauthorized: true };
      const { port } = await startChat(t, () => {}, { tls: { cert, key, ca: cert, ...only }, ...QUICK });
      const target = `https://localhost:${port}`;
      const { by } = await examine(target, {}, { tls: { ca: cert } });
      assert.equal(by.websocket?.status, 'failed');
      assert.match(by.websocket?.found ?? '', /asks for a client certificate/, version);
      assert.match(by.websocket?.fix ?? '', /cert: client\.pem/);
      const given = await examine(target, {}, { tls: { ca: cert, cert, key } });
      assert.deepEqual(failed(given.by), [], JSON.stringify(given.by));
    }
  });

  it('the doctor finds a proxy that speaks HTTP/2 only, with and without TLS', async (t) => {
    const { cert, private: key } = await certify();
    const secure = await listen(t, createSecureServer({ cert, key, allowHTTP1: false }));
    const plain = await listen(t, createHttp2Server());
    for (const [target, tls] of [
      [`https://localhost:${secure}`, { ca: cert }],
      [`http://localhost:${plain}`, {}],
    ] as const) {
      const { by } = await examine(target, {}, { tls });
      assert.match(by.websocket?.found ?? '', /speaks HTTP\/2 only/);
      assert.match(by.websocket?.fix ?? '', /HTTP\/1\.1/);
    }
  });

  it('the doctor warns if polling cannot be upgraded, although direct WebSockets are accepted', async (t) => {
    const { url, http } = await startChat(t, () => {}, QUICK);
    const listeners = http.listeners('upgrade');
    http.removeAllListeners('upgrade').on('upgrade', (request, socket, head) => {
      if (/[?&]sid=/.test(request.url ?? '')) socket.destroy();
      else for (const listener of listeners) listener(request, socket, head);
    });
    const { by } = await examine(url, {}, polling);
    assert.deepEqual([failed(by), by.websocket?.status, by.connect?.status], [[], 'ok', 'warning'], JSON.stringify(by));
    assert.match(by.connect?.found ?? '', /stayed on polling/);
    assert.match(by.connect?.fix ?? '', /WebSocket/);
  });

  it('the doctor opens a burst of connections, and finds limits on their number and rate', {
    skip: lacks('nginx'),
  }, async (t) => {
    const app = await startWorker(t, PATIENT_WORKER);
    const burst = async (http: string, location: string) => {
      const { port } = await startNginx(t, app.port, `${UPGRADE} ${location}`, http);
      return (await examine(`http://127.0.0.1:${port}`, {}, {}, 12)).by.burst;
    };
    const free = await burst('', '');
    assert.equal(free?.status, 'ok', JSON.stringify(free));
    const number = await burst('limit_conn_zone $binary_remote_addr zone=c:1m;', 'limit_conn c 7;');
    assert.match(number?.found ?? '', /^7 of 12 were accepted \(.*503 .*\): the number of connections is limited$/);
    const rate = await burst(
      'limit_req_zone $binary_remote_addr zone=r:1m rate=3r/s;',
      'limit_req zone=r burst=4 nodelay;',
    );
    assert.match(rate?.found ?? '', /of 12 were accepted .*: the rate is limited$/);
    assert.match(rate?.fix ?? '', /limit_req/);
    const { port } = await startNginx(t, app.port, UPGRADE);
    const slots = (await examine(`http://127.0.0.1:${port}`, {}, {}, 120)).by.burst;
    assert.match(slots?.found ?? '', /^\d+ of 120 were accepted .*: the number of connections is limited$/);
    assert.match(slots?.fix ?? '', /worker_connections/);
  });

  it('the doctor opens a burst of connections, and finds limits above which HAProxy queues connections', {
    skip: lacks('haproxy'),
  }, async (t) => {
    const app = await startWorker(t, PATIENT_WORKER);
    const burst = async (haproxy: object, connections = 12) =>
      (await examine(`http://127.0.0.1:${await startHaproxy(t, app.port, haproxy)}`, {}, {}, connections)).by.burst;
    const [frontend, server, sessions] = await Promise.all([
      burst({ frontend: 'maxconn 7' }),
      burst({ server: 'maxconn 7' }),
      // The proxy admits one session a second. Clients that wait longer than their timeout count as refused.
      burst({ frontend: 'rate-limit sessions 1' }, 20),
    ]);
    assert.match(
      frontend?.found ?? '',
      /^\d+ of 12 were accepted.* \(.*no answer.*\): the number of connections is limited$/,
    );
    assert.match(server?.found ?? '', /^\d+ of 12 were accepted.* \(.*503 .*\): the number of connections is limited$/);
    for (const limit of [frontend, server]) assert.match(limit?.fix ?? '', /maxconn/);
    assert.match(sessions?.found ?? '', /of 20 were accepted .*: the rate is limited$/);
  });

  it('the doctor finds a server that disconnects each client immediately, even within one polling request', async (t) => {
    const { url } = await startChat(t, (io) => io.on('connection', (socket) => socket.disconnect()), QUICK);
    const { by } = await examine(url, {}, { engines: { 'socketio-capacity': { transports: ['polling'] } } });
    assert.equal(by.idle?.status, 'failed');
    assert.match(by.idle?.found ?? '', /^the server itself disconnected it after 0\.0 s$/);
  });

  it('the doctor sends the user info of the target, and prints none of it', async (t) => {
    const allowRequest = ({ headers }: IncomingMessage, done: (reason: null, isAllowed: boolean) => void) =>
      done(null, headers.authorization === `Basic ${btoa('ann:pa55')}`);
    const { url } = await startChat(t, () => {}, { ...QUICK, allowRequest });
    const { by } = await examine(url.replace('//', '//ann:pa55@'), {}, polling);
    assert.deepEqual(failed(by), [], JSON.stringify(by));
    assert.doesNotMatch(JSON.stringify(by), /pa55/);
    const without = (await examine(url)).by;
    assert.match(`${without.connect?.found} ${without.connect?.fix}`, /by its `allowRequest`.*an Origin, a cookie/);
    assert.match(without.websocket?.found ?? '', /^HTTP 400: Forbidden \(by its `allowRequest`/);
  });

  it('the doctor finds that the server lacks the namespace of the scenario', async (t) => {
    const { url } = await startChat(t, () => {}, QUICK);
    const { by } = await examine(`${url}/chat`);
    assert.deepEqual(failed(by), ['connect']);
    assert.match(by.connect?.found ?? '', /has no namespace \/chat/);
    assert.match(by.connect?.fix ?? '', /the path of the URL is the namespace/);
  });

  it('the doctor gives no verdict on an idle connection if the user stops the check', async (t) => {
    const { url } = await startChat(t, () => {}, { pingInterval: 25_000 });
    const stop = new AbortController();
    const watching = { burst: 0, onCheck: () => {}, onHold: () => stop.abort() };
    const checks = await examineTarget(hookConfig({}, { target: url }), { config: {} }, watching, stop.signal);
    const idle = checks.find(({ name }) => name === 'idle');
    assert.match(`${idle?.status}: ${idle?.found}`, /^skipped: stopped after [\d.]+ s$/);
  });

  it('the doctor finds that a server limits connections of one address, and the other checks pass', async (t) => {
    const limit = 5;
    const burstWith = async (connected: (io: Server, all: Socket[]) => void) => {
      const all: Socket[] = [];
      const counts = (io: Server) => {
        io.on('connection', (socket) => {
          all.push(socket);
          socket.on('disconnect', () => void all.splice(all.indexOf(socket), 1));
        });
        connected(io, all);
      };
      const { by } = await examine((await startChat(t, counts, PATIENT)).url, {}, {}, 12);
      assert.deepEqual(failed(by), ['burst']);
      return by.burst?.found ?? '';
    };
    const refuses = await burstWith((io, all) =>
      io.use((_, next) => next(all.length >= limit ? new Error('too many of your address') : undefined)),
    );
    assert.match(
      refuses,
      /^\d+ of 12 were accepted \(.*too many of your address.*\): the number of connections is limited$/,
    );
    let asked = 0;
    const counts = await burstWith((io) =>
      io.use((_, next) => next(++asked > limit + 3 ? new Error('too many in this hour') : undefined)),
    );
    assert.match(
      counts,
      /\(.*too many in this hour.*\); one more was refused after all had closed: the rate is limited$/,
    );
    asked = 0;
    const some = await burstWith((io) => io.use((_, next) => next(++asked % 3 === 0 ? new Error('busy') : undefined)));
    assert.match(
      some,
      /\(.*busy.*\); later, one by one, one was refused, and the next one was accepted: this shows no limit$/,
    );
    const ends = await burstWith((io, all) =>
      io.on('connection', () => void (all.length > limit && setTimeout(() => all[0]?.disconnect(true), 300))),
    );
    assert.match(ends, /^12 of 12 were accepted, and \d+ of them closed: the number of connections is limited$/);
    // Connections that are accepted later also close. They do not count among the 12.
    let isFull = false;
    const both = await burstWith((io, all) => {
      const endSoon = () => void (isFull && setTimeout(() => io.disconnectSockets(true), 300));
      io.use((_, next) => {
        isFull ||= all.length >= limit;
        endSoon();
        next(all.length >= limit ? new Error('too many of your address') : undefined);
      });
    });
    const [accepted = 0, closed = 0] = (both.match(/^(\d+) of 12 .* (\d+) of them/) ?? []).slice(1).map(Number);
    assert.ok(closed > 0 && closed <= accepted, both);
  });

  it('the doctor warns about two workers that no adapter connects', async (t) => {
    const [first, second] = [
      await startWorker(t, AT_ONCE),
      await startWorker(t, { ...AT_ONCE, CAPACITY_WORKER: 'w1' }),
    ];
    const { by } = await examine(first.url, { control: { urls: [first.controlUrl, second.controlUrl], token: TOKEN } });
    assert.equal(by.workers?.status, 'warning');
    assert.match(by.workers?.found ?? '', /no adapter connects w0, w1 with the others/);
  });

  it('the doctor finds missing processes, an unreachable Redis, and a payload that is too large for the workers', async (t) => {
    const app = await startWorker(t);
    const wrong = await examine(app.url, { workers: { match: '^no such program' } });
    assert.deepEqual(failed(wrong.by), ['processes']);
    assert.match(wrong.by.processes?.found ?? '', /no command line matches/);
    const redisUrl = `redis://127.0.0.1:${await freePort()}`;
    const [redis] = await checkWorkerSources({ ...hookConfig({}, { target: app.url }), redisUrl });
    assert.deepEqual([redis?.name, redis?.status, redis?.fix?.slice(0, 11)], ['redis', 'warning', 'start Redis']);
    const { pids } = await startOrphan(t, '-e', 'console.log(process.pid); setInterval(() => {}, 1e6)');
    const workers = { pids, inspect: true };
    const right = await checkWorkerSources(hookConfig({ workers }, { target: app.url }));
    assert.deepEqual(column(right, 'status'), ['ok', 'ok'], JSON.stringify(right));
    const small = await startInstrumented(t, () => {}, QUICK);
    const large = await examine(small.url, { control: small.control, broadcasts: { bytes: 2_000_000 } });
    assert.deepEqual(failed(large.by), ['workers']);
    assert.match(large.by.workers?.found ?? '', /takes messages of at most/);
  });

  it('the doctor finds control ports on another address, with another token, or given twice', async (t) => {
    const app = await startWorker(t, AT_ONCE);
    const control = (urls: string[], token = TOKEN) => ({ control: { urls, token } });
    const elsewhere = await examine(app.url, control([`http://127.0.0.2:${app.controlPort}`]));
    assert.deepEqual(failed(elsewhere.by), ['control']);
    assert.match(elsewhere.by.control?.fix ?? '', /controlHost/);
    const wrong = await examine(app.url, control([app.controlUrl], 'another-token-than-theirs'));
    assert.match(wrong.by.control?.found ?? '', /refused the control token/);
    const twice = await examine(app.url, control([app.controlUrl, app.controlUrl.replace('127.0.0.1', 'localhost')]));
    assert.deepEqual(failed(twice.by), ['workers']);
    assert.match(twice.by.workers?.found ?? '', /2 control addresses lead to the same process, w0/);
  });

  it('the doctor finds a host name without an address, and an address without a server', async () => {
    const unknown = await examine('http://unknown.invalid');
    assert.deepEqual(failed(unknown.by), ['name']);
    assert.equal(unknown.by.control?.status, 'skipped');
    const unreachable = await examine('http://127.0.0.1:1');
    assert.deepEqual(failed(unreachable.by), ['websocket', 'connect']);
    assert.match(unreachable.by.websocket?.found ?? '', /ECONNREFUSED/);
  });
});
