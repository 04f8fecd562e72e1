import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CpuTime } from '../../../plugin/samplers/processes/cpu-time.ts';
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

test('CPU time goes on rising when a process dies, is replaced, or its pid is used again', () => {
  const cpu = new CpuTime();
  const see = (entries: [number, number, number][]) => {
    const readings = processes(entries.map(([pid, cpuUs, startedAtUs]) => [pid, { cpuUs, startedAtUs }]));
    cpu.add([1, 2, 3], readings);
    return cpu.totalUs;
  };
  assert.equal(
    see([
      [1, 100, 0],
      [2, 50, 0],
    ]),
    150,
  );
  assert.equal(
    see([
      [1, 130, 0],
      [2, 60, 0],
    ]),
    190,
  );
  assert.equal(see([[1, 140, 0]]), 200, 'process 2 is gone; what it used stays');
  assert.equal(
    see([
      [1, 140, 0],
      [3, 5, 9e6],
    ]),
    205,
    'its successor counts from its own start',
  );
  assert.equal(
    see([
      [1, 20, 99e6],
      [3, 5, 9e6],
    ]),
    225,
    'the same pid, another process',
  );
});

test('an older reading that arrives late brings nothing', () => {
  const cpu = new CpuTime();
  cpu.add([1], processes([[1, { cpuUs: 100 }]]));
  cpu.add([1], processes([[1, { cpuUs: 90 }]]));
  cpu.add([1], processes([[1, { cpuUs: 110 }]]));
  assert.equal(cpu.totalUs, 110);
});

test('what a worker has started counts once, also when it has ended; that of workers which end does not count again', () => {
  const cpu = new CpuTime(true);
  // No such ids exist.
  const [WORKER, CHILD, OTHER] = [5_000_001, 5_000_002, 5_000_003];
  const see = (...entries: [pid: number, reading: Partial<ProcessReading>][]) => {
    cpu.add(
      entries.map(([pid]) => pid),
      processes(entries),
    );
    return cpu.totalUs;
  };
  assert.equal(see([WORKER, { cpuUs: 100, reapedUs: 0, parent: 1 }]), 100);
  assert.equal(see([WORKER, { cpuUs: 100, reapedUs: 30, parent: 1 }]), 130, 'a child that nobody saw');
  const child: [number, Partial<ProcessReading>] = [CHILD, { cpuUs: 50, reapedUs: 0, parent: WORKER }];
  assert.equal(see([WORKER, { cpuUs: 100, reapedUs: 30, parent: 1 }], child), 180);
  assert.equal(
    see([WORKER, { cpuUs: 110, reapedUs: 30, parent: 1 }]),
    190,
    'it has ended, and nobody has asked for it',
  );
  assert.equal(see([WORKER, { cpuUs: 110, reapedUs: 85, parent: 1 }]), 195, 'the last of it');
  assert.equal(see([OTHER, { cpuUs: 7, reapedUs: 0, parent: 1 }]), 202, 'another worker in its place');
});
