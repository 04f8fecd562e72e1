/**
 * Tests real exporters for nginx, Redis, HAProxy and this machine, if they are installed. They must have the metrics
 * that the run expects.
 */

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { checkMetricsPages } from '../../../plugin/doctor/target/check-sources.ts';
import { layersFor, PageTargets, Sampler } from '../../../plugin/samplers/index.ts';
import { findTool } from '../../../server/stack/tools.ts';
import { column } from '../../helpers/columns.ts';
import { eventually } from '../../helpers/poll.ts';
import { startProcess } from '../../helpers/process.ts';
import { lacks, startNginx } from '../../helpers/proxies.ts';
import { readAll } from '../../helpers/readings.ts';
import { freePort, startRedis } from '../../helpers/redis.ts';

/** Debian prefixes their names with `prometheus-`. */
function exporter(name: string): string | undefined {
  return findTool(name) ?? findTool(`prometheus-${name.replace('_', '-').replace('-prometheus', '')}`);
}

function absent(name: string): string | false {
  return exporter(name) ? false : `${name} is not installed`;
}

/** @returns the URL of the exporter's metrics */
async function start(t: TestContext, name: string, options: (address: string) => string[]): Promise<string> {
  const address = `127.0.0.1:${await freePort()}`;
  startProcess(t, exporter(name) as string, options(address));
  const url = `http://${address}/metrics`;
  await eventually('it answers', () =>
    fetch(url).then(
      ({ ok }) => ok,
      () => false,
    ),
  );
  return url;
}

async function read(layer: string, prometheus: { url: string; labels: Record<string, string> }[]) {
  const sampler = new Sampler({
    prometheus: { [layer]: await PageTargets.open(prometheus) },
    layers: layersFor({ [layer]: { prometheus } }),
    pids: () => ({}),
    connections: () => 0,
    notShared: 'elsewhere',
  });
  return { ...(await readAll(sampler)), cpu: await sampler.cpu() };
}

const memory = (url: string, labels = {}) => ({ url, labels });
const PROCESS_EXPORTER = 'process-exporter';

test('reads memory and CPU of nginx from process-exporter, and the memory of its host from node_exporter', {
  skip: lacks('nginx') || absent(PROCESS_EXPORTER) || absent('node_exporter'),
}, async (t) => {
  await startNginx(t, 1, '');
  const groups = await start(t, PROCESS_EXPORTER, (address) => [
    '-procnames',
    'nginx',
    '-threads=false',
    '-web.listen-address',
    address,
  ]);
  const host = await start(t, 'node_exporter', (address) => [`--web.listen-address=${address}`]);
  const pages = [memory(groups, { groupname: 'nginx' }), memory(host)];
  const { bytes, cpu, absent } = await read('nginx', pages);
  assert.ok((bytes.nginxPss ?? 0) > 100_000, JSON.stringify(absent));
  assert.ok((bytes.nginxRss ?? 0) >= (bytes.nginxPss ?? 0));
  assert.ok((bytes.nginxHostUsed ?? 0) > 1e8 && (bytes.nginxHostTcp ?? -1) >= 0);
  assert.equal(typeof cpu.nginx, 'number');
  const checks = await checkMetricsPages({ workerSources: undefined, layers: { nginx: { prometheus: pages } } });
  assert.deepEqual(column(checks, 'status'), ['ok', 'ok']);
});

test('reads memory and CPU of Redis from redis_exporter', {
  skip: findTool('redis-server') ? absent('redis_exporter') : 'redis-server is not installed',
}, async (t) => {
  const redis = await startRedis(t);
  const url = await start(t, 'redis_exporter', (address) => [
    `-web.listen-address=${address}`,
    `-redis.addr=127.0.0.1:${redis.port}`,
  ]);
  const { bytes, cpu, absent } = await read('redis', [memory(url)]);
  assert.ok((bytes.redisRss ?? 0) > 1e6, JSON.stringify(absent));
  assert.equal(typeof cpu.redis, 'number');
  const pages = await PageTargets.open([memory(url)]);
  assert.equal((await pages.read()).identity, (await pages.read()).identity);
});

test("refuses nginx's own exporter, since it has no metrics of memory", {
  skip: lacks('nginx') || absent('nginx-prometheus-exporter'),
}, async (t) => {
  const nginx = await startNginx(t, 1, '} location /status { stub_status;');
  const url = await start(t, 'nginx-prometheus-exporter', (address) => [
    `-web.listen-address=${address}`,
    `-nginx.scrape-uri=http://127.0.0.1:${nginx.port}/status`,
  ]);
  await assert.rejects(PageTargets.open([memory(url)]), { code: 'METRICS_MISSING' });
});
