/** A server's own metrics: of a real prom-client, and of pages that others write. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import { collectDefaultMetrics, Registry } from 'prom-client';
import { PrometheusReader, Sampler } from '../../../plugin/samplers/index.ts';
import { freePorts } from '../../../server/stack/ports.ts';

type Page = () => string | Promise<string> | number;

async function serve(t: TestContext, page: Page): Promise<string> {
  const http = createServer(async (_request, response) => {
    const answer = await page();
    if (typeof answer === 'number') response.writeHead(answer).end();
    else response.end(answer);
  });
  t.after(() => http.close());
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  return `http://127.0.0.1:${(http.address() as AddressInfo).port}/metrics`;
}

describe("a server's metrics", () => {
  it('of prom-client are RSS, heap, external memory and CPU, with their source', async (t) => {
    const register = new Registry();
    collectDefaultMetrics({ register });
    const url = await serve(t, () => register.metrics());
    const prometheus = await PrometheusReader.open({ url, labels: {} });
    const sampler = new Sampler({ prometheus, pids: () => ({}), connections: () => 0, intervalMs: 20 });
    const bytes = await sampler.reading();
    const { rss, heapUsed } = process.memoryUsage();
    assert.ok(Math.abs((bytes.workerRss ?? 0) - rss) < 0.5 * rss, String(bytes.workerRss));
    assert.ok(Math.abs((bytes.workerHeapUsed ?? 0) - heapUsed) < 0.9 * heapUsed, String(bytes.workerHeapUsed));
    assert.ok((bytes.workerExternal ?? 0) > 0);
    assert.equal(sampler.origins().workerRss, 'Prometheus metric process_resident_memory_bytes');
    assert.match(sampler.absent().workerWorkingSet ?? '', /no container_memory_working_set_bytes/);
    const { user, system } = process.cpuUsage();
    assert.ok(Math.abs(((await sampler.cpu()).worker ?? 0) - user - system) < 1e6);
  });

  it('are the sum of the samples with the labels, and those of containers without their total', async (t) => {
    const url = await serve(t, () =>
      [
        'container_memory_working_set_bytes{pod="chat-1",container=""} 350',
        'container_memory_working_set_bytes{pod="chat-1",container="app"} 100',
        'container_memory_working_set_bytes{pod="chat-1",container="proxy"} 200',
        'container_memory_working_set_bytes{pod="other",container="app"} 7000',
        'container_cpu_usage_seconds_total{pod="chat-1",container="app"} 1.5e1',
      ].join('\n'),
    );
    const reader = await PrometheusReader.open({ url, labels: { pod: 'chat-1' } });
    const { figures } = await reader.read();
    assert.deepEqual(figures, { workingSetBytes: 300, containerCpuSeconds: 15 });
  });

  it('show a process that has started anew', async (t) => {
    let startedAt = 1000;
    const url = await serve(t, () => `process_resident_memory_bytes 5\nprocess_start_time_seconds ${startedAt}\n`);
    const reader = await PrometheusReader.open({ url, labels: {} });
    const { identity } = await reader.read();
    assert.equal((await reader.read()).identity, identity);
    startedAt = 2000;
    assert.notEqual((await reader.read()).identity, identity);
  });

  it('that are old, no numbers, or gone are absent with the reason, and counted', async (t) => {
    let page: ReturnType<Page> = 'process_resident_memory_bytes 5\n';
    const url = await serve(t, () => page);
    const prometheus = await PrometheusReader.open({ url, labels: {} });
    const sampler = new Sampler({ prometheus, pids: () => ({}), connections: () => 0 });
    const why = async (next: ReturnType<Page>) => {
      page = next;
      await sampler.reading();
      return sampler.absent().workerRss ?? '';
    };
    assert.match(await why(`process_resident_memory_bytes 5 ${Date.now() - 90_000}\n`), /they are 90 s old/);
    assert.match(await why('process_resident_memory_bytes NaN\n'), /process_resident_memory_bytes is no number/);
    assert.match(await why(503), /HTTP 503/);
    assert.equal(sampler.health().failures.prometheus, 3);
    assert.equal(await why('process_resident_memory_bytes 5\n'), '');
  });

  it('are refused before the load where nothing answers, or no memory is among them, with what is', async (t) => {
    const open = (url: string, labels = {}) => PrometheusReader.open({ url, labels });
    const [port] = await freePorts(1);
    await assert.rejects(open(`http://127.0.0.1:${port}/metrics`), {
      code: 'METRICS_UNREACHABLE',
      message: /ECONNREFUSED/,
    });
    await assert.rejects(open(await serve(t, () => 404)), { code: 'METRICS_UNREACHABLE', message: /HTTP 404/ });
    const other = await serve(t, () => 'jvm_threads 5\njvm_classes 6\n');
    await assert.rejects(open(other), { code: 'METRICS_MISSING', message: /it has jvm_threads, jvm_classes/ });
    const labelled = await serve(t, () => 'process_resident_memory_bytes{app="shop"} 5\n');
    await assert.rejects(open(labelled, { app: 'chat' }), {
      code: 'METRICS_MISSING',
      message: /with the labels app="chat"; it has process_resident_memory_bytes\{"app":"shop"\}/,
    });
  });
});
