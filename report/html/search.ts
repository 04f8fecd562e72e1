/** A search as one HTML file: the answer, how figures change with the level, the machines, and all runs. */
import type { Search } from '../../protocol/documents/search.ts';
import { levelsChart } from '../charts/levels.ts';
import { isUsable, measuredFigures } from '../figures/measured-figures.ts';
import { levelText, type SearchedRun } from '../search/answer.ts';
import {
  certaintyOf,
  evidenceTitle,
  NO_SIZING,
  questionOf,
  RUNS_HEAD,
  runRow,
  SIZING_HEAD,
  sizingNote,
  sizingRows,
  WALLS_HEAD,
  wallRow,
} from '../search/text.ts';
import { type Html, type HtmlValue, html } from './html.ts';
import { page } from './page.ts';
import { dataTable, multiples, section } from './section.ts';

/**
 * @param runs those of `search.runs`
 * @returns a self-contained HTML document
 */
export function renderSearch(search: Search, runs: SearchedRun[]): string {
  const { answer, plan, limit } = search;
  const title = evidenceTitle(search);
  const lines = [...certaintyOf(search), ...(limit ? [`To raise ${limit.name}: ${limit.raise}`] : [])];
  return page({
    title: 'Search for the maximum · socketio-capacity',
    subtitle: questionOf(plan).replaceAll('`', ''),
    body: html`<div class="verdict ${toneOf(search)}">
<h2 class="sentence">${coded(answer.sentence)}</h2>
${lines.map((line) => html`<p>${coded(line)}</p>`)}
</div>
${title !== null && evidence(title, search)}
${machines(search)}
${figures(runs)}
${section({
  id: 'runs',
  title: 'Runs',
  lead: 'In the order in which they were made. Each has its own report in the folder runs, and its output in logs.',
  body: dataTable(
    'Runs',
    RUNS_HEAD,
    search.runs.map((run) => runRow(run).map(cell)),
  ),
})}`,
  });
}

/** What stands between backticks is code. */
function coded(text: string): Html[] {
  return text.split('`').map((part, index) => (index % 2 === 1 ? html`<code>${part}</code>` : html`${part}`));
}

/** A number stays text, by which the table aligns it. */
function cell(text: string): HtmlValue {
  return text.includes('`') ? coded(text) : text;
}

/** Only a limit of the deployment that was found is an answer without reserve. */
function toneOf({ answer: { end } }: Search): string {
  if (end === 'found' || end === 'highest') return 'VALID';
  return end === 'none' ? 'INVALID' : 'SUSPECT';
}

function evidence(title: string, { answer }: Search): Html {
  return section({
    id: 'evidence',
    title,
    body: html`<ul>${answer.evidence.map((line) => html`<li>${coded(line)}</li>`)}</ul>`,
  });
}

function machines(search: Search): Html {
  const { sizing } = search;
  if (!sizing)
    return section({ id: 'machines', title: 'Machines of this kind', body: html`<p class="absent">${NO_SIZING}</p>` });
  return section({
    id: 'machines',
    title: 'Machines of this kind',
    lead: sizingNote(sizing, search.plan.headroom),
    body: html`${dataTable('Machines for a number of users', SIZING_HEAD, sizingRows(sizing))}
${dataTable(
  'Limits of one machine',
  WALLS_HEAD,
  sizing.walls.map((wall) => wallRow(wall).map(cell)),
)}`,
  });
}

/** At each level, the runs that are not INVALID; a single level has nothing to compare. */
function figures(runs: SearchedRun[]): Html | null {
  const byLevel = Map.groupBy(
    runs.filter(({ result }) => result && isUsable(result)),
    ({ run }) => run.level,
  );
  const levels = [...byLevel.keys()].sort((a, b) => a - b);
  if (levels.length < 2) return null;
  const measured = measuredFigures(
    levels.map((level) => (byLevel.get(level) ?? []).flatMap(({ result }) => result ?? [])),
  );
  const charts = measured.map(({ figure, spreads }) => ({
    chart: levelsChart(figure, levels.map(levelText), [{ name: '', spreads }]),
    caption: figure.title,
    note: '',
  }));
  return section({
    id: 'figures',
    title: 'By level',
    lead: 'Circles are means of the runs at a level, with Student’s 95 % interval of the mean where there are several.',
    body: multiples(charts),
  });
}
