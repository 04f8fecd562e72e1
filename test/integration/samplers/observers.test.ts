/** An observer beside a real nginx, and what a run reads from it. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { checkObservers } from '../../../plugin/doctor/target/observers.ts';
import { ObservedProcesses } from '../../../plugin/observer/observed-processes.ts';
import { openObserver } from '../../../plugin/observer/observer.ts';
import { layersFor, ObserverClients, Sampler } from '../../../plugin/samplers/index.ts';
import type { Observation } from '../../../protocol/observation.ts';
import { TOKEN } from '../../helpers/app.ts';
import { HOSTILE_REQUESTS, sendRequests } from '../../helpers/hostile.ts';
import { lacks, startNginx } from '../../helpers/proxies.ts';

const skip = process.platform === 'linux' ? lacks('nginx') : 'reads /proc';
const pem = (name: string) => readFileSync(new URL(`../../fixtures/tls/${name}.pem`, import.meta.url), 'utf8');
const CLI = fileURLToPath(new URL('../../../plugin/hook/cli.js', import.meta.url));

async function observe(t: TestContext, pid: number, tls?: { key: string; cert: string }) {
  const observer = await openObserver(new ObservedProcesses('nginx', pid), {
    token: TOKEN,
    port: 0,
    host: '127.0.0.1',
    tls,
  });
  t.after(() => observer.close());
  return { url: `${tls ? 'https' : 'http'}://localhost:${observer.port}`, close: observer.close };
}

const opened = async (t: TestContext, ...[queries, token, tls]: Parameters<typeof ObserverClients.open>) => {
  const clients = await ObserverClients.open(queries, token, tls);
  t.after(() => clients.close());
  return clients;
};

test('memory and CPU of nginx, of its host, and with their source; absent once the observer is gone', {
  skip,
}, async (t) => {
  const { pid } = await startNginx(t, 1, '');
  const { url, close } = await observe(t, pid, { key: pem('key'), cert: pem('cert') });
  const observers = await opened(t, [{ url, layer: 'nginx' }], TOKEN, { ca: pem('cert') });
  const sampler = new Sampler({
    observers,
    pids: () => ({}),
    connections: () => 0,
    notShared: 'elsewhere',
    layers: layersFor(observers.layers),
  });
  const bytes = await sampler.reading();
  assert.ok((bytes.nginxPss ?? 0) > 100_000, JSON.stringify(sampler.absent()));
  assert.ok((bytes.nginxRss ?? 0) >= (bytes.nginxPss ?? 0));
  assert.ok((bytes.nginxHostUsed ?? 0) > 1e8);
  const { nginxPss, nginxRss, nginxHostUsed } = sampler.origins();
  assert.deepEqual([nginxPss, nginxRss, nginxHostUsed], Array(3).fill('its observer'));
  assert.equal('haproxyPss' in sampler.absent(), false, 'no run without an observer has this layer');
  assert.equal(typeof (await sampler.cpu()).nginx, 'number');
  const identities = await observers.identities();
  assert.deepEqual(
    (await checkObservers({ each: [{ url, layer: 'nginx' }], token: TOKEN, tls: { ca: pem('cert') } })).map(
      ({ status }) => status,
    ),
    ['ok'],
  );
  assert.deepEqual(Object.keys(identities), [`nginx at ${new URL(url).host}`]);
  assert.match(Object.values(identities)[0] ?? '', new RegExp(`^${pid},\\d+$`));
  assert.deepEqual(observers.gone(), []);

  await close();
  assert.equal('nginxPss' in (await sampler.reading()), false);
  assert.match(sampler.absent().nginxPss ?? '', /^the observer at https:.* went away: ECONNREFUSED$/);
  assert.deepEqual(observers.gone(), [{ url, layer: 'nginx', reason: 'ECONNREFUSED' }]);
  assert.deepEqual(await observers.identities(), {});
});

test('two observers on one host: processes add up, the host counts once', { skip }, async (t) => {
  const { pid } = await startNginx(t, 1, '');
  const [first, second] = [await observe(t, pid), await observe(t, pid)];
  const one = await opened(t, [{ url: first.url, layer: 'nginx' }], TOKEN, {});
  const both = await opened(
    t,
    [first, second].map(({ url }) => ({ url, layer: 'nginx' as const })),
    TOKEN,
    {},
  );
  const [single, twice] = [await one.read('nginx', false), await both.read('nginx', false)];
  assert.equal(twice.rssBytes, 2 * single.rssBytes);
  assert.ok(twice.hostUsedBytes < 1.5 * single.hostUsedBytes);
  assert.equal(twice.pssBytes, undefined, 'nobody asked for it');
});

test('another token, another layer, something else, and nobody', { skip }, async (t) => {
  const { pid, port } = await startNginx(t, 1, '');
  const { url } = await observe(t, pid);
  const open = (query: { url: string; layer: 'nginx' | 'redis' }, token = TOKEN) =>
    ObserverClients.open([query], token, {});
  await assert.rejects(open({ url, layer: 'nginx' }, 'another-token-than-its'), { code: 'BAD_TOKEN' });
  await assert.rejects(open({ url, layer: 'redis' }), {
    code: 'OBSERVER_WRONG',
    message: /observes nginx, and not redis/,
  });
  await assert.rejects(open({ url: `http://127.0.0.1:${port}`, layer: 'nginx' }), { code: 'OBSERVER_WRONG' });
  await assert.rejects(open({ url: 'http://127.0.0.1:1', layer: 'nginx' }), {
    code: 'OBSERVER_UNREACHABLE',
    fix: /observe --layer nginx --host/,
  });
  assert.throws(() => new ObservedProcesses('nginx', 2 ** 22 + 1), { code: 'LAYER_NOT_FOUND' });
});

test('whatever is asked without the token, it is refused, and nothing is read', async (t) => {
  let reads = 0;
  const read = async () => ({ processes: ++reads }) as Observation;
  const observer = await openObserver({ read }, { token: TOKEN, port: 0, host: '127.0.0.1', tls: undefined });
  t.after(() => observer.close());
  const answers = await sendRequests(observer.port, HOSTILE_REQUESTS);
  assert.deepEqual(
    answers.filter((line) => !/^(HTTP\/1\.1 (100|40[01]|431) .*)?$/.test(line)),
    [],
  );
  assert.equal(reads, 0);
  const get = async (path: string) => {
    const { status } = await fetch(`http://127.0.0.1:${observer.port}${path}`, {
      headers: { authorization: `Bearer ${TOKEN}` },
    });
    return status;
  };
  assert.deepEqual([await get('//'), await get('/observation?pss=%'), reads], [404, 200, 1]);
});

test('the command says where it listens, and ends on SIGTERM', { skip }, async (t) => {
  const { pid } = await startNginx(t, 1, '');
  const child = spawn(process.execPath, [CLI, 'observe', '--layer', 'nginx', '--pid', `${pid}`, '--port', '0'], {
    env: { ...process.env, CAPACITY_TOKEN: TOKEN },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.after(() => child.kill('SIGKILL'));
  const exited = once(child, 'exit');
  const [line] = await once(createInterface({ input: child.stdout }), 'line');
  const url = /at (http:\S+);/.exec(String(line))?.[1] ?? '';
  const clients = await opened(t, [{ url, layer: 'nginx' }], TOKEN, {});
  assert.ok((await clients.read('nginx', true)).rssBytes > 0);
  child.kill('SIGTERM');
  assert.deepEqual(await exited, [0, null]);
});
