import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GeneratorHosts } from '../../../plugin/conduct/hosts/generator-hosts.ts';
import type { HostEntry } from '../../../plugin/conduct/hosts/hub.ts';

const BEGAN_US = 5_000_000;
const HELLO = {
  ...{ host: 'a', instance: 'i', kernel: 'k', version: '1', hosts: 1 },
  ...{ inputs: {}, arrivals: [4, 0, 6], cores: 2 },
};
const HOST: HostEntry = { name: 'a', hello: HELLO, beganAtUs: undefined, lost: undefined, clock: undefined };

function row(seconds: number, cpuIdlePercent: number) {
  const layer = { rssBytes: 1000 * seconds, cpuPercent: 5 };
  return {
    ...{ atUs: BEGAN_US + seconds * 1e6, cpuIdlePercent, memoryUsedBytes: null, fleet: layer, artillery: layer },
    ...{ clock: { offsetUs: 0, boundUs: 0 }, skippedUsers: 0 },
  };
}

test('each row counts in the window that it is of, also if it comes late; of several ramps, the least counts', () => {
  const stages = [
    { name: 'ramp', t: 1 },
    { name: 'plateau', t: 3 },
    { name: 'ramp', t: 5 },
    { name: 'hold', t: 7 },
  ];
  const generators = new GeneratorHosts(() => [HOST]);
  generators.add('a', row(0.5, 1), { stages: [], beganAtUs: undefined });
  generators.add('a', row(1.5, 80), { stages: stages.slice(0, 1), beganAtUs: BEGAN_US });
  const timeline = { stages: [...stages, { name: 'broadcasts', t: 20 }], beganAtUs: BEGAN_US };
  for (const late of [row(2.5, 60), row(4, 2), row(6, 50), row(8, 90), row(21, 30)])
    generators.add('a', late, timeline);
  const [measured] = generators.measured();
  assert.deepEqual(measured?.cpuIdlePercent, { ramp: 50, messages: 90, broadcasts: 30 });
  assert.deepEqual(measured?.peakBytes, { fleet: 21_000, artillery: 21_000, used: null });
  assert.equal(measured?.arrivals, 10);
});
