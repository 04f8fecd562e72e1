import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ServerRuntime } from '../../../protocol/documents/server-runtimes.ts';
import type { MemorySlope } from '../../../protocol/result/memory-schema.ts';
import type { Result } from '../../../protocol/result/result.ts';
import { costText } from '../../../report/answer/cost.ts';
import { knownValueAt } from '../../../report/figures/figures.ts';
import { whyNotQuoted } from '../../../report/figures/measured-figures.ts';
import { memoryPerConnection } from '../../../report/figures/per-connection.ts';
import { column, columns } from '../../helpers/columns.ts';
import { perfectResult } from '../../helpers/results.ts';

/** Returns the fixture with kernel sockets of 12,000 bytes per connection. */
function withKernel(change: (slopes: Record<string, MemorySlope>) => void = () => {}): Result {
  const result = perfectResult();
  const line = { slope: 12_000, low95: 11_900, high95: 12_100, r2: 1 };
  result.memory.perConnectionBytes.kernelSlab = { ...line, naive: 12_000 };
  Object.assign(result.memory.inService?.perConnectionBytes as object, { kernelSlab: line });
  change(result.memory.perConnectionBytes);
  return result;
}

/** @param high95 upper end of the interval; it includes the doubt */
const doubt = (layer: string, reason: MemorySlope['doubt'], high95: number) =>
  withKernel((slopes) => Object.assign(slopes[layer] as MemorySlope, { doubt: reason, high95 }));

const noisy = (layer: string, margin: number) =>
  withKernel((slopes) => {
    const slope = slopes[layer] as MemorySlope;
    Object.assign(slope, { low95: slope.slope - margin, high95: slope.slope + margin });
  });

const costOf = (result: Result) => memoryPerConnection(result) ?? assert.fail('no cost');
const textOf = (result: Result) => costText(costOf(result), true);

