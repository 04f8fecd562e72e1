/** A report's page: the summary that a run leaves, with the charts of its report.html below. */
import type { Result } from '../../protocol/result/result.ts';
import type { Section } from '../../report/model/document.ts';
import { figure } from '../../report/render/blocks.ts';
import { renderSummary } from '../../report/render/markdown.ts';
import { runDocument } from '../../report/sections/run-document.ts';
import { describeReport } from './reports.ts';

/** @param fullReport address of the run's report.html on the site */
export function reportPage(result: Result, fullReport: string): string {
  const document = runDocument(result);
  const { title } = describeReport(result.run.scenario, result);
  const charts = result.verdict.status === 'INVALID' ? [] : document.sections.flatMap(chartsOf);
  const links = [
    `- [The full report of this run](${fullReport}){target="_self"}: one file, with every table.`,
    '- [What the keys of its result document mean](/reference/result); the document is in `docs/reports`.',
    '- [How each figure is measured](/method), and its limits.',
    '- [All sizes in one chart](/benchmarks#growth).',
  ];
  return [renderSummary({ ...document, title }, []), ...charts, '## More', links.join('\n'), ''].join('\n\n');
}

/** Those that are seen without opening anything. */
function chartsOf({ title, folded, blocks }: Section): string[] {
  const charts = blocks.flatMap((block) =>
    block.kind === 'chart' && block.chart !== null && !block.folded && !folded ? [block.chart] : [],
  );
  if (charts.length === 0) return [];
  // An empty line would end the HTML in Markdown.
  return [
    `## ${title}`,
    ...charts.map((chart) =>
      figure(chart, '')
        .markup.replace(/\n\s*\n/g, '\n')
        .trim(),
    ),
  ];
}
