import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Slope } from '../../../protocol/result/memory.ts';
import type { Result } from '../../../protocol/result/result.ts';
import { costText } from '../../../report/answer/cost.ts';
import { perConnectionOf } from '../../../report/figures/per-connection.ts';
import { column, columns } from '../../helpers/columns.ts';
import { perfectResult } from '../../helpers/results.ts';

/** The fixture with sockets of 12,000 bytes per connection. */
function withKernel(change: (slopes: Record<string, Slope>) => void = () => {}): Result {
  const result = perfectResult();
  const line = { slope: 12_000, low95: 11_900, high95: 12_100, r2: 1 };
  result.memory.perConnectionBytes.kernelSlab = { ...line, naive: 12_000 };
  Object.assign(result.memory.inService?.perConnectionBytes as object, { kernelSlab: line });
  change(result.memory.perConnectionBytes);
  return result;
}

const doubt = (layer: string, reason: Slope['doubt']) =>
  withKernel((slopes) => Object.assign(slopes[layer] as Slope, { doubt: reason }));

const noisy = (layer: string, margin: number) =>
  withKernel((slopes) => {
    const slope = slopes[layer] as Slope;
    Object.assign(slope, { low95: slope.slope - margin, high95: slope.slope + margin });
  });

const costOf = (result: Result) => perConnectionOf(result) ?? assert.fail('no cost');
const textOf = (result: Result) => costText(costOf(result), true);

describe('what a connection costs the deployment', () => {
  it('is its workers, its proxy, and three of the four ends of its sockets', () => {
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

  it('has one of the two ends without a proxy, and no kernel where another machine has the other end', () => {
    const embedded = withKernel();
    embedded.run.profile = 'embedded';
    assert.equal(costOf(embedded).parts.at(-1)?.bytes, 6000);
    embedded.run.profile = 'remote';
    assert.deepEqual(column(costOf(embedded).parts, 'title'), ['workers', 'proxy']);
  });

  const cases: [string, Result, RegExp][] = [
    ['of noise, the interval is the answer', noisy('workerRss', 5000), /: 26\.4 KB ± 19 % \(/],
    [
      'or, where it is wide, all there is, with what would narrow it',
      noisy('workerRss', 14_000),
      /: too few connections to tell, between 12\.7 and 40\.0 KB \(95 %\); 20,000 connections would tell it to about ± \d\.\d KB$/,
    ],
    [
      'garbage grows with the connections, so more of them would not tell',
      Object.assign(noisy('workerRss', 14_000), { memory: { ...noisy('workerRss', 14_000).memory, collected: false } }),
      /: garbage hides it, between 12\.7 and 40\.0 KB \(95 %\); with `instrument\(io\)`, a Node server collects it/,
    ],
    [
      'what spoils a part leaves a bound',
      doubt('nginxPss', 'grows'),
      /: at least 24\.4 KB ± \S+ % \(workers 15\.6, kernel 8\.8, proxy not known: growth at an unchanged number of connections\)$/,
    ],
    [
      'so does noise of the machine, which says nothing of the workers',
      noisy('kernelSlab', 40_000),
      /: at least 17\.6 KB ± \S+ % \(workers 15\.6, proxy 2\.0, kernel not known: lost in the noise of this machine\)$/,
    ],
    ['so do the workers', doubt('workerRss', 'grows'), /: at least 10\.7 KB .*workers not known: growth at an unch/],
    [
      'two numbers of connections have no interval',
      withKernel((slopes) => {
        for (const slope of Object.values(slopes)) Object.assign(slope, { low95: null, high95: null });
      }),
      /: 26\.4 KB \(workers .* its margin is not known\)$/,
    ],
    [
      'where all is spoilt, the reason',
      withKernel((slopes) => {
        for (const slope of Object.values(slopes)) Object.assign(slope, { doubt: 'miscounted' });
      }),
      /: not known: unclear which connections it belongs to$/,
    ],
  ];
  for (const [name, result, text] of cases) it(name, () => assert.match(textOf(result), text));

  it('needs enough connections to tell a lean server, even where noise says that they cost nothing', () => {
    const wide = (slope: number, margin = 50_000) => {
      const line = { slope, low95: slope - margin, high95: slope + margin, r2: 1, naive: 0 };
      const result = withKernel((slopes) => {
        for (const layer of Object.keys(slopes)) delete slopes[layer];
        slopes.workerRss = line;
      });
      return costOf(result).wouldTell;
    };
    // 5,000 connections with ± 50,000 bytes; a quarter of 10 KB.
    assert.equal(wide(0)?.connections, 100_000);
    assert.ok(Math.abs((wide(0)?.halfWidthBytes ?? 0) - 2500) < 1);
    assert.equal(wide(40_000)?.connections, 30_000);
    for (const margin of [0, 100, 19_990, 20_010]) assert.ok((wide(-20_000, margin)?.connections ?? 0) >= 10_000);
    for (const margin of [0, 100, 19_990]) assert.equal((wide(-20_000, margin)?.connections ?? 0.5) % 1, 0);
  });

  /** The fixture with what V8 counts. */
  const withHeap = (bytes: number, change: (result: Result) => void = () => {}) => {
    const result = withKernel((slopes) => {
      slopes.workerKept = { slope: bytes, low95: 0.98 * bytes, high95: 1.02 * bytes, r2: 1, naive: bytes };
    });
    change(result);
    return costOf(result).parts[0]?.layer;
  };

  it('is what V8 counts, unless the processes surely hold more, as where a child of theirs keeps it', () => {
    assert.equal(withHeap(14_000), 'workerKept');
    assert.equal(withHeap(9_000), 'workerRss');
    assert.equal(
      withHeap(9_000, ({ memory }) => Object.assign(memory.perConnectionBytes.workerRss as Slope, { low95: 1_000 })),
      'workerKept',
    );
    assert.equal(
      withHeap(14_000, ({ memory }) => Object.assign(memory, { collected: false })),
      'workerRss',
    );
  });

  it('counts a child of theirs that surely keeps a part of each connection, however small', () => {
    const child = (low95: number) =>
      withHeap(14_000, ({ memory }) => {
        const line = { slope: 1500, low95, high95: 3000 - low95, r2: 1, naive: 1500 };
        memory.perConnectionBytes.workerChildrenPss = line;
      });
    assert.equal(child(1400), 'workerRss');
    assert.equal(child(-100), 'workerKept', 'noise is no child');
  });

  it('needs no known amount in service where what was read in service is in doubt', () => {
    const result = withKernel();
    Object.assign(result.memory.inService?.perConnectionBytes.nginxPss as object, { doubt: 'grows' });
    assert.deepEqual([costOf(result).bytes, costOf(result).inService], [27_000, null]);
  });

  it('is nothing where the workers’ memory was not read', () => {
    assert.equal(perConnectionOf(withKernel((slopes) => delete slopes.workerPss && delete slopes.workerRss)), null);
  });
});
