/** A layer that is nothing but an entry of the table is in everything that measures and shows layers. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { after, before, describe, it } from 'node:test';
import { addMetrics } from '../../../plugin/hook/metrics.ts';
import { latestLayers } from '../../../plugin/live/figures.ts';
import { cpuFigures } from '../../../plugin/result/cpu.ts';
import { memoryFigures } from '../../../plugin/result/memory.ts';
import { LAYERS } from '../../../plugin/samplers/layers/index.ts';
import { processLayer } from '../../../plugin/samplers/layers/processes.ts';
import { Sampler } from '../../../plugin/samplers/sampler.ts';
import type { Slope } from '../../../protocol/result/memory.ts';
import { type Result, resultSchema } from '../../../protocol/result/result.ts';
import { renderConsole } from '../../../report/console/console.ts';
import { renderSamplesCsv } from '../../../report/csv.ts';
import { renderHtml } from '../../../report/html/report.ts';
import { renderMarkdown } from '../../../report/markdown/markdown.ts';
import { measurements } from '../../helpers/measurements.ts';
import { eventually } from '../../helpers/poll.ts';
import { perfectResult } from '../../helpers/results.ts';

const METRIC = 'memory.haproxy.bytes_per_connection';
const haproxy = processLayer({
  id: 'haproxy',
  title: 'HAProxy',
  belongsTo: 'deployment',
  pss: { main: true, metric: METRIC },
});
const layers = [...LAYERS, haproxy];
const linux = { skip: process.platform !== 'linux' && 'there is no PSS' };

describe('a layer that was added to the table', linux, () => {
  let child: ChildProcess;
  let sampler: Sampler;
  let reading: Record<string, number>;
  let result: Result;

  before(async () => {
    child = spawn(process.execPath, ['-e', 'console.log("up"); process.stdin.resume()'], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    await once(child.stdout as NodeJS.ReadableStream, 'data');
    const pids = { haproxy: [child.pid as number], worker: [process.pid] };
    sampler = new Sampler({ layers, pids: () => pids, connections: () => 0, intervalMs: 20 });
    sampler.start();
    await eventually('two rows', () => sampler.samples.length >= 2);
    const plateaus = [];
    for (const connections of [0, 100, 200]) {
      reading = await sampler.reading();
      plateaus.push({ connections, layers: reading });
    }
    const window = { seconds: 1, cpuUs: await sampler.cpu(), units: 100 };
    await sampler.close();
    const measured = measurements({
      plateaus,
      peakConnections: 200,
      cpu: { ramps: [window], idle: [], messages: [], broadcast: window },
    });
    result = resultSchema.parse({
      ...perfectResult(),
      memory: memoryFigures(measured, sampler),
      cpu: cpuFigures(measured, layers),
      samples: sampler.samples,
    });
  });
  after(async () => {
    await sampler?.close();
    child?.kill();
  });

  it('is read and sampled', () => {
    assert.ok((reading.haproxyPss ?? 0) > 1e6 && (reading.haproxyRss ?? 0) >= (reading.haproxyPss ?? 0));
    const [first, second] = sampler.samples;
    assert.ok((first?.haproxy?.pssBytes ?? 0) > 1e6);
    assert.ok((second?.haproxy?.rssBytes ?? 0) > 1e6);
    assert.equal(typeof second?.haproxy?.cpuPercent, 'number');
    assert.equal(latestLayers(sampler).haproxy?.title, 'HAProxy');
    assert.ok((latestLayers(sampler).haproxy?.pssBytes ?? 0) > 1e6);
  });

  it('is described and has its figures in the result document', () => {
    const { memory, cpu } = result;
    assert.deepEqual(
      memory.layers.filter(({ id }) => id.startsWith('haproxy')),
      [
        { id: 'haproxy', title: 'HAProxy', unit: 'cpuSeconds', belongsTo: 'deployment', inSum: false, main: false },
        { id: 'haproxyPss', title: 'HAProxy PSS', unit: 'bytes', belongsTo: 'deployment', inSum: true, main: true },
        { id: 'haproxyRss', title: 'HAProxy RSS', unit: 'bytes', belongsTo: 'deployment', inSum: false, main: false },
      ],
    );
    assert.equal(typeof memory.perConnectionBytes.haproxyPss?.slope, 'number');
    assert.ok((memory.peakBytes.haproxyRss ?? 0) > 1e6);
    assert.ok((cpu.haproxy?.rampSecondsPerThousandConnects ?? 0) > 0);
  });

  it('is a part of the sum', () => {
    const { sum, perConnectionBytes } = result.memory;
    assert.ok(sum);
    assert.ok(sum.parts.includes('haproxyPss'));
    const slopes = sum.parts.map((part) => perConnectionBytes[part]?.slope ?? Number.NaN);
    assert.equal(
      sum.partsPerConnectionBytes,
      slopes.reduce((total, slope) => total + slope, 0),
    );
  });

  it('is a metric', () => {
    const stats = { counters: {} as Record<string, number>, rates: {}, summaries: {} };
    const { doubt: _, ...slope } = result.memory.perConnectionBytes.haproxyPss as Slope;
    const perConnectionBytes = { ...result.memory.perConnectionBytes, haproxyPss: slope };
    addMetrics(stats, { ...result, memory: { ...result.memory, perConnectionBytes } }, layers);
    assert.ok(METRIC in stats.counters);
  });

  it('is in every report', () => {
    const terminal = renderConsole(result, { color: false, width: 200 });
    assert.match(terminal, /^ {2}Connections .*HAProxy PSS/m);
    assert.match(terminal, /^ {2}HAProxy PSS +-?\d/m);
    assert.match(terminal, /^ {2}HAProxy +\d/m);
    assert.match(terminal.replaceAll(/\s+/g, ' '), /Sum of [^:]*HAProxy PSS/);

    const page = renderHtml(result);
    assert.match(page, /aria-label="HAProxy PSS against connections"/);
    assert.match(page, /<th scope="row">HAProxy PSS<\/th>/);
    assert.match(page, /<th scope="row">HAProxy<\/th>/);
    assert.match(page, /<span class="swatch [^>]*><\/span>HAProxy<\/li>/);

    const markdown = renderMarkdown(result);
    assert.match(markdown, /^\| Connections \|.*\| HAProxy PSS \|/m);
    assert.match(markdown, /^\| HAProxy PSS \| -?\d/m);
    assert.match(markdown, /^\| HAProxy \| \d/m);

    const [head = ''] = renderSamplesCsv(result).split('\n');
    for (const column of ['haproxy.rssBytes', 'haproxy.pssBytes', 'haproxy.cpuPercent']) {
      assert.ok(head.split(',').includes(column), `${column} in ${head}`);
    }
  });
});
