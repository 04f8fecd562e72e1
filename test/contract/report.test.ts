/** No report of a published result contradicts itself, nor one of a result that was changed. */
import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import { describe, it } from 'node:test';
import type { Result } from '../../protocol/result/result.ts';
import { exitCodeOf } from '../../report/answer/outcome.ts';
import { limitName } from '../../report/figures/limits.ts';
import { perConnectionOf } from '../../report/figures/per-connection.ts';
import { amountText } from '../../report/model/amount.ts';
import type { Document, Table } from '../../report/model/document.ts';
import { textCells } from '../../report/model/table-text.ts';
import { readResult } from '../../report/read.ts';
import { renderRun } from '../../report/render/console.ts';
import { renderHtml } from '../../report/render/html.ts';
import { renderJunit } from '../../report/render/junit.ts';
import { renderMarkdown } from '../../report/render/markdown.ts';
import { runDocument } from '../../report/sections/run-document.ts';
import { ROOT } from '../helpers/pages.ts';

const PUBLISHED = globSync('docs/{reports/*/result.json,studies/*/runs/*.json}', { cwd: ROOT });
/** Drawing takes a second: pages are checked of the reports, and the other forms of all. */
const isDrawn = (path: string) => path.startsWith('docs/reports/');
/** Rules of the published benchmark report, which only the page that compares with it follows. */
const FOREIGN = /theoretical max|\bgrade\b|\(approx\)|peak ÷/i;
const COST = 'What a connection costs this deployment';

/** @returns what the report says of the result that contradicts the result, or itself */
function contradictionsIn(document: Document, result: Result, drawn = true): string[] {
  const { findings } = document.answer;
  const tables = document.sections.flatMap(({ blocks }) => blocks.filter((block) => block.kind === 'table'));
  const forms = [
    renderMarkdown(document),
    renderRun(document, { color: false, width: 200, verbose: true }),
    drawn ? textOfPage(renderHtml(document)) : '',
  ];
  return [
    ...(forms.some((text) => FOREIGN.test(text)) ? ['a rule of another report'] : []),
    ...(!result.memory.overTime && costsIn(forms.join('\n')).size > 1 ? ['two costs of a connection'] : []),
    ...outcome(document, result),
    ...headline(findings, tables, result),
    ...sums(tables, result),
    ...limits(findings, tables, result),
    ...percentiles(document, result),
  ];
}

function textOfPage(html: string): string {
  return html.replace(/<(style|script|svg)\b.*?<\/\1>/gs, '').replace(/<[^>]*>/g, '');
}

/** In words, as a headline or a sentence: what a table has of each layer says which layer it is. */
const COSTS = [
  /memory per connection[^\d]{0,12}([\d,.]+) KB/gi,
  /([\d,.]+) KB (?:per|a|each) connection/gi,
  /(?:together|layers use|connection (?:costs|takes|keeps|needs))[^\d\n]{0,30}([\d,.]+) KB/gi,
];

/** @returns the figures that are called the cost of a connection */
function costsIn(text: string): Set<string> {
  return new Set(COSTS.flatMap((pattern) => [...text.matchAll(pattern)].map(([, cost]) => String(cost))));
}

/** The title, the exit code, and what was delivered say the same. */
function outcome({ answer }: Document, result: Result): string[] {
  const said = answer.findings.flatMap(({ text }) => text ?? []).join('\n');
  const { delivery } = result;
  const isWhole = !delivery || delivery.received === delivery.expected;
  return [
    ...(exitCodeOf(result) !== 0 && /^Passed/.test(answer.title) ? ['passed, with another exit code'] : []),
    ...(/^all .* delivered to everybody/m.test(said) && !isWhole ? ['delivered to everybody, but for some'] : []),
  ];
}

function headline(findings: Document['answer']['findings'], tables: Table[], result: Result): string[] {
  const figures = findings.flatMap(({ figure }) => (figure?.name === 'Memory per connection' ? [figure.value] : []));
  const isAsked = !result.fault && !result.memory.overTime && result.verdict.status !== 'INVALID';
  if (!isAsked) return figures.length > 0 ? ['a cost that nobody asked for'] : [];
  const [figure] = figures;
  if (figure === undefined || typeof figure === 'string') return ['no headline'];
  const known = [...tables.filter(({ title }) => title === COST)].length > 0;
  const said = findings.find(({ text }) => text?.startsWith('memory per connection'))?.text;
  return [
    ...(known && !said?.includes(amountText(figure)) ? ['two headlines'] : []),
    ...(known && figure.value === null && !figure.interval && !figure.next && !figure.why ? ['no answer'] : []),
  ];
}

