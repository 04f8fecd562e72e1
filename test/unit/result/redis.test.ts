import assert from 'node:assert/strict';
import { test } from 'node:test';
import { redisFigures } from '../../../plugin/result/assemble-redis.ts';
import { violationsOf } from '../../../plugin/result/invariants/invariants.ts';
import type { SampleRow } from '../../../plugin/samplers/index.ts';
import type { Result } from '../../../protocol/result/result.ts';
import { tableTextCells } from '../../../report/model/table-text.ts';
import { deliverySection } from '../../../report/sections/delivery-section.ts';
import { measurements, sent } from '../../helpers/measurements.ts';
import { perfectResult } from '../../helpers/results.ts';

const version = '7.0.15';
const seen = {
  ...{ inBytes: 5000, outBytes: 10_000, usedMemoryBeforeBytes: 1_048_576, usedMemoryBytes: 2_097_152 },
  ...{ rssBytes: 9_437_184, streamEntries: 60, channels: 4, shardChannels: 0 },
};
/** The 15,000 bytes that Redis counts, in 15 packets with 66 bytes of headers. */
const hosts = [
  { workers: ['w0'], inBytes: 5396, inPackets: 6, outBytes: 5198, outPackets: 3 },
  { workers: ['w1'], inBytes: 5396, inPackets: 6, outBytes: 0, outPackets: 0 },
];
const redis = { nodes: [{ node: 'a:1', version, ...seen }], cpuUs: 250, hosts };
const samples = [3, 700, 5].map(
  (outputBufferBytes, t) => ({ t, connections: 0, redisServer: { outputBufferBytes } }) as unknown as SampleRow,
);
const to = (...workers: (number | undefined)[]) =>
  workers.map((otherWorkers, index) => ({
    ...sent(index + 1, 10),
    ...(otherWorkers !== undefined && { otherWorkers }),
  }));
/** @returns the cells of the row with this name */
const rowOf = (redis: Result['redis'], name: string) =>
  deliverySection({ ...perfectResult(), redis })
    ?.blocks.flatMap((table) => (table.kind === 'table' && table.title === 'Redis' ? tableTextCells(table) : []))
    .find(([first]) => first === name);

test('Redis figures count bytes per copy, wire bytes per broadcast, and broadcasts without a member on another worker', () => {
  const measured = measurements({ redis, redisIdleCpuUsPerSec: 9, sent: to(1, 0, 0) });
  const figures = redisFigures(measured, 50, samples);
  assert.deepEqual(figures, {
    ...{ version, ...seen, nodes: null, busiestNodeShare: null, outputBufferPeakBytes: 700, localOnly: 2 },
    ...{ inBytesPerCopy: 100, outBytesPerCopy: 200, cpuMicrosecondsPerCopy: 5 },
    ...{ hosts, hostBytesPerBroadcast: 5330, hostPacketsPerBroadcast: 5 },
  });
  const shown = {
    Sent: '200 bytes',
    CPU: '5.0 µs',
    Memory: '2,048.0 KB',
    'Output waiting': '700 B',
    Wire: '5,330 bytes',
    'Without receivers': '2',
  };
  for (const [name, value] of Object.entries(shown)) assert.equal(rowOf(figures, name)?.[1], value);
});

test('Redis figures leave out what other traffic has changed: interfaces that carried more, or a Redis that counted more', () => {
  // Packets that were sent again may add a few percent.
  for (const [moreBytes, withHosts, withRedis] of [
    [0, true, true],
    [2000, true, true],
    [-4000, true, false],
    [20_000, false, true],
  ] as const) {
    const seenHosts = hosts.map((host, index) => ({ ...host, inBytes: host.inBytes + (index === 0 ? moreBytes : 0) }));
    const measured = measurements({ redis: { ...redis, hosts: seenHosts }, sent: to(1) });
    const figures = redisFigures(measured, 50, samples);
    assert.deepEqual(figures?.hosts, withHosts ? seenHosts : null, `${moreBytes}`);
    assert.equal(figures?.outBytesPerCopy, withRedis ? 200 : null, `${moreBytes}`);
    assert.equal(violationsOf(measured).length, withHosts && withRedis ? 0 : 1);
  }
});

test('Redis figures are sums over the nodes of a cluster, with the share of each node', () => {
  const quiet = { ...seen, inBytes: 0, outBytes: 0, streamEntries: null, shardChannels: 2 };
  const nodes = [
    { node: 'a:1', version, ...seen, shardChannels: 3 },
    { node: 'b:1', version, ...quiet },
  ];
  const figures = redisFigures(measurements({ redis: { nodes, cpuUs: 250 }, sent: to(1) }), 50, samples);
  const { busiestNodeShare, inBytes, outBytes, rssBytes, streamEntries, shardChannels } = figures ?? {};
  assert.deepEqual([figures?.version, busiestNodeShare, streamEntries, shardChannels], [version, 1, 60, 5]);
  assert.deepEqual([inBytes, outBytes, rssBytes], [5000, 10_000, 2 * seen.rssBytes]);
  const { usedMemoryBytes, channels } = seen;
  assert.deepEqual(figures?.nodes?.[1], {
    ...{ node: 'b:1', inBytes: 0, outBytes: 0, usedMemoryBytes, rssBytes: seen.rssBytes, channels, shardChannels: 2 },
  });
  assert.equal(rowOf(figures, 'Busiest node')?.[1], '100 %');
});

test('Redis figures are null if unknown', () => {
  assert.equal(redisFigures(measurements({ sent: to(1) }), 50, samples), null);
  for (const received of [0, undefined]) {
    const figures = redisFigures(measurements({ redis, sent: to(1, undefined) }), received, []);
    const { inBytesPerCopy, outBytesPerCopy, cpuMicrosecondsPerCopy, outputBufferPeakBytes, localOnly } = figures ?? {};
    const unknown = [inBytesPerCopy, outBytesPerCopy, cpuMicrosecondsPerCopy, outputBufferPeakBytes, localOnly];
    assert.deepEqual(unknown, [null, null, null, null, null]);
  }
  assert.equal(rowOf(null, 'Sent'), undefined);
});
