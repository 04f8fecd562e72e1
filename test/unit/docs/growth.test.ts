import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { growth } from '../../../docs/benchmarks/growth.data.ts';
import { describeReport, type Report } from '../../../docs/reports/reports.ts';
import { COLORS } from '../../../report/charts/palette.ts';
import { perfectResult } from '../../helpers/results.ts';

/** @param workerKb memory per connection, known to ± `marginKb` */
function report(connections: number, workerKb = 10, marginKb = 0.5): Report {
  const result = perfectResult();
  result.connections.target = connections;
  result.memory.perConnectionBytes.workerPss = {
    slope: workerKb * 1024,
    low95: (workerKb - marginKb) * 1024,
    high95: (workerKb + marginKb) * 1024,
    r2: 1,
    naive: 0,
  };
  return describeReport(`${connections / 1000}k`, result);
}

const worker = (reports: Report[]) =>
  growth(reports).findings.find((one) => one.startsWith('Memory per connection, Workers:'));

describe('growth over the reports', () => {
  it('has a mark for every size, and a column', () => {
    const { chart, table, sizes } = growth([report(5000), report(32_000), report(100_000)]);
    assert.equal(sizes, 3);
    for (const size of ['5,000', '32k', '100k']) assert.match(chart, new RegExp(`>${size}</text>`), size);
    for (const size of ['5,000', '32,000', '100,000']) assert.match(table, new RegExp(`<th[^>]*>${size}</th>`), size);
    assert.match(table, /10\.0 ± 0\.5/);
  });

  it('says that a cost is flat, or where it bends', () => {
    assert.match(worker([report(5000, 10), report(100_000, 11)]) ?? '', /10\.0 KB .*11\.0 at 100,000.*: flat\.$/);
    assert.match(worker([report(5000, 5, 5), report(100_000, 10)]) ?? '', /flat, as far as the intervals tell/);
    assert.match(
      worker([report(5000, 10), report(20_000, 11), report(100_000, 20)]) ?? '',
      /bends most between 20,000 connections \(11\.0\) and 100,000 connections \(20\.0\)/,
    );
  });

  it('sets times against the number of connections', () => {
    const [small, large] = [report(5000), report(50_000)];
    if (small.result.latency.completionMs) small.result.latency.completionMs.p50 = 200;
    if (large.result.latency.completionMs) large.result.latency.completionMs.p50 = 1000;
    assert.ok(
      growth([small, large]).findings.some((one) =>
        /^Last receiver.*5\.0 times as long for 10\.0 times as many/.test(one),
      ),
    );
  });

  it('leaves INVALID runs out, and copes with one report and with none', () => {
    const invalid = report(5000);
    invalid.result.verdict.status = 'INVALID';
    assert.equal(growth([invalid]).sizes, 0);
    assert.match(growth([]).chart, /no report here yet/);
    const single = growth([report(5000)]);
    assert.match(single.chart, /<svg/);
    assert.deepEqual(single.findings, []);
  });
});

it('the site has a value for every colour that charts name', () => {
  const css = readFileSync('docs/.vitepress/theme/charts.css', 'utf8');
  for (const color of Object.values(COLORS)) {
    const name = /^var\((--[\w-]+)\)$/.exec(color)?.[1];
    assert.ok(name && css.includes(`${name}:`), color);
  }
});
