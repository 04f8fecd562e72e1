import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { figureCell, figureTitle, shownFigure } from '../../../docs/figures.ts';
import { describeReport, type Report, readReports } from '../../../docs/reports/reports.ts';
import { growth, publishedStudies, tls } from '../../../docs/site.data.ts';
import { readMeasuredStudies } from '../../../docs/studies/page.ts';
import {
  BENCHMARK_REPORT,
  COVERAGE_BY_BATCH,
  RSS_BY_CONNECTIONS,
} from '../../../docs/studies/published/benchmark-report.ts';
import { MEMORY_USAGE } from '../../../docs/studies/published/memory-usage.ts';
import { RACCOON } from '../../../docs/studies/published/raccoon.ts';
import { TECHRACERS } from '../../../docs/studies/published/techracers.ts';
import type { Result } from '../../../protocol/result/result.ts';
import { CHART_COLORS } from '../../../report/charts/palette.ts';
import { fitLine } from '../../../report/statistics/statistics.ts';
import { assertEach } from '../../helpers/columns.ts';
import { perfectResult, resultWithMessages } from '../../helpers/results.ts';
import { waves } from '../../helpers/waves.ts';

const WORKER_PSS = 'memory.perConnectionBytes.workerPss.slope';

function report(connections: number, change: (result: Result) => void = () => {}): Report {
  const result = perfectResult();
  result.connections.target = connections;
  change(result);
  return describeReport(`${connections / 1000}k`, result);
}

const withMemory = (kb: number) => (result: Result) => {
  const bounds = { low95: (kb - 0.5) * 1024, high95: (kb + 0.5) * 1024 };
  result.memory.perConnectionBytes.workerPss = { slope: kb * 1024, ...bounds, r2: 1, naive: 0 };
};

const invalid = ({ verdict }: Result) => {
  verdict.status = 'INVALID';
};

/** @returns the texts of the cells, by row */
function cells(table: string): string[][] {
  return [...table.matchAll(/<tr>([\s\S]*?)<\/tr>/g)].map(([, row]) =>
    [...(row as string).matchAll(/<t[hd][^>]*>([\s\S]*?)<\/t[hd]>/g)].map(([, cell]) => cell as string),
  );
}

const CPU = 'cpu.worker.broadcastMicrosecondsPerMessage';
const withCpu = (us: number, reachUs?: number) => (result: Result) => {
  const broadcastMicrosecondsPerMessage = reachUs === undefined ? null : { low95: us - reachUs, high95: us + reachUs };
  const none = { rampSecondsPerThousandConnects: null, idlePercent: null, idleConnectionsPercent: null };
  const intervals = { ...none, clientMicrosecondsPerMessage: null, broadcastMicrosecondsPerMessage };
  Object.assign(result.cpu.worker ?? {}, { broadcastMicrosecondsPerMessage: us, intervals });
};

describe('a cell', () => {
  for (const [what, shown, path, ...changes] of [
    ['one run with its interval', '10.0 ± 0.5', WORKER_PSS, withMemory(10)],
    ['several runs with their range', '11.0 (10.0 to 12.0)', WORKER_PSS, withMemory(10), withMemory(12)],
    ['a dash instead of a missing figure', '–', 'memory.perConnectionBytes.systemHeld.slope', withMemory(10)],
    ['the 95 % interval of one run', '1,000.0 ± 400.0', CPU, withCpu(1000, 400)],
    ['the interval within runs, if it is wider', '1,050.0 ± 282.8', CPU, withCpu(1000, 400), withCpu(1100, 400)],
    ['the range, if it is wider', '1,050.0 (1,000.0 to 1,100.0)', CPU, withCpu(1000, 10), withCpu(1100, 10)],
    ['the range, without intervals', '1,050.0 (1,000.0 to 1,100.0)', CPU, withCpu(1000), withCpu(1100)],
  ] as [string, string, string, ...((result: Result) => void)[]][]) {
    it(`a cell of a table of figures shows ${what}`, () => {
      const results = changes.map((change) => report(1000, change).result);
      assert.equal(figureCell(results, path), shown);
    });
  }
});

it('the docs generator refuses a figure that does not exist', () => {
  assert.throws(() => shownFigure('memory.typingError'));
});

describe('growth over the reports', () => {
  it('the growth table of all reports has a column for every number of connections', () => {
    const table = growth([report(5000, withMemory(10)), report(32_000), report(100_000)]);
    const heads = ['', 'us, 5,000', 'us, 32,000', 'us, 100,000', 'exponent of the total'];
    assertEach(cells(table)[0], (head) => head.split(':')[0], heads);
    assert.match(table, /10\.0 ± 0\.5/);
  });

  it('the growth table of all reports shows the exponent with which total memory grows', () => {
    // The cost of one connection grows with the square root of their number.
    const table = growth([10_000, 40_000, 90_000].map((size) => report(size, withMemory(Math.sqrt(size)))));
    const row = cells(table).find(([title]) => title === figureTitle(WORKER_PSS));
    assert.equal(row?.at(-1), '1.50 (1.50 to 1.50)');
  });

  it('the growth table of all reports omits INVALID runs, and can be empty', () => {
    assert.deepEqual(cells(growth([report(5000, invalid)]))[0], ['']);
  });
});

