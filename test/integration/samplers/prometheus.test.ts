/** Tests metrics of a real prom-client, and pages in foreign formats. exporters.test.ts tests real exporters. */

import assert from 'node:assert/strict';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import { describe, it, type TestContext } from 'node:test';
import { Counter, collectDefaultMetrics, Registry } from 'prom-client';
import { beginEventCounts } from '../../../plugin/run/windows/message-window.ts';
import { layersFor, PageTargets, Sampler } from '../../../plugin/samplers/index.ts';
import type { SamplerSources } from '../../../plugin/samplers/sampler.ts';
import { metricsPagesOf, workerSourcesSchema } from '../../../plugin/script/options/worker-sources.ts';
import { assertEach } from '../../helpers/columns.ts';
import { measurements } from '../../helpers/measurements.ts';
import { urlOf } from '../../helpers/raw-listen.ts';
import { readAll } from '../../helpers/readings.ts';
import { freePort } from '../../helpers/redis.ts';

type Page = (headers: IncomingHttpHeaders) => string | Promise<string> | number;
type Labels = Record<string, string>;

async function serve(t: TestContext, page: Page): Promise<string> {
  const http = createServer(async ({ headers }, response) => {
    const answer = await page(headers);
    if (typeof answer === 'number') response.writeHead(answer).end();
    else response.end(answer);
  });
  return `${await urlOf(t, http)}/metrics`;
}

const open = (urls: string[], labels: Labels = {}) => PageTargets.open(urls.map((url) => ({ url, labels })));

/** Opens all pages as a single source. */
async function serveAll(t: TestContext, ...pages: Page[]): Promise<PageTargets> {
  return open(await Promise.all(pages.map((page) => serve(t, page))));
}

const samplerOf = (prometheus: SamplerSources['prometheus'], more: Partial<SamplerSources> = {}) =>
  new Sampler({ prometheus, pids: () => ({}), connections: () => 0, ...more });

