import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { connectionFigures } from '../../../plugin/result/connections/connections.ts';
import { batchRows, deliveryFigures } from '../../../plugin/result/delivery/delivery.ts';
import { latencyFigures } from '../../../plugin/result/delivery/latency.ts';
import { machineFigures } from '../../../plugin/result/machine.ts';
import { memoryFigures } from '../../../plugin/result/memory/memory.ts';
import type { SampleRow } from '../../../plugin/samplers/index.ts';
import { LAYERS } from '../../../plugin/samplers/layers/index.ts';
import { column } from '../../helpers/columns.ts';
import { frozenBroadcast, hookConfig, measurements, sent, snapshot } from '../../helpers/measurements.ts';

describe('connections', () => {
  it('add up over engines', () => {
    const figures = connectionFigures(
      measurements({
        snapshots: [
          snapshot({ failures: { ECONNREFUSED: 2 }, retries: 1, perWorker: { w0: 3 } }),
          snapshot({
            failures: { ECONNREFUSED: 1, http_502: 4 },
            disconnects: { ping: 2 },
            perWorker: { w0: 1, w1: 4 },
          }),
        ],
      }),
    );
    assert.deepEqual(figures.failures, { ECONNREFUSED: 3, http_502: 4 });
    assert.equal(figures.failed, 7);
    assert.deepEqual(figures.perWorker, { w0: 4, w1: 4 });
    assert.deepEqual(figures.disconnects, { ping: 2 });
    assert.equal(figures.connectMs, null, 'nothing measured is not zero');
  });
});

describe('delivery', () => {
  const measured = measurements({
    sent: [sent(2, 6), sent(1, 6)],
    frozen: [
      frozenBroadcast(1, [1000, 2000, 3000]),
      frozenBroadcast(1, [500, 9000]),
      frozenBroadcast(2, [1000, 2000], { expected: 3, lostConnected: 1, duplicates: 2 }),
      frozenBroadcast(2, [4000], { expected: 2, lostDisconnected: 1, unexpected: 1 }),
    ],
  });

  it('cross-foots over several fleet processes', () => {
    const batches = batchRows(measured);
    assert.deepEqual(column(batches, 'seq'), [1, 2]);
    for (const batch of batches) {
      assert.equal(batch.expected, batch.received + batch.lostConnected + batch.lostDisconnected);
      assert.equal(batch.serverMembers, 5, 'without the probe');
    }
    const total = deliveryFigures(measured, batches, hookConfig());
    const { expected, received, lostConnected, lostDisconnected, duplicates, unexpected, coverage } = total;
    assert.deepEqual(
      { expected, received, lostConnected, lostDisconnected, duplicates, unexpected, coverage },
      { expected: 10, received: 8, lostConnected: 1, lostDisconnected: 1, duplicates: 2, unexpected: 1, coverage: 0.8 },
    );
  });

  it('takes the first and the last receiver of all processes', () => {
    const [batch] = batchRows(measured);
    assert.equal(batch?.firstMs, 0.5);
    assert.equal(batch?.lastMs, 9);
    assert.equal(batch?.sendDelayMs, 0.005);
    const { completionMs, oneWayMs } = latencyFigures(measured);
    assert.equal(completionMs?.count, 2);
    assert.equal(oneWayMs?.count, 8);
  });

  it('of a broadcast that nobody got has no times', () => {
    const lost = measurements({
      sent: [sent(1, 3)],
      frozen: [frozenBroadcast(1, [], { expected: 2, lostConnected: 2, firstUs: 0, lastUs: 0 })],
    });
    const batches = batchRows(lost);
    assert.equal(batches[0]?.firstMs, null);
    assert.equal(deliveryFigures(lost, batches, hookConfig()).coverage, 0);
  });

  it('of nothing has no coverage', () => {
    assert.equal(deliveryFigures(measurements(), [], hookConfig()).coverage, null);
  });
});

