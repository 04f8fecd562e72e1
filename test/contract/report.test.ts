/** Checks that no report contradicts itself or its result. Tested with published results and with changed results. */
import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import { describe, it } from 'node:test';
import { readReports, reportPage } from '../../docs/reports/reports.ts';
import { readMeasuredStudies, studyPage } from '../../docs/studies/page.ts';
import type { Result } from '../../protocol/result/result.ts';
import { exitCodeOfResult } from '../../report/answer/outcome.ts';
import { limitName } from '../../report/figures/limits.ts';
import { memoryPerConnection } from '../../report/figures/per-connection.ts';
import { amount, amountText } from '../../report/model/amount.ts';
import { linesBlock, type ReportDocument, type Table } from '../../report/model/document.ts';
import { tableTextCells } from '../../report/model/table-text.ts';
import { readResult } from '../../report/read.ts';
import { renderRunConsole } from '../../report/render/console.ts';
import { renderHtml } from '../../report/render/html.ts';
import { renderJunit } from '../../report/render/junit.ts';
import { renderMarkdown } from '../../report/render/markdown.ts';
import { runDocument } from '../../report/sections/run-document.ts';
import { answered, finding } from '../helpers/findings.ts';
import { ROOT } from '../helpers/pages.ts';
import { textOfPage } from '../helpers/report-text.ts';

const PUBLISHED = globSync('docs/{reports/*/result.json,studies/*/runs/*.json}', { cwd: ROOT });
/**
 * Pages with charts take a second to draw, so they are checked only for reports. Other formats are checked for all
 * results.
 */
const isDrawn = (path: string) => path.startsWith('docs/reports/');
/** Terms of a foreign benchmark report. Only the page that compares with that report may use them. */
const FOREIGN = /theoretical max|\bgrade\b|\(approx\)|peak ÷/i;
const COST = 'What a connection costs this deployment';
/**
 * Headlines and sentences about the cost of a connection. Costs in tables do not count, because their layer stands
 * beside them.
 */
const COSTS = [
  /memory per connection[^\d]{0,12}([\d,.]+) KB/gi,
  /([\d,.]+) KB (?:per|a|each) connection/gi,
  /(?:together|layers use|connection (?:costs|takes|keeps|needs))[^\d\n]{0,30}([\d,.]+) KB/gi,
];

/** @returns the figures that a text presents as the cost of a connection */
function costsIn(text: string): Set<string> {
  return new Set(COSTS.flatMap((pattern) => [...text.matchAll(pattern)].map(([, cost]) => String(cost))));
}

const amountOf = (cell: Table['rows'][number][number] | undefined) =>
  typeof cell === 'object' && 'quantity' in cell ? cell : null;

/** @returns contradictions between the report and its result, or within the report */
function contradictionsIn(document: ReportDocument, result: Result, drawn = true): string[] {
  const { answer, sections } = document;
  const { memory, delivery, connections } = result;
  const tables = sections.flatMap(({ blocks }) => blocks.filter((block) => block.kind === 'table'));
  const forms = [
    renderMarkdown(document),
    renderRunConsole(document, { color: false, width: 200, verbose: true }),
    drawn ? textOfPage(renderHtml(document)) : '',
  ];
  const findingTexts = answer.findings.flatMap(({ text }) => text ?? []);
  const figures = answer.findings.flatMap(({ figure }) => figure ?? []);

  const isAsked = !result.fault && !memory.overTime && result.verdict.status !== 'INVALID';
  const headline = figures.find(({ name }) => name === 'Memory per connection')?.value;
  const shown = typeof headline === 'object' ? headline : undefined;
  const costs = tables.filter(({ title }) => title === COST);
  const isKnown = isAsked && costs.length > 0 && shown !== undefined;
  const headlineSaid = findingTexts.find((text) => text.startsWith('memory per connection'));

  const parts = costs.flatMap(({ rows }) => rows.slice(0, -1));
  const cells = parts.map(([, cell]) => amountOf(cell));
  const total = amountOf(costs[0]?.rows.at(-1)?.[1])?.value ?? null;
  const sum = cells.reduce((all, cell) => all + (cell?.value ?? cell?.interval?.high95 ?? 0), 0);
  // If parts of a sum are intervals, the total is comparable only with the sum of their upper ends.
  const isPoint = cells.every((cell) => !cell?.interval || cell.value !== null);
  const doubts = parts.map(([name]) => {
    const layer = { workers: 'workerRss', proxy: 'nginxRss', kernel: 'kernelSlab' }[String(name)];
    return layer && memory.perConnectionBytes[layer]?.doubt;
  });

  const held = connections.held ?? connections.peak;
  const limits = tables.filter(({ title }) => title.startsWith('Limits')).flatMap(({ rows }) => rows);
  const maxima = [
    ...limits.flatMap(([, cell]) => amountOf(cell)?.value ?? []),
    ...findingTexts.flatMap((text) =>
      Number(/^next limit: ([\d,]+) /.exec(text)?.[1]?.replaceAll(',', '') ?? Infinity),
    ),
  ];

  const latency = tables.find(({ title }) => title === 'Latency of all broadcasts');
  const every = latency && tableTextCells(latency).find(([name]) => name === 'Every copy');
  const hasP99 =
    figures.some(({ name }) => name === 'Latency p99') || (every && every[latency.head.indexOf('p99')] !== '–');

  return Object.entries({
    'a rule of another report': forms.some((text) => FOREIGN.test(text)),
    'two costs of a connection': !memory.overTime && costsIn(forms.join('\n')).size > 1,
    'passed, with another exit code': exitCodeOfResult(result) !== 0 && /^Passed/.test(answer.title),
    'all delivered, but copies are missing':
      delivery?.received !== delivery?.expected && findingTexts.some((text) => /^all .* delivered to /.test(text)),
    'a cost without a measurement of it': !isAsked && headline !== undefined,
    'no headline': isAsked && shown === undefined,
    'two headlines': isKnown && !headlineSaid?.includes(amountText(shown)),
    'no answer': isKnown && shown.value === null && !shown.interval && !shown.next && !shown.why,
    'a sum that differs from its parts': total !== null && (isPoint ? Math.abs(total - sum) > 1 : total > sum),
    'a part of the generator': parts.some(([name]) => /generator|fleet|artillery/i.test(String(name))),
    'a part without a figure': doubts.includes('miscounted'),
    'a limit below what was held': maxima.some((max) => max < held),
    'a percentile of too few broadcasts': (delivery?.broadcasts ?? 0) < 100 && hasP99,
  }).flatMap(([contradiction, isFound]) => (isFound ? [contradiction] : []));
}

