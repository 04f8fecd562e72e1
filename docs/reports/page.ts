/** A report's page: the answer, its first chart, the published figures for the same size, and where the rest is. */
import { isUsable } from '../../report/figures/measured-figures.ts';
import { figure } from '../../report/render/blocks.ts';
import { renderSummary } from '../../report/render/markdown.ts';
import { runDocument } from '../../report/sections/run-document.ts';
import { besidePublished } from '../studies/published-report.ts';
import { fullReport, type Report } from './reports.ts';

export function reportPage({ size, title, differences, result }: Report): string {
  const document = runDocument(result);
  const chart = document.sections
    .filter(({ folded }) => !folded)
    .flatMap(({ blocks }) => blocks)
    .flatMap((block) => (block.kind === 'chart' && !block.folded ? (block.chart ?? []) : []))
    .at(0);
  const published = differences.length === 0 && isUsable(result) ? besidePublished(result) : null;
  return [
    renderSummary({ ...document, title }, []),
    ...(chart && isUsable(result) ? [inMarkdown(figure(chart, '').markup)] : []),
    ...(published ? ['## Beside the published benchmark report', inMarkdown(published.markup)] : []),
    ...(published ? ['[Published studies](/studies/) explains the columns and the grade.'] : []),
    `[The full report of this run](${fullReport(size)}){target="_self"} has every table and chart. [Method](/method) defines each figure.`,
    '',
  ].join('\n\n');
}

/** An empty line would end the HTML in Markdown. */
function inMarkdown(markup: string): string {
  return markup.replace(/\n\s*\n/g, '\n').trim();
}