describe('sentinel', () => {
  // Broadcast 1 by its own worker: the others' p99 is 3 ms after it. 2 by another one. 3 by its own: it is behind all.
  const measured = measurements({
    sent: [sent(1, 4), { ...sent(2, 4), worker: 'w1' }, sent(3, 4)],
    frozen: [
      frozenBroadcast(1, [2000, 8000]),
      frozenBroadcast(2, [], { expected: 2 }),
      frozenBroadcast(3, [1000, 2000]),
    ],
    sentinel: {
      worker: 'w0',
      joinedAtUs: 1,
      leftAtUs: undefined,
      receivedAtUs: new Map([1, 2, 3].map((seq) => [seq, seq * 1000 + 5000])),
    },
  });

  it('is one receiver, and the others are compared where its worker published', () => {
    const { sentinelMs, behindSentinelMs } = latencyFigures(measured);
    assert.equal(sentinelMs?.count, 3);
    assert.equal(Math.round(sentinelMs.p50), 5);
    assert.equal(behindSentinelMs?.count, 2);
    assert.equal(behindSentinelMs.min, 0);
    assert.equal(Math.round(behindSentinelMs.max), 3);
  });

  it("is taken off the server's count while it is a member", () => {
    const members = (changes: object) =>
      batchRows({ ...measured, sentinel: { ...measured.sentinel, ...changes } as typeof measured.sentinel }).map(
        ({ serverMembers }) => serverMembers,
      );
    assert.deepEqual(members({}), [2, 2, 2], 'of 4, without the probe');
    assert.deepEqual(members({ leftAtUs: 2500 }), [2, 2, 3]);
    assert.deepEqual(members({ joinedAtUs: 1500 }), [3, 2, 2]);
  });

  it('is nothing where there was none', () => {
    const { sentinelMs, behindSentinelMs } = latencyFigures(
      measurements({ sent: [sent(1, 2)], frozen: [frozenBroadcast(1, [1000])] }),
    );
    assert.deepEqual([sentinelMs, behindSentinelMs], [null, null]);
  });
});

describe('machine', () => {
  it("knows what was idle of all its cores, and what it swapped since the sampler's start", () => {
    const cpu = {
      unloaded: [],
      ramps: [{ seconds: 4, secondsAtMost: 4, cpuUs: { system: 6_000_000 }, units: 0 }],
      idle: [],
      messages: [],
      broadcasts: [{ seconds: 1, secondsAtMost: 1, cpuUs: {}, units: 0 }],
    };
    assert.deepEqual(machineFigures(measurements({ cpu }), { swapped: () => ({ inBytes: 0, outBytes: 4096 }) }, 2), {
      cpuIdlePercent: { ramp: 25, messages: null, broadcasts: null },
      throttled: null,
      others: null,
      swappedInBytes: 0,
      swappedOutBytes: 4096,
    });
    assert.equal(machineFigures(measurements(), { swapped: () => undefined }, 2).swappedInBytes, null);
  });
});

describe('memory', () => {
  const plateaus = [0, 100, 200].map((connections) => ({
    connections,
    layers: { workerRss: 1e6 + connections * 5000, ...(connections > 0 && { late: 1 }) },
  }));

  const sampled = (...rows: Record<string, Record<string, number>>[]) => ({
    layers: LAYERS,
    samples: rows.map((row, t) => ({ t, connections: 200, ...row }) as SampleRow),
  });

  it('is a line through the plateaus of layers that all of them have', () => {
    const figures = memoryFigures(
      measurements({ plateaus, peakConnections: 200, afterDisconnect: { workerRss: 1.1e6, other: 1 } }),
      sampled({ worker: { rssBytes: 3e6 } }),
    );
    assert.deepEqual(Object.keys(figures.perConnectionBytes), ['workerRss']);
    const { slope, r2, naive } = figures.perConnectionBytes.workerRss ?? {};
    assert.ok(Math.abs((slope ?? 0) - 5000) < 1e-6);
    assert.equal(r2, 1);
    assert.equal(figures.peakBytes.workerRss, 3e6, 'the time series knows the peaks between plateaus');
    assert.equal(naive, (3e6 - 1e6) / 200);
    assert.deepEqual(figures.residualBytes, { workerRss: 1e5 });
  });

  it("takes no peak from a machine that is not the workers'", () => {
    const samples = sampled({ system: { usedBytes: 9e9 }, redisServer: { usedMemoryBytes: 5e6 } });
    assert.equal(memoryFigures(measurements({ plateaus, sharedHost: true }), samples).peakBytes.systemUsed, 9e9);
    const { peakBytes } = memoryFigures(measurements({ plateaus, sharedHost: false }), samples);
    assert.equal(peakBytes.systemUsed, undefined);
    assert.equal(peakBytes.redisUsedMemory, 5e6, 'Redis reports it itself, wherever it runs');
  });

  it('of a baseline alone has no slope', () => {
    assert.deepEqual(memoryFigures(measurements({ plateaus: plateaus.slice(0, 1) }), sampled()).perConnectionBytes, {});
  });
});