/** The parts add up to the headline, and none of them is the generator's or has no figure. */
function sums(tables: Table[], { memory }: Result): string[] {
  return tables
    .filter(({ title }) => title === COST)
    .flatMap(({ rows }) => {
      const cells = rows.map(([, cell]) => (typeof cell === 'object' ? cell : null));
      const total = cells.pop()?.value ?? null;
      const sum = cells.reduce((all, cell) => all + (cell?.value ?? cell?.interval?.high95 ?? 0), 0);
      // Of parts that are intervals, the lower end of them all is what there is at least.
      const isPoint = cells.every((cell) => !cell?.interval || cell.value !== null);
      const names = rows.slice(0, -1).map(([name]) => String(name));
      const foreign = names.some((name) => /generator|fleet|artillery/i.test(name));
      const spoilt = names.some((name) => {
        const layer = { workers: 'workerRss', proxy: 'nginxRss', kernel: 'kernelSlab' }[name];
        const doubt = layer === undefined ? undefined : memory.perConnectionBytes[layer]?.doubt;
        return doubt !== undefined && doubt !== 'curved';
      });
      return [
        ...(total !== null && (isPoint ? Math.abs(total - sum) > 1 : total > sum)
          ? ['a sum that is not that of its parts']
          : []),
        ...(foreign ? ['a part that is the generator’s'] : []),
        ...(spoilt ? ['a part without a figure'] : []),
      ];
    });
}

function limits(findings: Document['answer']['findings'], tables: Table[], { connections }: Result): string[] {
  const held = connections.held ?? connections.peak;
  const rows = tables.filter(({ title }) => title.startsWith('Limits')).flatMap(({ rows: all }) => all);
  const isBelow = rows.some(([name, cell]) => {
    const isBudget = String(name).startsWith('Connections that fit');
    return !isBudget && typeof cell === 'object' && cell.value !== null && cell.value < held;
  });
  const next = findings.flatMap(({ text }) => /^next limit: ([\d,]+) /.exec(text ?? '')?.[1] ?? []);
  return [
    ...(isBelow || next.some((max) => Number(max.replaceAll(',', '')) < held) ? ['a limit below what was held'] : []),
    ...(findings.some(({ text }) => text?.includes('memoryBudget')) ? ['a budget as a limit'] : []),
  ];
}

/** No percentile of fewer broadcasts than it takes. */
function percentiles({ answer, sections }: Document, { delivery }: Result): string[] {
  const few = (delivery?.broadcasts ?? 0) < 100;
  const said = answer.findings.some(({ figure }) => figure?.name === '99 % of copies arrived within');
  const table = sections
    .flatMap(({ blocks }) => blocks.filter((block) => block.kind === 'table'))
    .find(({ title }) => title === 'Latency of all broadcasts');
  const column = table?.head.indexOf('p99') ?? -1;
  const shown =
    table && textCells(table).some(([name, ...cells]) => name === 'Every copy' && cells[column - 1] !== '–');
  return few && (said || shown) ? ['a percentile that so few broadcasts do not carry'] : [];
}

describe('the report of each published result', () => {
  for (const path of PUBLISHED) {
    it(path, () => {
      const result = readResult(`${ROOT}/${path}`);
      const document = runDocument(result);
      assert.deepEqual(contradictionsIn(document, result, isDrawn(path)), []);
      const junit = renderJunit(result);
      assert.doesNotMatch(junit, FOREIGN);
      assert.ok(result.memory.overTime || costsIn(junit + renderMarkdown(document)).size <= 1, 'another cost in JUnit');
    });
  }
});

describe('a contradiction', () => {
  const original = readResult(`${ROOT}/docs/reports/5k/result.json`);
  const results: Record<string, (result: Result) => unknown> = {
    'a part without a figure': ({ memory }) =>
      Object.assign(memory.perConnectionBytes.nginxRss ?? {}, { doubt: 'grows' }),
    'passed, with another exit code': ({ verdict }) => Object.assign(verdict, { status: 'SUSPECT' }),
    'delivered to everybody, but for some': ({ delivery }) => {
      for (const counts of [delivery, delivery?.batches[0]]) if (counts) counts.received--;
    },
    'a limit below what was held': ({ connections }) => Object.assign(connections, { held: 252_000 }),
    'a percentile that so few broadcasts do not carry': ({ delivery }) =>
      Object.assign(delivery ?? {}, { broadcasts: 20 }),
  };
  for (const [name, change] of Object.entries(results)) {
    it(`is found, and no report of such a result has it: ${name}`, () => {
      const result = structuredClone(original);
      change(result);
      result.memory.perConnection = perConnectionOf(result);
      assert.deepEqual(contradictionsIn(runDocument(original), result), [name]);
      assert.deepEqual(contradictionsIn(runDocument(result), result), []);
    });
  }

  it('limits that nobody knows keep their names', () => {
    assert.equal(limitName('nextVersion'), 'nextVersion');
  });
});