describe('the report of each published result', () => {
  for (const path of PUBLISHED) {
    it(`the figures in the published report agree with each other: ${path}`, () => {
      const result = readResult(`${ROOT}/${path}`);
      const document = runDocument(result);
      assert.deepEqual(contradictionsIn(document, result, isDrawn(path)), []);
      const junit = renderJunit(result);
      assert.doesNotMatch(junit, FOREIGN);
      assert.ok(result.memory.overTime || costsIn(junit + renderMarkdown(document)).size <= 1, 'another cost in JUnit');
    });
  }
});

it('each report page has at most one cost of a connection, and no terms of other report formats', () => {
  for (const report of readReports()) {
    const page = textOfPage(reportPage(report));
    assert.ok(report.result.memory.overTime || costsIn(page).size <= 1, `${report.size}: ${[...costsIn(page)]}`);
    assert.doesNotMatch(page, FOREIGN, report.size);
  }
  for (const study of readMeasuredStudies()) assert.doesNotMatch(studyPage(study), FOREIGN, study.study.name);
});

describe('a contradiction', () => {
  const original = readResult(`${ROOT}/docs/reports/5k/result.json`);
  const results: Record<string, (result: Result) => unknown> = {
    'a part without a figure': ({ memory }) =>
      Object.assign(memory.perConnectionBytes.nginxRss ?? {}, { doubt: 'miscounted' }),
    'passed, with another exit code': ({ findings }) => findings.push(finding('SWAPPING')),
    'all delivered, but copies are missing': ({ delivery }) => {
      for (const counts of [delivery, delivery?.batches[0]]) if (counts) counts.received--;
    },
    'a limit below what was held': ({ connections }) => Object.assign(connections, { held: 252_000 }),
    'a percentile of too few broadcasts': ({ delivery }) => Object.assign(delivery ?? {}, { broadcasts: 20 }),
  };
  for (const [name, change] of Object.entries(results)) {
    it(`the contradiction check finds the contradiction in a changed report: ${name}`, () => {
      const changed = structuredClone(original);
      change(changed);
      changed.memory.perConnection = memoryPerConnection(changed);
      const result = answered(changed);
      assert.deepEqual(contradictionsIn(runDocument(original), result), [name]);
      assert.deepEqual(contradictionsIn(runDocument(result), result), []);
    });
  }

  /** Sentences of older reports, which had several headlines. */
  const SENTENCES: [contradiction: string, text: string][] = [
    ['a rule of another report', 'Theoretical Max Connections: 8,377'],
    ['a rule of another report', 'Memory per Connection (approx): 250.3 KB'],
    ['a rule of another report', 'Grade: A'],
    ['two costs of a connection', 'Together, the layers use 42.3 KB.'],
    ['two costs of a connection', 'A connection costs 45.0 KB.'],
    ['two costs of a connection', '26.7 KB per connection'],
  ];
  for (const [contradiction, text] of SENTENCES) {
    it(`the contradiction check finds the contradiction in the sentence: ${text}`, () => {
      const document = runDocument(original);
      document.sections[0]?.blocks.push(linesBlock('text', [text]));
      assert.ok(contradictionsIn(document, original, false).includes(contradiction));
    });
  }

  it('the contradiction check finds a limit in a report below the connections that were held', () => {
    const large = readResult(`${ROOT}/docs/reports/250k/result.json`);
    const document = runDocument(large);
    const [limits] = document.sections.find(({ id }) => id === 'capacity')?.blocks ?? [];
    assert.ok(limits?.kind === 'table');
    limits.rows.push(['Connections that fit into 2,048 MB of workers', amount('count', 98_547), '']);
    assert.deepEqual(contradictionsIn(document, large, false), ['a limit below what was held']);
  });

  it('a report shows a limit that has no title by its name', () => {
    assert.equal(limitName('nextVersion'), 'nextVersion');
  });
});
