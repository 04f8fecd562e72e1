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

describe('growth over the reports', () => {
  it('has a mark for every size, and a column', () => {
    const { chart, table, sizes } = growth([report(5000), report(32_000), report(100_000)]);
    assert.equal(sizes, 3);
    for (const size of ['5,000', '32k', '100k']) assert.match(chart, new RegExp(`>${size}</text>`), size);
    for (const size of ['5,000', '32,000', '100,000']) assert.match(table, new RegExp(`<th[^>]*>${size}</th>`), size);
    assert.match(table, /10\.0 ± 0\.5/);
  });

  it('leaves INVALID runs out, and copes with one report and with none', () => {
    const invalid = report(5000);
    invalid.result.verdict.status = 'INVALID';
    assert.equal(growth([invalid]).sizes, 0);
    assert.match(growth([]).chart, /no report here yet/);
    const single = growth([report(5000)]);
    assert.match(single.chart, /<svg/);
  });
});

it('the site has a value for every colour that charts name', () => {
  const css = readFileSync('docs/.vitepress/theme/charts.css', 'utf8');
  for (const color of Object.values(COLORS)) {
    const name = /^var\((--[\w-]+)\)$/.exec(color)?.[1];
    assert.ok(name && css.includes(`${name}:`), color);
  }
});
