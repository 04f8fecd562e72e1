import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import { describe, it } from 'node:test';
import { keptOfReport, keptOfStudyRun, SAMPLES_KEPT, serialize } from '../../../docs/kept.ts';
import { reportPage } from '../../../docs/reports/page.ts';
import { describeReport, readReports } from '../../../docs/reports/reports.ts';
import { readMeasuredStudies } from '../../../docs/studies/measured.ts';
import { type Result, resultSchema } from '../../../protocol/result/result.ts';
import { figureSpreads } from '../../../report/figures/measured-figures.ts';
import { perfectResult } from '../../helpers/results.ts';

const withSamples = (count: number): Result => ({
  ...perfectResult(),
  samples: Array.from({ length: count }, (_, t) => ({ t, connections: t })),
});

describe('what the site keeps of a result', () => {
  it('thins the time series evenly and keeps its ends', () => {
    const { samples } = keptOfReport(withSamples(1000));
    assert.equal(samples.length, SAMPLES_KEPT);
    assert.equal(samples[0]?.t, 0);
    assert.equal(samples.at(-1)?.t, 999);
    assert.equal(keptOfReport(withSamples(7)).samples.length, 7);
  });

  it('leaves every figure that a study compares as it was', () => {
    const result = withSamples(1000);
    const kept = keptOfStudyRun(result);
    assert.deepEqual([kept.samples, kept.latency.histograms, kept.delivery?.batches], [[], {}, []]);
    assert.deepEqual(figureSpreads([kept]), figureSpreads([result]));
    assert.deepEqual(kept.memory.perConnectionBytes, result.memory.perConnectionBytes);
  });

  it('is the same document when read again', () => {
    for (const kept of [keptOfReport(withSamples(3)), keptOfStudyRun(withSamples(3))]) {
      assert.deepEqual(resultSchema.parse(JSON.parse(serialize(kept))), kept);
    }
  });
});

describe('the results on the site', () => {
  it('keep to the schema, and are small', () => {
    for (const { size, result } of readReports()) {
      assert.ok(result.samples.length <= SAMPLES_KEPT, `${size}: put it there with docs/reports/add.ts`);
      assert.ok(serialize(result).length < 200_000, size);
    }
  });
});

describe('the title of a report', () => {
  const titled = (change: (result: Result) => void) => {
    const result = perfectResult();
    change(result);
    return describeReport('5k', result);
  };

  it('is its size', () => {
    const { title, differences } = titled(() => {});
    assert.match(title, /^[\d,]+ connections$/);
    assert.deepEqual(differences, []);
  });

  it('says what the clients of this run alone did', () => {
    const { title, differences } = titled(({ run, connections }) => {
      run.target = 'https://127.0.0.1:8443';
      connections.transports = { configured: 'default', websocket: 0, upgraded: 9, polling: 0, upgradeFailures: {} };
    });
    assert.match(title, / connections, TLS, default clients/);
    assert.equal(differences.length, 2);
  });

  it('names a ping interval of its own, which is no other load', () => {
    const { title, differences } = titled(({ environment }) => {
      environment.server = { kind: 'untuned', tunings: {}, options: { pingInterval: '120000' } };
    });
    assert.match(title, / connections, a ping every 120 s$/);
    assert.deepEqual(differences, []);
  });

  it('names the scenario that is of no size', () => {
    const { title } = describeReport('techracers', {
      ...perfectResult(),
      run: { ...perfectResult().run, scenario: 'techracers' },
    });
    assert.match(title, / connections, techracers$/);
  });
});

describe('the page of a report', () => {
  const published = readReports().find(({ size }) => size === '32k');
  const markdown = published ? reportPage(published) : '';

  it('begins with the answer, and has a chart, the published figures and the full report', () => {
    assert.match(markdown, /^# 32,000 connections\n\n\*\*Passed\.\*\*/);
    assert.match(markdown, /<figure>[\s\S]*<svg/);
    assert.match(markdown, />the report<[\s\S]*>us: VALID</);
    assert.match(markdown, /\]\(\/reports\/32k\/report\.html\)/);
  });

  it('has no empty line within a chart or a table, which would end it in Markdown', () => {
    const blocks = [...markdown.matchAll(/<(figure|table)>[\s\S]*?<\/\1>/g)];
    assert.ok(blocks.length >= 2);
    for (const [block] of blocks) assert.doesNotMatch(block, /\n\s*\n/);
  });

  it('shows no figure and no chart of an INVALID run', () => {
    const result = perfectResult();
    result.verdict = { status: 'INVALID', reasons: [{ code: 'MEMBERS_DISAGREE', message: 'they do' }] };
    assert.doesNotMatch(reportPage(describeReport('5k', result)), /<svg|connections held/);
  });
});

it('every page of the site is in its sidebar, once', async () => {
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
