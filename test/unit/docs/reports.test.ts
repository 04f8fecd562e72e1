import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { reportParts, SAMPLES_KEPT, serialize, studyRunParts } from '../../../docs/add.ts';
import { describeReport, readReports, reportPage } from '../../../docs/reports/reports.ts';
import { machineSizing } from '../../../docs/site.data.ts';
import { readMeasuredStudies } from '../../../docs/studies/page.ts';
import { type Result, resultSchema } from '../../../protocol/result/result.ts';
import { exitCodeOfResult } from '../../../report/answer/outcome.ts';
import { figureSpreads } from '../../../report/figures/measured-figures.ts';
import { readResult } from '../../../report/read.ts';
import { renderJunit } from '../../../report/render/junit.ts';
import { runDocument } from '../../../report/sections/run-document.ts';
import { finding, withFindings } from '../../helpers/findings.ts';
import { ROOT } from '../../helpers/pages.ts';
import { perfectResult, resultWithPings } from '../../helpers/results.ts';

const withSamples = (count: number): Result => ({
  ...perfectResult(),
  samples: Array.from({ length: count }, (_, t) => ({ t, connections: t })),
});

describe('a stored result', () => {
  it('a stored result has a thinned time series with both ends', () => {
    const { samples } = reportParts(withSamples(1000));
    assert.deepEqual([samples.length, samples[0]?.t, samples.at(-1)?.t], [SAMPLES_KEPT, 0, 999]);
    assert.equal(reportParts(withSamples(7)).samples.length, 7);
  });

  it('a stored result keeps every figure that a study compares', () => {
    const result = withSamples(1000);
    assert.deepEqual(figureSpreads([studyRunParts(result)]), figureSpreads([result]));
  });

  it('every report of a stored result has the same answer without the time series', () => {
    const runs = globSync('docs/{reports/*/result.json,studies/*/runs/*.json}', { cwd: ROOT });
    assert.ok(runs.length > 50);
    for (const path of runs) {
      const whole = readResult(join(ROOT, path));
      const bare = { ...whole, samples: [], workersOverTime: [], stages: [] };
      assert.deepEqual(runDocument(bare).answer, runDocument(whole).answer, path);
      assert.equal(renderJunit(bare), renderJunit(whole), path);
      assert.equal(exitCodeOfResult(bare), exitCodeOfResult(whole), path);
    }
  });

  it('writing and reading a stored result does not change it', () => {
    for (const kept of [reportParts(withSamples(3)), studyRunParts(withSamples(3))])
      assert.deepEqual(resultSchema.parse(JSON.parse(serialize(kept))), kept);
  });

  it('every stored result is small, with a thinned time series', () => {
    for (const { size, result } of readReports()) {
      assert.ok(result.samples.length <= SAMPLES_KEPT, size);
      assert.ok(serialize(result).length < 200_000, size);
    }
  });
});

describe('the title of a report', () => {
  const transports = { configured: 'default' as const, websocket: 0, upgraded: 9, polling: 0, upgradeFailures: {} };
  const cases: [
    what: string,
    size: string,
    changed: Partial<Record<'run' | 'connections', object>>,
    ...added: string[],
  ][] = [
    ['the size of its run', '5k', {}],
    ['TLS', '5k', { run: { target: 'https://127.0.0.1:8443' } }, 'TLS'],
    [
      'the transports if they are not the default',
      '5k',
      { connections: { transports } },
      'default clients: polling, then WebSocket',
    ],
    ['the scenario of a run without a size', 'techracers', { run: { scenario: 'techracers' } }, 'techracers'],
  ];
  for (const [what, size, { run, connections }, ...expected] of cases) {
    it(`the title of a report has ${what}`, () => {
      const result = perfectResult();
      Object.assign(result.run, run);
      Object.assign(result.connections, connections);
      const { title, differences } = describeReport(size, result);
      assert.equal(title, ['5,000 connections', ...expected].join(', '));
      assert.deepEqual(differences, expected);
    });
  }

  it('the title of a report has the ping interval, which is not listed as a difference in load', () => {
    const result = perfectResult();
    result.environment.server = { kind: 'untuned', tunings: {}, options: { pingInterval: '120000' } };
    const { title, differences } = describeReport('5k', result);
    assert.match(title, /120 s$/);
    assert.deepEqual(differences, []);
  });
});

describe('the page of a report', () => {
  const published = readReports().find(({ size }) => size === '32k');
  const markdown = published ? reportPage(published) : '';

  it('the page of a report has the answer, a chart and the full report', () => {
    assert.match(markdown, /^# 32,000 connections\n\n\*\*/);
    assert.match(markdown, /<figure>[\s\S]*<svg/);
    assert.match(markdown, /\]\(\/reports\/32k\/report\.html\)/);
  });

  it('the page of a report has no empty line within a chart, which would end the chart in Markdown', () => {
    const blocks = [...markdown.matchAll(/<(figure)>[\s\S]*?<\/\1>/g)];
    assert.ok(blocks.length > 0);
    for (const [block] of blocks) assert.doesNotMatch(block, /\n\s*\n/);
  });

  it('the page of a report shows no chart of an INVALID run', () => {
    const result = perfectResult();
    const invalid = withFindings(result, finding('MEMBERS_DISAGREE'));
    assert.doesNotMatch(reportPage(describeReport('5k', invalid)), /<svg|<table/);
  });
});

it('the table of machine sizes uses the largest VALID report, with a row for each headroom', () => {
  const large = resultWithPings();
  large.connections.target = 10_000;
  const invalid = resultWithPings();
  invalid.verdict = { status: 'INVALID' };
  const reports = [resultWithPings(), large, invalid].map((result, index) => describeReport(`${index}k`, result));
  const sizing = machineSizing(reports);
  assert.equal(sizing?.report.link, '/reports/1k');
  assert.equal(sizing?.headrooms.length, 2);
  assert.match(sizing?.headrooms[0]?.table ?? '', /1,000,000[\s\S]*at most 286/);
  assert.equal(machineSizing([]), undefined);
});

it('every page of the site is in its sidebar once', async () => {
  const { default: config } = await import('../../../docs/.vitepress/config.ts');
  const groups = config.themeConfig?.sidebar as { items: { link: string }[] }[];
  const listed = groups.flatMap(({ items }) => items.map(({ link }) => link.replace(/\/$/, '/index')));
  const written = globSync('docs/**/*.md', { exclude: (name) => /node_modules|about\.md$/.test(name) })
    .map((path) => path.replace(/^docs|\.md$/g, ''))
    .filter((path) => path !== '/index' && !path.includes('['));
  const studies = readMeasuredStudies().map(({ study }) => `/studies/${study.name}`);
  const generated = [...readReports().map(({ size }) => `/reports/${size}`), ...studies];
  assert.deepEqual(listed.toSorted(), [...written, ...generated].toSorted());
});