describe("a server's metrics", () => {
  it('reads RSS, heap, external memory and CPU from a metrics page of prom-client, with their source', async (t) => {
    const register = new Registry();
    // prom-client counts CPU time from here.
    const start = process.cpuUsage();
    collectDefaultMetrics({ register });
    const sampler = samplerOf({ worker: await serveAll(t, () => register.metrics()) });
    const { bytes, sources, absent } = await readAll(sampler);
    const { rss, heapUsed } = process.memoryUsage();
    assert.ok(Math.abs((bytes.workerRss ?? 0) - rss) < 0.5 * rss, String(bytes.workerRss));
    assert.ok(Math.abs((bytes.workerHeapUsed ?? 0) - heapUsed) < 0.9 * heapUsed, String(bytes.workerHeapUsed));
    assert.ok((bytes.workerExternal ?? 0) > 0);
    assert.equal(sources.workerRss, 'metrics pages');
    assert.match(absent.workerWorkingSet ?? '', /not all metrics have container_memory_working_set_bytes/);
    const cpuUs = (await sampler.cpu()).worker ?? 0;
    const { user, system } = process.cpuUsage(start);
    assert.ok(Math.abs(cpuUs - user - system) < 2e5, `${cpuUs} for ${user + system}`);
  });

  it('sums the metric samples that have the given labels, without the totals of containers', async (t) => {
    const url = await serve(t, () =>
      [
        'container_memory_working_set_bytes{pod="chat-1",container=""} 350',
        'container_memory_working_set_bytes{pod="chat-1",container="app"} 100',
        'container_memory_working_set_bytes{pod="chat-1",container="proxy"} 200',
        'container_memory_working_set_bytes{pod="other",container="app"} 7000',
        'container_cpu_usage_seconds_total{pod="chat-1",container="app"} 1.5e1',
      ].join('\n'),
    );
    const { figures } = await (await open([url], { pod: 'chat-1' })).read();
    assert.deepEqual(figures, { workingSetBytes: 300, cpuSeconds: 15 });
  });

  it('finds a restarted process by its start time, its counters, or the run id of Redis', async (t) => {
    const rss = 'process_resident_memory_bytes 5\n';
    const cases = [
      ['process_start_time_seconds 1000', 'process_start_time_seconds 2000'],
      ['process_cpu_seconds_total 10', 'process_cpu_seconds_total 0.5'],
      [
        '# TYPE chat_messages_total counter\nchat_messages_total 900',
        '# TYPE chat_messages_total counter\nchat_messages_total 2',
      ],
      ['redis_instance_info{run_id="a"} 1', 'redis_instance_info{run_id="b"} 1'],
    ];
    for (const [before, after] of cases) {
      let line = before;
      const pages = await serveAll(
        t,
        () => rss,
        () => `${rss}${line}\n`,
      );
      const { identity } = await pages.read();
      assert.equal((await pages.read()).identity, identity);
      line = after;
      const { identity: another } = await pages.read();
      assert.notEqual(another, identity, before);
      assert.equal((await pages.read()).identity, another);
      assert.equal(pages.alternates, false);
    }
  });

  it('rejects metrics if several processes reply alternately, recognized by start times or CPU times', async (t) => {
    const starts = [1000, 2000];
    const [first, second] = [0.5, 3.5];
    for (const started of [true, false]) {
      let asked = 0;
      const reader = await serveAll(t, () => {
        const turn = asked++ % 2;
        const cpuSeconds = (turn ? first : second) + asked / 1000;
        const startedAt = started ? `process_start_time_seconds ${starts[turn]}\n` : '';
        return `process_resident_memory_bytes 5\nprocess_cpu_seconds_total ${cpuSeconds}\n${startedAt}`;
      });
      for (let reading = 0; reading < 6; reading++) await reader.readEach();
      assert.ok(reader.alternates, `with start time: ${started}`);
    }
  });

  it('an endless metrics page counts as failed, and does not delay the next readings', async (t) => {
    let asked = 0;
    const http = createServer((_request, response) => {
      response.write('process_resident_memory_bytes 5\n');
      if (++asked === 1) return response.end();
      const drip = setInterval(() => response.write('# x\n'), 100);
      response.once('close', () => clearInterval(drip));
    });
    const prometheus = await open([await urlOf(t, http)]);
    const beganMs = performance.now();
    const readings = await Promise.all(Array.from({ length: 6 }, () => prometheus.readEach()));
    assert.ok(readings.flat().every(({ absence }) => /no answer within 2 s/.test(absence?.detail ?? '')));
    assert.ok(performance.now() - beganMs < 10_000, 'two time-outs, not six');
    assert.equal(prometheus.failures, 6);
  });

  it('old, invalid or missing metrics are absent with the reason, and counted', async (t) => {
    let page: ReturnType<Page> = 'process_resident_memory_bytes 5\n';
    const sampler = samplerOf({ worker: await serveAll(t, () => page) });
    const absenceFor = async (next: ReturnType<Page>) => {
      page = next;
      return (await readAll(sampler)).absent.workerRss ?? '';
    };
    assert.match(await absenceFor(`process_resident_memory_bytes 5 ${Date.now() - 90_000}\n`), /they are 90 s old/);
    assert.match(await absenceFor('process_resident_memory_bytes NaN\n'), /process_resident_memory_bytes/);
    assert.match(await absenceFor(503), /HTTP 503/);
    assert.equal(sampler.health().failures.prometheus, 3);
    assert.equal(await absenceFor('process_resident_memory_bytes 5\n'), '');
  });

  it('reads metrics with the user info of their URL, which appears in no message', async (t) => {
    const url = await serve(t, ({ authorization }) =>
      authorization === `Basic ${btoa('ann:p@ss')}` ? 'process_resident_memory_bytes 5e7' : 401,
    );
    const withUser = (user: string) => url.replace('//', `//${user}@`);
    const { figures } = await (await open([withUser('ann:p%40ss')])).read();
    assert.equal(figures.rssBytes, 5e7);
    const refused = { code: 'SOURCE_UNREACHABLE', message: `no metrics from ${url}: HTTP 401`, fix: /valid user/ };
    await assert.rejects(open([withUser('ann:other')]), refused);
  });

  it('refuses the run before the load if no server serves metrics, or memory is missing among them', async (t) => {
    const closedPort = `http://127.0.0.1:${await freePort()}/metrics`;
    const notFound = await serve(t, () => 404);
    const other = await serve(t, () => 'jvm_threads 5\njvm_classes 6\n');
    const labelled = await serve(t, () => 'process_resident_memory_bytes{app="shop"} 5\n');
    for (const url of [closedPort, notFound]) await assert.rejects(open([url]), { code: 'SOURCE_UNREACHABLE' });
    await assert.rejects(open([other]), { code: 'METRICS_MISSING', message: /jvm_threads, jvm_classes/ });
    await assert.rejects(open([labelled], { app: 'chat' }), { code: 'METRICS_MISSING' });
    await assert.rejects(open([labelled, other]), { code: 'METRICS_MISSING' });
  });

  it('rejects a server’s metrics once they report impossible CPU time, and suggests the likely unit', async (t) => {
    let cpuMs = 0;
    let asked = 0;
    const pages = await serveAll(t, () => {
      cpuMs += asked++ % 2 === 0 ? 20_000 : 0;
      return `process_resident_memory_bytes 5\nprocess_cpu_seconds_total ${cpuMs}\n`;
    });
    for (let reading = 0; reading < 5; reading++) assert.ok((await pages.readEach())[0]?.reading);
    const [refused] = await pages.readEach();
    assert.match(refused?.absence?.detail ?? '', /CPU time .* milliseconds/);
    assert.deepEqual((await pages.readEach())[0]?.absence, refused?.absence);
  });
});

