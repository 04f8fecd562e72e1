/** Renders a report's page: the answer, the first chart, and a link to the full report. */
import { isUsable } from '../../report/figures/measured-figures.ts';
import { figure } from '../../report/render/blocks.ts';
import { renderSummary } from '../../report/render/markdown.ts';
import { runDocument } from '../../report/sections/run-document.ts';
import { inMarkdown } from '../figures.ts';
import { fullReport, type Report } from './reports.ts';

export function reportPage({ size, title, result }: Report): string {
  const document = runDocument(result);
  const chart = document.sections
    .filter(({ folded }) => !folded)
    .flatMap(({ blocks }) => blocks)
    .flatMap((block) => (block.kind === 'chart' && !block.folded ? (block.chart ?? []) : []))
    .at(0);
  return [
    renderSummary({ ...document, title }, []),
    ...(chart && isUsable(result) ? [inMarkdown(figure(chart, ''))] : []),
    `[The full report of this run](${fullReport(size)}){target="_self"} has every table and chart. [Method](/method) defines each figure.`,
    '',
  ].join('\n\n');
}
