/** Tests a layer that is only an entry in the table. It must appear wherever layers are measured or shown. */

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { latestLayerSamples } from '../../../plugin/live/live-figures.ts';
import { addMetrics } from '../../../plugin/result/artillery-metrics.ts';
import { cpuFigures } from '../../../plugin/result/cpu/assemble-cpu.ts';
import { memoryFigures } from '../../../plugin/result/memory/assemble-memory.ts';
import { defineProcessLayer, LAYERS } from '../../../plugin/samplers/layers/index.ts';
import { Sampler } from '../../../plugin/samplers/sampler.ts';
import type { MemorySlope } from '../../../protocol/result/memory-schema.ts';
import { type Result, resultSchema } from '../../../protocol/result/result.ts';
import { renderSamplesCsv } from '../../../report/render/csv.ts';
import { assertEach } from '../../helpers/columns.ts';
import { measurements } from '../../helpers/measurements.ts';
import { eventually } from '../../helpers/poll.ts';
import { startProcess } from '../../helpers/process.ts';
import { readAll } from '../../helpers/readings.ts';
import { fullText, reportHtml } from '../../helpers/report-text.ts';
import { perfectResult } from '../../helpers/results.ts';

const METRIC = 'memory.envoy.bytes_per_connection';
const envoy = defineProcessLayer({
  id: 'envoy',
  title: 'Envoy',
  belongsTo: 'deployment',
  pss: { main: true, metric: 'envoy' },
});
const layers = [...LAYERS, envoy];
const linux = { skip: process.platform !== 'linux' && 'there is no PSS' };

describe('a layer that was added to the table', linux, () => {
  const child = startProcess({ after }, process.execPath, ['-e', 'console.log("up"); setInterval(() => {}, 1e6)']);
  let sampler: Sampler;
  let reading: Record<string, number>;
  let result: Result;

  before(async () => {
    await child.said(/up/);
    const pids = { envoy: [child.pid], worker: [process.pid] };
    sampler = new Sampler({ layers, pids: () => pids, connections: () => 0, intervalMs: 20 });
    sampler.start();
    await eventually('two rows', () => sampler.samples.length >= 2);
    const plateaus = [];
    for (const connections of [0, 100, 200]) {
      reading = (await readAll(sampler)).bytes;
      plateaus.push({ connections, layers: reading });
    }
    const window = { seconds: 1, secondsAtMost: 1, cpuUs: await sampler.cpu(), units: 100, held: 50 };
    await sampler.close();
    const measured = measurements({
      plateaus,
      peakConnections: 200,
      cpu: {
        unloaded: [],
        ramps: [{ ...window, parts: [window], failedAttempts: 0 }],
        idle: [],
        messages: [],
        broadcasts: [window],
      },
    });
    result = resultSchema.parse({
      ...perfectResult(),
      memory: memoryFigures(measured, sampler),
      cpu: cpuFigures(measured, layers),
      samples: sampler.samples,
    });
  });

  it('a layer that was added to the table of layers is read and sampled', () => {
    assert.ok((reading.envoyPss ?? 0) > 1e6 && (reading.envoyRss ?? 0) >= (reading.envoyPss ?? 0));
    const second = sampler.samples[1]?.envoy;
    assert.ok((second?.rssBytes ?? 0) > 1e6 && typeof second?.cpuPercent === 'number', JSON.stringify(second));
    assert.partialDeepStrictEqual(latestLayerSamples(sampler).envoy, { title: 'Envoy' });
  });

  it('a layer that was added to the table of layers has its figures in the result document', () => {
    const { memory, cpu } = result;
    const envoyLayers = memory.layers.filter(({ id }) => id.startsWith('envoy'));
    assertEach(envoyLayers, ({ id, title, inSum }) => [id, title, inSum], [
      ['envoy', 'Envoy', false],
      ['envoyPss', 'Envoy PSS', true],
      ['envoyRss', 'Envoy RSS', false],
    ]);
    assert.equal(typeof memory.perConnectionBytes.envoyPss?.slope, 'number');
    assert.ok((memory.peakBytes.envoyRss ?? 0) > 1e6);
    assert.ok((cpu.envoy?.rampSecondsPerThousandConnects ?? 0) > 0);
  });

  it('a layer that was added to the table of layers has an Artillery metric', () => {
    const stats = { counters: {} as Record<string, number>, rates: {}, summaries: {} };
    // Replaces the slope of an idle process, which is only noise.
    const { doubt: _, ...measured } = result.memory.perConnectionBytes.envoyPss as MemorySlope;
    const envoyPss = { ...measured, slope: 1000, low95: 990, high95: 1010 };
    const perConnectionBytes = { ...result.memory.perConnectionBytes, envoyPss };
    addMetrics(stats, { ...result, memory: { ...result.memory, perConnectionBytes } }, layers);
    assert.ok(METRIC in stats.counters);
  });

  it('a layer that was added to the table of layers is in every report', () => {
    for (const text of [fullText(result), reportHtml(result)]) assert.match(text, /Envoy PSS[\s\S]*Envoy/);
    const [head = ''] = renderSamplesCsv(result).split('\n');
    for (const column of ['envoy.rssBytes', 'envoy.pssBytes', 'envoy.cpuPercent']) {
      assert.ok(head.split(',').includes(column), `${column} in ${head}`);
    }
  });
});