const EXPORTER = ['process_resident_memory_bytes 2.1e+07', 'process_cpu_seconds_total 12.5'];

describe('the page of an exporter', () => {
  const group = (name: string, pss: number) => [
    `namedprocess_namegroup_memory_bytes{groupname="${name}",memtype="proportionalResident"} ${pss}`,
    `namedprocess_namegroup_memory_bytes{groupname="${name}",memtype="resident"} 90`,
    `namedprocess_namegroup_memory_bytes{groupname="${name}",memtype="virtual"} 7000`,
    `namedprocess_namegroup_cpu_seconds_total{groupname="${name}",mode="user"} 1`,
    `namedprocess_namegroup_cpu_seconds_total{groupname="${name}",mode="system"} 0.5`,
  ];
  const pages = {
    'process-exporter': {
      lines: [...EXPORTER, 'process_exporter_build_info{version="0.7"} 1', ...group('nginx', 60), ...group('node', 70)],
      labels: { groupname: 'nginx' },
      figures: { pssBytes: 60, rssBytes: 90, cpuSeconds: 1.5 },
    },
    node_exporter: {
      lines: [
        ...EXPORTER,
        'node_exporter_build_info{version="1.5"} 1',
        'node_cpu_seconds_total{cpu="0",mode="idle"} 1.2e+06',
        'node_memory_MemTotal_bytes 1000',
        'node_memory_MemAvailable_bytes 300',
        'node_sockstat_TCP_mem_bytes 8192',
      ],
      figures: { hostUsedBytes: 700, hostTcpBytes: 8192 },
    },
    redis_exporter: {
      lines: [
        ...EXPORTER,
        'redis_exporter_build_info{version="1.45"} 1',
        'redis_memory_used_rss_bytes 500',
        'redis_cpu_sys_seconds_total 1',
        'redis_cpu_user_seconds_total 2',
        'redis_instance_info{role="master",run_id="a"} 1',
      ],
      figures: { rssBytes: 500, cpuSeconds: 3 },
    },
    HAProxy: {
      lines: ['haproxy_process_pool_used_bytes 42', 'haproxy_process_start_time_seconds 5'],
      figures: { poolBytes: 42 },
    },
  };
  for (const [name, page] of Object.entries(pages)) {
    it(`an exporter’s page gives the figures of the observed processes, not of the exporter: ${name}`, async (t) => {
      const url = await serve(t, () => page.lines.join('\n'));
      const pages = await open([url], 'labels' in page ? page.labels : {});
      assert.deepEqual((await pages.read()).figures, page.figures);
    });
  }

  it('sums the pages of several exporters of one kind, and keeps pages of other kinds separate', async (t) => {
    const all = [group('nginx', 60), group('nginx', 40), pages.node_exporter.lines];
    const nginx = await serveAll(t, ...all.map((lines) => () => lines.join('\n')));
    const sampler = samplerOf({ nginx }, { layers: layersFor({ nginx: { prometheus: [] } }) });
    const { nginxPss, nginxRss, nginxHostUsed, nginxHostTcp } = (await readAll(sampler)).bytes;
    assert.deepEqual([nginxPss, nginxRss, nginxHostUsed, nginxHostTcp], [100, 180, 700, 8192]);
    assert.equal((await sampler.cpu()).nginx, 3e6);
  });

  it('refuses an exporter’s metrics page before the load if it is ambiguous or has no usable figure', async (t) => {
    const refused: [lines: string[], message: RegExp][] = [
      [[...EXPORTER, 'nginxexporter_build_info 1', 'nginx_connections_active 5'], /has no memory .* it has/],
      [[...group('nginx', 60), ...group('node', 70)], /several groups of processes: nginx, node/],
      [
        [
          'process_resident_memory_bytes 5',
          'process_cpu_seconds_total 5e+6',
          `process_start_time_seconds ${Date.now() / 1000 - 60}`,
        ],
        /5000000 s of CPU time in 1[2-9]\d s/,
      ],
    ];
    for (const [lines, message] of refused) {
      await assert.rejects(
        serveAll(t, () => lines.join('\n')),
        { code: 'METRICS_MISSING', message },
      );
    }
  });
});

