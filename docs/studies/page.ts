/** A study's page: the answer that its runs allow, a picture, the table of its figures, and what its about.md adds. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Levels } from '../../protocol/documents/study.ts';
import type { Result } from '../../protocol/result/result.ts';
import { countBars } from '../../report/charts/bars.ts';
import type { Chart } from '../../report/charts/chart.ts';
import { valueAt } from '../../report/figures/figures.ts';
import { isUsable } from '../../report/figures/measured-figures.ts';
import { numberText, quantityOf, withUnit } from '../../report/model/amount.ts';
import { dataTable, figure } from '../../report/render/blocks.ts';
import { spreadOf } from '../../report/statistics/spread.ts';
import { doubtsOf, holesOf } from '../../report/study/document.ts';
import { combinationsOf, questionsOf } from '../../report/study/summarize.ts';
import { integer } from '../../report/text/format.ts';
import { answersOf, levelName } from './answers.ts';
import { fullStudy, type MeasuredStudy, STUDIES } from './measured.ts';
import { STUDY_PAGES, type StudyPage, shownFigure } from './pages.ts';

interface Combination {
  /** Of the names that vary. */
  levels: Levels;
  /** Usable runs. */
  results: Result[];
}

/** What the overview shows of a study. */
export interface StudySummary {
  answers: string[];
  /** HTML. */
  picture: string;
}

export function studySummary(measured: MeasuredStudy, page: StudyPage): StudySummary {
  const answers = answersOf(measured, page.about);
  const [first = asMeasured(measured, page), ...others] = answers;
  return { answers: [first, ...others], picture: markupOf(pictureOf(measured, page)) };
}

/** @returns the page as Markdown with HTML in it */
export function studyPage(measured: MeasuredStudy): string {
  const { study, runs } = measured;
  const page = STUDY_PAGES[study.name] ?? { title: study.name, about: '', picture: 'connections.peak', columns: [] };
  const { answers, picture } = studySummary(measured, page);
  const results = combinationsIn(measured).flatMap((one) => one.results);
  const [first = '', ...others] = answers;
  return [
    `# ${page.title}`,
    `**${first}**`,
    bullets(others),
    picture,
    '## Figures',
    markupOf(tableOf(measured, page)),
    'Each cell is the mean of the runs and, where they differ, the lowest and the highest. – means not measured, or lost in noise. 1 KB is 1,024 bytes. A message is one broadcast at one connection.',
    bullets([
      ...circumstances(results),
      ...holesOf(study).map((hole) => `Missing: ${hole}`),
      ...doubtsOf(runs, questionsOf(study.plan, runs)).map((doubt) => `Doubt: ${doubt}`),
      `[The full study](${fullStudy(study.name)}){target="_self"} has every figure with its interval.`,
    ]),
    aboutOf(study.name),
    '## Run it yourself',
    `\`\`\`sh\nnpx socketio-capacity study scenarios/studies/${study.name}.yml\n\`\`\``,
    `In a checkout, \`node docs/studies/add.ts results/study-${study.name}\` puts the runs on this page.`,
  ]
    .filter((part) => part !== '')
    .join('\n\n');
}

/** What was read, without a claim that it differs: a single run does not show the noise. */
function asMeasured(measured: MeasuredStudy, { picture }: StudyPage): string {
  const { title, quantity } = shownFigure(picture);
  const read = combinationsIn(measured).flatMap(({ levels, results }) => {
    const value = meanOf(results, picture);
    return value === null ? [] : [{ value, text: `${withUnit(quantity, value)} (${labelOf(levels)})` }];
  });
  const inOrder = read.toSorted((a, b) => a.value - b.value).map(({ text }) => text);
  const range = inOrder.length > 1 ? `${inOrder[0]} to ${inOrder.at(-1)}` : (inOrder[0] ?? 'nothing');
  return `Too few runs to tell a difference. As measured, ${title}: ${range}.`;
}

function pictureOf(measured: MeasuredStudy, { picture }: StudyPage): Chart | null {
  const { title, quantity } = shownFigure(picture);
  const { unit, onAxis = (value: number) => value } = quantityOf(quantity);
  const means = combinationsIn(measured).flatMap(({ levels, results }) => {
    const mean = meanOf(results, picture);
    return mean === null ? [] : [[labelOf(levels), onAxis(mean)]];
  });
  return countBars(unit === '' ? title : `${title}, ${unit}`, Object.fromEntries(means), undefined, (value) =>
    numberText('count', Math.round(value * 100) / 100),
  );
}