describe('the cost of a connection', () => {
  it('the cost of a connection is memory of its workers and proxy, and three of the four ends of its sockets', () => {
    const cost = costOf(withKernel());
    assert.deepEqual(columns(cost.parts, 'title', 'bytes', 'inService'), {
      title: ['workers', 'proxy', 'kernel'],
      bytes: [16_000, 2000, 9000],
      inService: [19_140, 2000, 9000],
    });
    assert.equal(cost.bytes, 27_000);
    assert.equal(cost.inService, 30_140);
    assert.equal(textOf(withKernel()), 'memory per connection: 26.4 KB ± 1 % (workers 15.6, proxy 2.0, kernel 8.8)');
  });

  it("the cost of a connection is at least V8's count if RSS is higher at only two numbers of connections", () => {
    const result = withKernel((slopes) => {
      const unknown = { low95: null, high95: null, r2: 1, naive: 0 };
      slopes.workerKept = { ...unknown, slope: 16.6 * 1024 };
      slopes.workerRss = { ...unknown, slope: 30.5 * 1024 };
    });
    result.memory.collected = true;
    assert.deepEqual(costOf(result).without, [{ title: 'native memory', doubt: 'uncounted' }]);
    assert.match(textOf(result), /^memory per connection: at least 27\.3 KB/);
    assert.match(textOf(result), /native memory unknown: RSS grew by more than V8 counts/);
    Object.assign(result.memory.perConnectionBytes.workerRss ?? {}, { slope: 17.5 * 1024 });
    assert.deepEqual(costOf(result).without, [], 'pages that a process takes once');
  });

  it("the cost of a connection is the runtime's count for a JVM or Go, whose RSS includes garbage", () => {
    for (const runtime of ['jvm', 'go'] as const) {
      const result = noisy('workerRss', 30_000);
      const line = { slope: 5000, low95: 4900, high95: 5100, r2: 1, naive: 5000 };
      result.memory.perConnectionBytes.workerKept = line;
      result.memory.collected = true;
      result.memory.inspector = { processes: 1, longestPauseMs: 1, runtime: 'v8' };
      const [withPages] = costOf(result).parts;
      result.memory.inspector.runtime = runtime;
      const [part] = costOf(result).parts;
      assert.deepEqual([part?.bytes, part?.low95, part?.high95], [5000, 4900, 5100]);
      assert.ok((withPages?.high95 ?? 0) > 30_000, 'V8: RSS shows native memory');
    }
  });

  it('suggests no more connections if garbage of worker threads hides the cost of a connection', () => {
    const textWith = (margin: number, peak: number) => {
      const result = noisy('workerRss', margin);
      result.memory.perConnectionBytes.workerKept = { slope: 5000, low95: 4900, high95: 5100, r2: 1, naive: 5000 };
      result.memory.collected = true;
      result.connections.peak = peak;
      return textOf(result);
    };
    assert.match(
      textWith(60_000, 800),
      /: memory beside V8's main heap hides it .*, between [\d.]+ and [\d.]+ KB \(95 %\)$/,
    );
    assert.match(textWith(60_000, 100), /too few connections to tell.* connections would narrow it/);
  });

  it('suggests an option for the runtime of the workers if garbage hides the cost of a connection', () => {
    const result = noisy('workerRss', 30_000);
    result.memory.collected = false;
    const row = { layer: 'worker', pid: 1, command: 'chat', ports: null, role: 'listens', holds: null } as const;
    const nextFor = (...runtimes: ServerRuntime[]) => {
      const measured = runtimes.map((runtime) => ({ ...row, runtime }));
      const processes = { port: 3000, unseen: null, measured, omitted: 0, notCounted: [] };
      return costText(costOf(result), false, { ...result, processes });
    };
    assert.match(nextFor('other', 'node'), /garbage hides it, .*; `workers: \{ inspect: true \}` collects it/);
    assert.match(nextFor('jvm'), /; `workers: \{ inspect: true \}` collects it/);
    assert.match(nextFor('go'), /; with `net\/http\/pprof` in the server, `workers: \{ inspect: true \}` collects it/);
    for (const text of [nextFor('python'), nextFor('bun')]) {
      assert.match(text, /more connections would narrow it/);
      assert.doesNotMatch(text, /inspect/);
    }
    assert.match(costText(costOf(result), false), /; in Node, Deno, Java and Go, `workers.inspect` collects it/);
  });

  it('the cost of a connection has one socket end without a proxy, and no kernel memory if clients are remote', () => {
    const embedded = withKernel();
    embedded.run.profile = 'embedded';
    assert.equal(costOf(embedded).parts.at(-1)?.bytes, 6000);
    embedded.run.profile = 'remote';
    delete embedded.memory.perConnectionBytes.kernelSlab;
    assert.deepEqual(column(costOf(embedded).parts, 'title'), ['workers', 'proxy']);
  });

  it('the cost of a connection is reported as a lower bound if some of its parts are unreadable', () => {
    const result = withKernel((slopes) => {
      delete slopes.kernelSlab;
      for (const layer of Object.keys(slopes).filter((id) => id.startsWith('nginx'))) delete slopes[layer];
    });
    Object.assign(result.memory.absent, { kernelSlab: 'EACCES: permission denied', nginxRss: 'hidden' });
    const cost = costOf(result);
    assert.deepEqual(cost.unread, ['proxy', 'kernel']);
    assert.equal(cost.isAtLeast, false);
    assert.match(textOf(result), /: at least 15\.6 KB ± \d % \(workers 15\.6, proxy could not be read, kernel could/);
    result.memory.perConnection = cost;
    assert.equal(whyNotQuoted(result, 'memory.perConnection.bytes'), undefined);
    assert.equal(knownValueAt(result, 'memory.perConnection.bytes'), 16_000);
  });

  it('the cost of a connection to the user’s own server on this machine includes kernel memory', () => {
    const own = (margin: number, workers: number) => {
      const result = noisy('kernelSlab', margin);
      result.run.profile = 'remote';
      const { workerRss, nginxRss: _, nginxPss: __, ...others } = result.memory.perConnectionBytes;
      const rss = { ...(workerRss as MemorySlope), low95: 16_000 - workers, high95: 16_000 + workers };
      result.memory.perConnectionBytes = { ...others, workerRss: rss };
      return costOf(result);
    };
    const narrow = own(200, 200);
    assert.deepEqual(columns(narrow.parts, 'title', 'bytes'), { title: ['workers', 'kernel'], bytes: [16_000, 6000] });
    assert.equal(narrow.isAtLeast, false);
    const withKernelPart = own(12_000, 20_000);
    assert.ok((withKernelPart.high95 ?? 0) > 40_000 && withKernelPart.without.length === 0);
    const bound = own(24_000, 200);
    assert.deepEqual(bound.without, [{ title: 'kernel', doubt: 'noisy' }]);
    assert.match(costText(bound, true), /: at least 15\.6 KB .*kernel unknown/);
  });

  const forAll = (changes: Partial<MemorySlope>) =>
    withKernel((slopes) => {
      for (const slope of Object.values(slopes)) Object.assign(slope, changes);
    });
  const wide = noisy('workerRss', 14_000);
  const garbage = { ...wide, memory: { ...wide.memory, collected: false } };

  const cases: [what: string, result: Result, text: RegExp][] = [
    ['an interval widened by noise', noisy('workerRss', 5000), /: 26\.4 KB ± 19 % \(/],
    ['a wide interval, with the connections that would narrow it', wide, / 12\.7 and 40\.0 KB .* 20,000 connections/],
    [
      'an interval widened by garbage, without suggesting more connections',
      garbage,
      /: garbage .* 12\.7 and 40\.0 KB (?!.*000)/,
    ],
    ['an unreliable part, with the reason', doubt('nginxPss', 'grows', 6000), /: 26\.4 KB ± 15 %.* proxy: growth/],
    ['a part that may be larger, as an interval', doubt('nginxPss', 'freed', 40_000), /freed .* 26\.\d and 63\.5 KB/],
    ['an unknown part, as a bound', doubt('nginxPss', 'miscounted', 2000), /: at least 24\.4 KB .*proxy unknown/],
    ['a noisy machine, as a bound', noisy('kernelSlab', 40_000), /: at least 17\.6 KB .*kernel unknown: .*noise/],
    ['two plateaus without an interval', forAll({ low95: null, high95: null }), /: 26\.4 KB \(workers .*margin/],
    ['unreliable parts only, with the reason', forAll({ doubt: 'miscounted' }), /: unknown: /],
  ];
  for (const [what, result, text] of cases)
    it(`shows the cost of a connection with ${what}`, () => assert.match(textOf(result), text));

  it('suggests enough connections for a lean server, even if noise makes the cost zero or negative', () => {
    const wide = (slope: number, margin = 50_000) => {
      const line = { slope, low95: slope - margin, high95: slope + margin, r2: 1, naive: 0 };
      const result = withKernel((slopes) => {
        for (const layer of Object.keys(slopes)) delete slopes[layer];
        slopes.workerRss = line;
      });
      return costOf(result).conclusiveRun;
    };
    // The interval is ± 50,000 bytes at 5,000 connections, and the limit is a quarter of 10 KB.
    assert.equal(wide(0)?.connections, 100_000);
    assert.ok(Math.abs((wide(0)?.halfWidthBytes ?? 0) - 2500) < 1);
    assert.equal(wide(40_000)?.connections, 30_000);
    for (const margin of [0, 100, 19_990, 20_010]) assert.ok((wide(-20_000, margin)?.connections ?? 0) >= 10_000);
    for (const margin of [0, 100, 19_990]) assert.equal((wide(-20_000, margin)?.connections ?? 0.5) % 1, 0);
  });

  /** Cases: V8's count, the other known layers, and the expected layer of the workers. */
  const heavy = { workerRss: { slope: 16_000, low95: 1_000, high95: 16_320, r2: 1, naive: 0 } };
  const child = (low95: number) => ({
    workerChildrenPss: { slope: 1500, low95, high95: 3000 - low95, r2: 1, naive: 0 },
  });
  const native = {
    workerRss: { slope: 16_000, low95: 15_000, high95: 30_000, r2: 1, naive: 0, doubt: 'grows' as const },
  };
  const layers: [
    what: string,
    heapBytes: number,
    layer: string,
    slopes?: Record<string, MemorySlope>,
    collected?: boolean,
  ][] = [
    ["V8's count of memory", 14_000, 'workerKept'],
    ["V8's count of memory if RSS may be higher", 9_000, 'workerKept', heavy],
    ['RSS if garbage was not collected', 14_000, 'workerRss', {}, false],
    ['RSS if a child process surely holds a part of the memory', 14_000, 'workerRss', child(1400)],
    ['RSS if it grew at an unchanged number of connections', 14_000, 'workerRss', native],
    ["V8's count of memory if a child process holds no more than noise", 14_000, 'workerKept', child(-100)],
  ];
  for (const [what, bytes, layer, more = {}, collected = true] of layers) {
    it(`uses ${what} for the cost of a connection`, () => {
      const workerKept = { slope: bytes, low95: 0.98 * bytes, high95: 1.02 * bytes, r2: 1, naive: bytes };
      const result = withKernel((slopes) => Object.assign(slopes, { workerKept, ...more }));
      Object.assign(result.memory, { collected });
      assert.equal(costOf(result).parts[0]?.layer, layer);
    });
  }

  it('the cost of a connection includes native memory of the workers that only RSS shows', () => {
    const kept = { slope: 9000, low95: 8900, high95: 9100, r2: 1, naive: 0 };
    const cost = costOf(withKernel((slopes) => Object.assign(slopes, { workerKept: kept })));
    const { bytes = 0, native = 0, low95, high95 } = cost.parts[0] ?? {};
    assert.ok(Math.abs(bytes - 16_000) < 10 && Math.abs(native - 7000) < 10, `${bytes}, of it ${native}`);
    assert.ok((low95 ?? 0) > 9100 && high95 === 16_320);
  });

  it('the cost of a connection omits memory in service if its readings are unreliable', () => {
    const result = withKernel();
    Object.assign(result.memory.inService?.perConnectionBytes.nginxPss as object, { doubt: 'grows' });
    assert.deepEqual([costOf(result).bytes, costOf(result).inService], [27_000, null]);
  });

  it('the cost of a connection is absent if the workers’ memory was not read', () => {
    assert.equal(memoryPerConnection(withKernel((slopes) => delete slopes.workerPss && delete slopes.workerRss)), null);
  });
});
