/** `doctor --target` against real servers and proxies, right ones and wrong ones. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { generate } from 'selfsigned';
import { Server } from 'socket.io';
import { examineTarget } from '../../../plugin/doctor/target/examine.ts';
import type { TargetCheck } from '../../../plugin/doctor/target/target-check.ts';
import { startApp, TOKEN } from '../../helpers/app.ts';
import { hookConfig } from '../../helpers/measurements.ts';
import { lacks, startHaproxy, startNginx, UPGRADE } from '../../helpers/proxies.ts';

/** The whole cycle is over in a few seconds. */
const QUICK_PINGS = { CAPACITY_PING_INTERVAL_MS: '2500', CAPACITY_PING_TIMEOUT_MS: '500', CAPACITY_WORKER: 'w0' };

async function startWorker(t: TestContext, environment: Record<string, string> = {}) {
  const app = await startApp({ ...QUICK_PINGS, ...environment });
  t.after(() => app.close());
  return app;
}

/** @returns the checks by name; of several, the last one */
async function examine(target: string, options: object = {}, config: object = {}) {
  const seen: TargetCheck[] = [];
  const held: number[] = [];
  const watching = { onCheck: (check: TargetCheck) => void seen.push(check), onHold: (s: number) => void held.push(s) };
  const settings = hookConfig(options, { target, ...config });
  const checks = await examineTarget(settings, { config: {} }, watching, new AbortController().signal);
  assert.deepEqual(checks, seen, 'each is told as soon as it is known');
  return { held, by: Object.fromEntries(checks.map((check) => [check.name, check])) as Record<string, TargetCheck> };
}

const failed = (by: Record<string, TargetCheck>) =>
  Object.values(by).flatMap(({ name, status }) => (status === 'failed' ? [name] : []));

const polling = { engines: { 'socketio-capacity': { transports: ['polling', 'websocket'] } } };

test('a server as it should be, behind nginx', { skip: lacks('nginx') }, async (t) => {
  const app = await startWorker(t);
  const { port } = await startNginx(t, app.port, `${UPGRADE} proxy_read_timeout 60s;`);
  const control = { urls: [app.controlUrl], token: TOKEN };
  const { by, held } = await examine(`http://localhost:${port}`, { control }, polling);
  assert.deepEqual(failed(by), [], JSON.stringify(by));
  assert.deepEqual(
    Object.keys(by).toSorted(),
    ['clock', 'connect', 'control', 'idle', 'limits', 'name', 'polling', 'websocket', 'workers'].toSorted(),
  );
  assert.match(by.websocket?.found ?? '', /^granted, by nginx/);
  assert.match(by.control?.found ?? '', /^worker w0, instance [0-9a-f]{8}, .* version /);
  assert.match(by.idle?.found ?? '', /^it stayed open, with [12] pings?; the ping cycle is 3\.0 s$/);
  assert.deepEqual(held, [6]);
});

test('nginx that passes no upgrade', { skip: lacks('nginx') }, async (t) => {
  const app = await startWorker(t);
  const { port } = await startNginx(t, app.port, '');
  const { by } = await examine(`http://127.0.0.1:${port}`);
  assert.deepEqual(failed(by), ['websocket', 'connect']);
  assert.match(by.websocket?.found ?? '', /without its Upgrade header: a proxy in between has removed it, by nginx/);
  assert.equal(by.idle, undefined, 'there is nothing to hold');
});

test('nginx with an idle time-out that is shorter than the ping cycle', { skip: lacks('nginx') }, async (t) => {
  const app = await startWorker(t);
  const { port } = await startNginx(t, app.port, `${UPGRADE} proxy_read_timeout 2s;`);
  const { by } = await examine(`http://127.0.0.1:${port}`);
  assert.deepEqual(failed(by), ['idle']);
  assert.match(
    by.idle?.found ?? '',
    /an idle time-out in between of about 2 s is shorter than the ping cycle of 3\.0 s/,
  );
  assert.match(by.idle?.fix ?? '', /proxy_read_timeout/);
});

test('HAProxy likewise', { skip: lacks('haproxy') }, async (t) => {
  const app = await startWorker(t);
  const { by } = await examine(`http://127.0.0.1:${await startHaproxy(t, app.port, 2)}`);
  assert.deepEqual(failed(by), ['idle']);
  assert.match(by.idle?.found ?? '', /about 2 s/);
});

test('an expired certificate, and one of another name', async (t) => {
  const certify = (notAfterDate: Date) =>
    generate([{ name: 'commonName', value: 'localhost' }], {
      notBeforeDate: new Date('2020-01-01'),
      notAfterDate,
      keyType: 'ec',
      curve: 'P-256',
      algorithm: 'sha256',
      extensions: [{ name: 'subjectAltName', altNames: [{ type: 2, value: 'localhost' }] }],
    });
  const open = async (notAfterDate: Date) => {
    const { cert, private: key } = await certify(notAfterDate);
    const http = createTlsServer({ cert, key });
    const io = new Server(http, { pingInterval: 500, pingTimeout: 200 });
    t.after(() => io.close());
    http.listen(0, '127.0.0.1');
    await once(http, 'listening');
    return { ca: cert, port: (http.address() as AddressInfo).port };
  };
  const expired = await open(new Date('2021-01-01'));
  const old = await examine(`https://localhost:${expired.port}`, {}, { tls: { ca: expired.ca } });
  assert.deepEqual(failed(old.by), ['certificate', 'websocket', 'connect']);
  assert.match(old.by.certificate?.found ?? '', /^it expired on 2021-01-01$/);
  const valid = await open(new Date(Date.now() + 1e10));
  const other = await examine(`https://127.0.0.1:${valid.port}`, {}, { tls: { ca: valid.ca } });
  assert.match(other.by.certificate?.found ?? '', /^it is for localhost, and not for 127\.0\.0\.1$/);
  const named = await examine(
    `https://127.0.0.1:${valid.port}`,
    {},
    { tls: { ca: valid.ca, servername: 'localhost' } },
  );
  assert.deepEqual(failed(named.by), [], JSON.stringify(named.by));
  assert.equal(named.by.certificate?.status, 'ok');
});

test('control ports: on loopback only, with another token, twice the same', async (t) => {
  const app = await startWorker(t);
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

test('a name without an address, and an address without a server', async () => {
  const unknown = await examine('http://unknown.invalid');
  assert.deepEqual(failed(unknown.by), ['name']);
  assert.equal(unknown.by.control?.status, 'skipped');
  const nobody = await examine('http://127.0.0.1:1');
  assert.deepEqual(failed(nobody.by), ['websocket', 'connect']);
  assert.match(nobody.by.websocket?.found ?? '', /ECONNREFUSED/);
});