function tableOf(measured: MeasuredStudy, { picture, columns }: StudyPage) {
  const combinations = combinationsIn(measured);
  const shown = [...new Set([picture, ...columns])]
    .map(shownFigure)
    .filter(({ path }) => combinations.some(({ results }) => meanOf(results, path) !== null));
  const names = Object.keys(combinations[0]?.levels ?? {});
  const head = [...names, 'Runs', ...shown.map(({ title, quantity }) => titled(title, quantityOf(quantity).unit))];
  const rows = combinations.map(({ levels, results }) => [
    ...names.map((name) => String(levels[name])),
    results.map(({ verdict }) => verdict.status).join(', ') || 'no run',
    ...shown.map(({ path, quantity }) => cell(results, path, (value) => numberText(quantity, value))),
  ]);
  return dataTable(measured.study.title, head, rows);
}

function cell(results: Result[], path: string, text: (value: number) => string): string {
  const spread = spreadOf(valuesOf(results, path));
  if (!spread) return '–';
  const [mean, min, max] = [spread.mean, spread.min, spread.max].map(text);
  return min === max ? `${mean}` : `${mean} (${min} to ${max})`;
}

function valuesOf(results: Result[], path: string): number[] {
  return results.map((result) => valueAt(result, path)).filter((value) => typeof value === 'number');
}

function meanOf(results: Result[], path: string): number | null {
  return spreadOf(valuesOf(results, path))?.mean ?? null;
}

/** @returns the study's combinations in its order, also those without a run that can be used */
function combinationsIn({ study, runs }: MeasuredStudy): Combination[] {
  const varied = Object.keys(study.plan.vary).filter((name) => (study.plan.vary[name]?.length ?? 0) > 1);
  return combinationsOf(study.plan).map((all) => ({
    levels: Object.fromEntries(varied.flatMap((name) => (name in all ? [[name, all[name] as string]] : []))),
    results: runs.flatMap(({ levels, result }) =>
      result && isUsable(result) && varied.every((name) => levels[name] === all[name]) ? [result] : [],
    ),
  }));
}

function labelOf(levels: Levels): string {
  return Object.entries(levels)
    .map(([name, level]) => levelName(name, level))
    .join(', ');
}

function circumstances(results: Result[]): string[] {
  const all = (values: (string | number | undefined)[]) => [...new Set(values)].filter(Boolean).join(', ');
  if (results.length === 0) return [];
  const environments = results.map(({ environment }) => environment);
  const idle = results.flatMap(({ machine }) => machine?.cpuIdlePercent.ramp ?? []).map(Math.round);
  return [
    `${all(environments.map(({ cpu }) => cpu))}, ${all(environments.map(({ cpuCount }) => integer(cpuCount)))} cores, which the load generator used, too; ${all(environments.map(({ kernel }) => kernel))}.`,
    `Node ${all(environments.map(({ versions }) => versions.serverNode))}; Socket.IO ${all(environments.map(({ versions }) => versions.socketIo).filter((version) => version !== 'none'))}; Redis ${all(results.map(({ redis }) => redis?.version)) || 'not used'}.`,
    ...(idle.length > 0 ? [`Idle CPU during the ramps: ${Math.min(...idle)} to ${Math.max(...idle)} %.`] : []),
  ];
}

function aboutOf(name: string): string {
  const path = join(STUDIES, name, 'about.md');
  return existsSync(path) ? readFileSync(path, 'utf8').trim() : '';
}

function titled(title: string, unit: string): string {
  return unit === '' ? title : `${title}, ${unit}`;
}

function bullets(lines: string[]): string {
  return lines.map((line) => `- ${line}`).join('\n');
}

/** An empty line would end the HTML in Markdown. */
function markupOf(content: Chart | null | { markup: string }): string {
  const html = content !== null && 'markup' in content ? content : figure(content, '');
  return html.markup.replace(/\n\s*\n/g, '\n').trim();
}