describe('metrics of several workers', () => {
  const pageOf = (rssBytes: number, more = '') => `process_resident_memory_bytes ${rssBytes}\n${more}`;

  it('sums the metrics of several workers if all have them', async (t) => {
    const heap = 'nodejs_heap_size_used_bytes 7\n';
    const prometheus = await serveAll(
      t,
      () => pageOf(100, heap),
      () => pageOf(20),
    );
    assert.deepEqual((await prometheus.read()).figures, { rssBytes: 120 });
    const sampler = samplerOf({ worker: prometheus });
    const { bytes, absent } = await readAll(sampler);
    assert.equal(bytes.workerRss, 120);
    assert.match(absent.workerHeapUsed ?? '', /not all metrics have nodejs_heap_size_used_bytes/);
  });

  it('reports no sum of metrics if one worker does not answer, and names that worker', async (t) => {
    let second: ReturnType<Page> = pageOf(20);
    const urls = [await serve(t, () => pageOf(100)), await serve(t, () => second)];
    const prometheus = await open(urls);
    const sampler = samplerOf({ worker: prometheus });
    second = 503;
    const { bytes, absent } = await readAll(sampler);
    assert.equal(bytes.workerRss, undefined);
    assert.equal(absent.workerRss, `${urls[1]} did not answer: HTTP 503`);
    assert.equal(sampler.health().failures.prometheus, 1);
    const each = await prometheus.readEach();
    assertEach(each, ({ reading, absence }) => [reading?.figures.rssBytes, absence?.detail], [
      [100, undefined],
      [undefined, 'HTTP 503'],
    ]);
  });
});