it('the table of the cost of TLS shows each report with TLS and its counterpart without TLS', () => {
  const secure = report(5000, ({ run }) => {
    run.target = 'https://127.0.0.1:8443';
  });
  const withoutPair = { ...report(10_000), size: '10k-tls', differences: ['TLS'] };
  const [, row] = cells(tls([report(5000), { ...secure, size: '5k-tls' }, withoutPair, report(32_000)]));
  assert.deepEqual(row, ['TLS', 'off', 'on']);
});

describe('published studies', () => {
  const all = { BENCHMARK_REPORT, RSS_BY_CONNECTIONS, COVERAGE_BY_BATCH, TECHRACERS, MEMORY_USAGE, RACCOON };

  it('a published study has a cell in every column of a row, or omits the row', () => {
    for (const { published, rows } of Object.values(all))
      for (const [question, printed] of rows) assert.ok([0, published.length].includes(printed.length), question);
  });

  it('figures of a published study are consistent: rate × ramp, 2 GiB × N ÷ peak, and the slope of its RSS', () => {
    const number = (cell = '') => Number(cell.replaceAll(',', ''));
    for (const [index, size] of [5000, 10_000, 20_000, 32_000].entries()) {
      const printed = (question: RegExp) =>
        number(BENCHMARK_REPORT.rows.find(([name]) => question.test(name))?.[1][index]);
      assert.ok(Math.abs(printed(/^Achieved/) * printed(/^Ramp/) - size) < 2);
      assert.ok(Math.abs((2048 * size) / printed(/^Peak RSS/) / printed(/max/) - 1) < 0.001);
      const rss = RSS_BY_CONNECTIONS.rows.map(([x, row]) => ({ x: number(x), y: 1024 * Number(row[index]) }));
      const slope = fitLine(rss.filter(({ y }) => !Number.isNaN(y)))?.slope;
      assert.equal(slope?.toFixed(1), printed(/^Slope/).toFixed(1));
    }
  });

  it('the docs show figures of published studies beside VALID runs of the same size', () => {
    const { benchmarkReport, techracers, memoryUsage } = publishedStudies(
      [report(32_000), report(100_000), describeReport('techracers', perfectResult())],
      [],
    );
    assert.ok(cells(benchmarkReport).some((row) => row.join() === ',the report, 32,000,us, 32,000: VALID'));
    assert.deepEqual(cells(techracers)[0], ['', 'The study', 'us, 5,000: VALID']);
    assert.equal(cells(memoryUsage)[0]?.length, 3);
    assert.equal(publishedStudies([report(32_000, invalid)], []).benchmarkReport, '');
  });

  it('the comparison with published studies lists runs with waves of connections separately', () => {
    const wave = (size: string, result: Result) => {
      result.run.scenario = 'waves';
      return describeReport(size, result);
    };
    const not = wave('waves-uncollected', waves({ collected: false }));
    const page = publishedStudies([not, wave('waves', waves()), report(5000)], []);
    const rows = cells(page.waves);
    assert.deepEqual(rows[1]?.slice(1), ['yes', 'no']);
    assert.match(`${rows[2]?.[1]} ${rows[4]?.[1]}`, /different sizes.* 20\.0 KB/s);
    assert.equal(cells(page.memoryUsage)[0]?.length, 2);
  });

  it('the docs compare runs that send batches only with the published study of Raccoon', () => {
    const sending = describeReport('10k', resultWithMessages());
    const page = publishedStudies([report(5000), sending], []);
    const [head, , ...own] = cells(page.raccoon).map((row) => row.at(-1));
    const times = ['0.031 ms', '2.40 ms', 'has no such queue', 'has no such queue', '4.20 ms', '8.75'];
    assert.equal(head, 'us, 5,000: VALID');
    assert.deepEqual(own, ['10 s', '5,000', '2', '7,500,000', ...times, '111', '45.3', '0.11']);
    assert.equal(cells(page.memoryUsage)[0]?.length, 2);
  });
});

describe('the stored runs', () => {
  const page = publishedStudies(readReports(), readMeasuredStudies());

  it('the stored runs fill each cell of the benchmark report', () => {
    const rows = cells(page.benchmarkReport).filter(({ length }) => length === 9);
    assert.ok(rows.length > 40);
    for (const [question, ...row] of rows)
      for (const [index, cell] of row.entries())
        assert.ok(index % 2 === 0 || row[index - 1] === '–' || cell !== '–', `${question}: ${row.join(' | ')}`);
  });

  it('the stored runs fill each cell of the other studies', () => {
    for (const table of [page.techracers, page.webSocketServers, page.raccoon])
      for (const row of cells(table)) assert.ok(!row.includes('–'), row.join(' | '));
  });
});

it('the site defines every colour that the charts use', () => {
  const css = readFileSync('docs/.vitepress/theme/charts.css', 'utf8');
  for (const color of Object.values(CHART_COLORS)) {
    const name = /^var\((--[\w-]+)\)$/.exec(color)?.[1];
    assert.ok(name && css.includes(`${name}:`), color);
  }
});
