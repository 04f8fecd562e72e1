/** A report's page: the Markdown that a run leaves, with the charts of its report.html above the tables. */
import type { Result } from '../../protocol/result/result.ts';
import { broadcastTimes, coverageByBroadcast, roundTripsByBroadcast } from '../../report/charts/broadcasts.ts';
import type { Chart } from '../../report/charts/draw.ts';
import { readingsOverTime } from '../../report/charts/drift.ts';
import { memoryFit } from '../../report/charts/memory-fit.ts';
import { connectionsOverTime, cpuOverTime, memoryOverTime } from '../../report/charts/over-time.ts';
import { oneWayPercentiles } from '../../report/charts/percentiles.ts';
import { layerTitle, mainLayers } from '../../report/figures/layers.ts';
import { figure, multiples } from '../../report/html/section.ts';
import { renderMarkdown } from '../../report/markdown/markdown.ts';

const RAM = 'RAM vs Connections (MB)';

type Drawing = (result: Result) => (Chart | null)[];

/** By the heading that they stand below. */
const DRAWINGS: Record<string, Drawing> = {
  'Connection Performance': (result) => [connectionsOverTime(result)],
  [RAM]: (result) => [memoryOverTime(result)],
  'Memory over Time (MB)': (result) => [readingsOverTime(result), memoryOverTime(result)],
  'Message Performance': (result) => [coverageByBroadcast(result), broadcastTimes(result)],
  Latency: (result) => [oneWayPercentiles(result), roundTripsByBroadcast(result)],
  CPU: (result) => [cpuOverTime(result)],
};

/** @param fullReport address of the run's report.html on the site */
export function reportPage(result: Result, fullReport: string): string {
  const markdown = renderMarkdown(result).replace(/^### (.+)$/gm, (heading, title: string) =>
    [heading, ...charts(result, title)].join('\n\n'),
  );
  const links = [
    `- [The full report of this run](${fullReport}){target="_self"}: one file, with every table.`,
    '- [What the keys of its result document mean](/reference/result); the document is in `docs/reports`.',
    '- [How each figure is measured](/method), and its limits.',
    '- [All sizes in one chart](/benchmarks/growth).',
  ];
  return `${markdown}\n## More\n\n${links.join('\n')}\n`;
}

function charts(result: Result, title: string): string[] {
  const drawn = (DRAWINGS[title]?.(result) ?? []).filter((chart) => chart !== null);
  const figures = [...(title === RAM ? [fits(result)] : []), ...drawn.map((chart) => figure(chart, ''))];
  // An empty line would end the HTML in Markdown.
  return figures.map(({ markup }) => markup.replace(/\n\s*\n/g, '\n').trim());
}

function fits(result: Result) {
  const note = 'Plateaus, the fitted line, and its 95 % band.';
  return multiples(
    mainLayers(result).flatMap((layer) => {
      const chart = memoryFit(result, layer);
      return chart === null ? [] : { chart, caption: layerTitle(result, layer), note };
    }),
  );
}