describe('a JSON page of the server', () => {
  const openJson = (paths: object, ...urls: string[]) => {
    const json = urls.map((url) => ({ url, ...paths }));
    return PageTargets.open(metricsPagesOf(workerSourcesSchema.parse({ json })));
  };
  const MEMORY = { rss: '$.memory.rss', heapUsed: '$.memory.heapUsed' };

  it('reads memory and CPU at the given paths of a JSON status page, with a token in a header', async (t) => {
    const url = await serve(t, ({ authorization }) => {
      const body = { pid: process.pid, memory: process.memoryUsage(), cpu: process.cpuUsage() };
      return authorization === 'Bearer secret' ? JSON.stringify(body) : 401;
    });
    const paths = { ...MEMORY, external: '$.memory.external', cpuMicroseconds: '$.cpu.*' };
    await assert.rejects(openJson(paths, url), { code: 'SOURCE_UNREACHABLE', message: /HTTP 401/ });
    const sampler = samplerOf({
      worker: await openJson({ ...paths, headers: { authorization: 'Bearer secret' } }, url),
    });
    const { bytes, sources } = await readAll(sampler);
    const { rss, heapUsed } = process.memoryUsage();
    assert.ok(Math.abs((bytes.workerRss ?? 0) - rss) < 0.5 * rss, String(bytes.workerRss));
    assert.ok(Math.abs((bytes.workerHeapUsed ?? 0) - heapUsed) < 0.9 * heapUsed, String(bytes.workerHeapUsed));
    assert.ok((bytes.workerExternal ?? 0) > 0);
    assert.equal(sources.workerRss, 'metrics pages');
    const { user, system } = process.cpuUsage();
    assert.ok(Math.abs(((await sampler.cpu()).worker ?? 0) - user - system) < 1e6);
  });

  it('reads the increase of a counter from a prom-client page and from a JSON status page', async (t) => {
    const register = new Registry();
    collectDefaultMetrics({ register });
    const sent = new Counter({ name: 'ticks_total', help: 'sent', labelNames: ['room'], registers: [register] });
    let cursors = 3;
    const jsonPage = () => JSON.stringify({ memory: process.memoryUsage(), sent: { cursors, name: 'x' } });
    const json = [{ url: await serve(t, jsonPage), ...MEMORY }];
    const prometheus = [{ url: await serve(t, () => register.metrics()) }];
    const worker = await PageTargets.open(metricsPagesOf(workerSourcesSchema.parse({ json, prometheus })));
    const counters = ['ticks_total', '$.sent.cursors', 'other_total', '$.sent.name'];
    const counts = counters.map((counter) => ({ event: counter, counter }));
    const found = measurements();
    sent.inc({ room: 'a' }, 2);
    const context = { config: { counts }, link: { events: async () => [] }, metrics: { worker }, measurements: found };
    const counted = await beginEventCounts(context as never);
    sent.inc({ room: 'a' }, 5);
    sent.inc({ room: 'b' }, 8);
    cursors = 10;
    await counted.end();
    const missing = { other_total: null, '$.sent.name': null };
    assert.deepEqual(found.eventCounts?.counters, { ticks_total: 13, '$.sent.cursors': 7, ...missing });
    cursors = 20;
    const restarted = await beginEventCounts(context as never);
    cursors = 1;
    await restarted.end();
    assert.deepEqual(found.eventCounts?.counters, { ticks_total: 0, '$.sent.cursors': null, ...missing });
  });

  it('adds up the processes that several JSON status pages list', async (t) => {
    const page = (...sizes: number[]) => serve(t, () => JSON.stringify({ workers: sizes.map((rss) => ({ rss })) }));
    const pages = await openJson({ rss: '$.workers.*.rss' }, await page(5e7, 6e7), await page(7e7));
    assert.deepEqual((await pages.read()).figures, { rssBytes: 18e7 });
  });

  it('refuses a JSON status page before the load if a path has no number in bytes', async (t) => {
    const refused: [content: string, message: RegExp][] = [
      ['<!doctype html>', /is not JSON: it begins with "<!doctype html>"/],
      ['{"mem":{"rss":5e7},"up":3}', /nothing at \$\.memory\.rss; its numbers are at \$\.mem\.rss, \$\.up/],
      ['{"memory":{"rss":"48 MB","heapUsed":5e6}}', /no number at \$\.memory\.rss, but string/],
      ['{"memory":{"rss":48.2,"heapUsed":5e6}}', /48\.2 at \$\.memory\.rss/],
      ['{"memory":{"rss":1e300,"heapUsed":5e6}}', /1e\+300 at/],
      ['null', /nothing at \$\.memory\.rss; its numbers are at no path/],
    ];
    for (const [content, message] of refused) {
      const url = await serve(t, () => content);
      await assert.rejects(openJson(MEMORY, url), { code: 'METRICS_MISSING', message });
    }
    const large = await serve(t, () => JSON.stringify({ memory: { rss: 5e7 }, log: 'x'.repeat(2 ** 21) }));
    await assert.rejects(openJson(MEMORY, large), { code: 'SOURCE_UNREACHABLE', message: /more than 1 MB/ });
  });

  it('detects restarts and alternating processes by the process id or uptime on a JSON status page', async (t) => {
    const processes = [{ pid: 1 }, { pid: 2 }];
    let [turn, alternates] = [0, false];
    const url = await serve(t, () =>
      JSON.stringify({ memory: { rss: 5e7, heapUsed: 5e6 }, ...processes[alternates ? turn++ % 2 : turn] }),
    );
    const pages = await openJson(MEMORY, url);
    const { identity } = await pages.read();
    turn = 1;
    assert.notEqual((await pages.read()).identity, identity);
    assert.equal(pages.alternates, false);
    alternates = true;
    for (let reading = 0; reading < 6; reading++) await pages.readEach();
    assert.ok(pages.alternates);
  });
});
