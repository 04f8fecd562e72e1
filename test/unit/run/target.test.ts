/** Whose processes are read: a number alone does not say on which machine, or in which container, it is one. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { Server } from 'socket.io';
import { openTarget } from '../../../plugin/run/target/target.ts';
import type { WorkerStats } from '../../../protocol/events.ts';
import { thisHost } from '../../../protocol/machine/host.ts';
import { hookConfig } from '../../helpers/measurements.ts';

const here = thisHost();
const worker = (pid: number, host = here) => ({ pid, host }) as WorkerStats;

async function pidsOf(workers: WorkerStats[]): Promise<number[] | undefined> {
  // As through a tunnel: the address says nothing of the machine behind it.
  const urls = workers.map((_, index) => `http://127.0.0.1:${4000 + index}`);
  const config = hookConfig({ control: { urls, token: 'token-of-the-tests' } });
  const target = await openTarget(config, 10, () => {}, new AbortController().signal);
  return (await target.pids(workers)).worker;
}

test('workers of this machine are read', async () => {
  assert.deepEqual(await pidsOf([worker(7), worker(8)]), [7, 8]);
});

test('of workers elsewhere none is, and not only those that are here', async () => {
  assert.deepEqual(await pidsOf([worker(7), worker(8, { ...here, kernel: 'another' })]), []);
});

test('a worker in a container has a number that means another process here', async () => {
  assert.deepEqual(await pidsOf([worker(1, { ...here, pidNamespace: 'pid:[1]' })]), []);
});

test('a token that crosses the network unencrypted is reported, once for all its workers', async () => {
  const warnings = async (urls: string[]) => {
    const logged: string[] = [];
    const config = hookConfig({ control: { urls, token: 'token-of-the-tests' } });
    await openTarget(config, 10, (text) => logged.push(text), new AbortController().signal);
    return logged;
  };
  const [warning, ...others] = await warnings(['http://10.0.0.11:3200', 'https://10.0.0.12:3200', 'ws://b.example']);
  assert.match(warning ?? '', /^Warning: the control token .* unencrypted, to 10\.0\.0\.11:3200, b\.example\./);
  assert.match(warning ?? '', /https:\/\//);
  assert.doesNotMatch(warning ?? '', /token-of-the-tests/);
  assert.deepEqual(others, []);
  const safe = [
    'https://10.0.0.11:3200',
    'http://127.0.0.1:3200',
    'http://localhost:1',
    'http://[::1]:1',
    'http://127.1',
  ];
  assert.deepEqual(await warnings(safe), []);
  assert.equal((await warnings(['http://127.attacker.example'])).length, 1);
});

test('somebody else’s Socket.IO server is measured from outside, at its own path, too', async (t) => {
  const http = createServer((_request, response) => response.writeHead(404).end());
  const io = new Server(http, { path: '/realtime/', serveClient: false });
  t.after(() => io.close());
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  const target = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  const open = (path: string) => {
    const config = hookConfig({}, { target, engines: { 'socketio-capacity': { path } } });
    return openTarget(config, 10, () => {}, new AbortController().signal);
  };
  const { control, profile, url } = await open('/realtime/');
  assert.deepEqual({ control, profile, url }, { control: undefined, profile: 'remote', url: target });
  await assert.rejects(open('/socket.io/'), { code: 'PORT_UNAVAILABLE' });
});

test('a server elsewhere needs no control port, unless an external engine drives the load', async () => {
  const signal = new AbortController().signal;
  const config = hookConfig({}, { target: 'https://staging.example.com' });
  assert.equal((await openTarget(config, 10, () => {}, signal)).control, undefined);
  const external = { ...config, engine: 'socketio-v3' };
  await assert.rejects(
    openTarget(external, 10, () => {}, signal),
    { code: 'CONTROL_MISSING' },
  );
});
