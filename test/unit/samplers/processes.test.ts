import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CpuIncrements } from '../../../plugin/samplers/processes/cpu-increments.ts';
import { processMemory } from '../../../plugin/samplers/processes/memory.ts';
import type { ProcessReading } from '../../../plugin/samplers/processes/proc.ts';

function processes(entries: [pid: number, reading: Partial<ProcessReading>][]): Map<number, ProcessReading> {
  return new Map(entries.map(([pid, reading]) => [pid, { rssBytes: 0, cpuUs: 0, startedAtUs: 0, ...reading }]));
}

test('a layer is the sum of its processes', () => {
  const readings = processes([
    [1, { rssBytes: 10, pssBytes: 7 }],
    [2, { rssBytes: 20, pssBytes: 8 }],
    [3, { rssBytes: 99, pssBytes: 99 }],
  ]);
  assert.deepEqual(processMemory([1, 2], readings), { rssBytes: 30, pssBytes: 15 });
});

test('a layer without all of its processes has no sum, and one without all PSS has no PSS', () => {
  const readings = processes([
    [1, { rssBytes: 10, pssBytes: 7 }],
    [2, { rssBytes: 20 }],
  ]);
  assert.deepEqual(processMemory([1, 2], readings), { rssBytes: 30 });
  assert.throws(() => processMemory([1, 2, 4], readings), { message: '1 of its 3 processes have ended' });
  assert.throws(() => processMemory([], readings), /none of its processes/);
  assert.throws(() => processMemory(undefined, readings), /none of its processes/);
});

type Seen = Record<number, Partial<ProcessReading>>;

/** Readings one after the other, each with the microseconds that it adds in all, and what it shows. */
const HISTORIES: Record<string, [seen: Seen, addsUs: number, because: string][]> = {
  'CPU time goes on rising when a process dies, is replaced, or its pid is used again': [
    [{ 1: { cpuUs: 100 }, 2: { cpuUs: 50 } }, 150, 'from their start'],
    [{ 1: { cpuUs: 130 }, 2: { cpuUs: 60 } }, 40, 'since the reading before'],
    [{ 1: { cpuUs: 140 } }, 10, 'process 2 is gone; what it used stays'],
    [{ 1: { cpuUs: 140 }, 3: { cpuUs: 5, startedAtUs: 9e6 } }, 5, 'its successor counts from its own start'],
    [{ 1: { cpuUs: 20, startedAtUs: 99e6 }, 3: { cpuUs: 5, startedAtUs: 9e6 } }, 20, 'the same pid, another process'],
  ],
  'an older reading that arrives late brings nothing': [
    [{ 1: { cpuUs: 100 } }, 100, 'the first'],
    [{ 1: { cpuUs: 90 } }, 0, 'the older one'],
    [{ 1: { cpuUs: 110 } }, 10, 'the next'],
  ],
  'what a process has started counts once, also when it has ended': [
    [{ 1: { cpuUs: 100, reapedUs: 0 } }, 100, 'the process'],
    [{ 1: { cpuUs: 100, reapedUs: 30 } }, 30, 'a child that nobody saw'],
    [{ 1: { cpuUs: 100, reapedUs: 30 }, 2: { cpuUs: 50, parent: 1 } }, 50, 'one that somebody saw'],
    [{ 1: { cpuUs: 110, reapedUs: 30 } }, 10, 'it has ended, and nobody has asked for it'],
    [{ 1: { cpuUs: 110, reapedUs: 85 } }, 5, 'the last of it'],
    [{ 3: { cpuUs: 7 } }, 7, 'another process in its place'],
  ],
  'a family that ends leaves to the one above what nobody has seen of it': [
    [
      { 1: { cpuUs: 0, reapedUs: 0 }, 2: { cpuUs: 10, parent: 1 }, 3: { cpuUs: 20, parent: 2 } },
      30,
      'three generations',
    ],
    [{ 1: { cpuUs: 0, reapedUs: 0 } }, 0, 'two are gone'],
    [{ 1: { cpuUs: 0, reapedUs: 33 } }, 3, 'what they used last'],
  ],
};

for (const [name, history] of Object.entries(HISTORIES)) {
  test(name, () => {
    const increments = new CpuIncrements();
    for (const [seen, addsUs, because] of history) {
      const readings = processes(Object.entries(seen).map(([pid, reading]) => [Number(pid), reading]));
      const added = [...increments.add(readings, () => true).values()];
      assert.equal(
        added.reduce((sum, us) => sum + us, 0),
        addsUs,
        because,
      );
    }
  });
}

test('a process that is left out once is not new when it comes back', () => {
  const increments = new CpuIncrements();
  increments.add(processes([[1, { cpuUs: 100 }]]), () => false);
  increments.add(processes([]), () => false);
  assert.deepEqual([...increments.add(processes([[1, { cpuUs: 101 }]]), () => false)], [[1, 1]]);
});
