/** Renders the blocks of a report as HTML: tables, charts and lines. */

import { BarChart, LineChart, ScatterChart } from 'echarts/charts';
import { GridComponent, MarkAreaComponent, MarkLineComponent } from 'echarts/components';
import { init, use } from 'echarts/core';
import { SVGRenderer } from 'echarts/renderers';
import type { Chart } from '../charts/chart.ts';
import type { LinesBlock, ReportBlock, Table, TableCell } from '../model/document.ts';
import { columnAlignments, TONE_SIGNS, tableTextCells } from '../model/table-text.ts';
import { type Html, type HtmlValue, html, trustedHtml } from './markup.ts';

use([BarChart, LineChart, ScatterChart, GridComponent, MarkAreaComponent, MarkLineComponent, SVGRenderer]);

const FONT = 'system-ui, sans-serif';
/** Widths of charts in pixels: on a wide screen (`WIDE`) and on a phone (`NARROW`). */
const WIDE = 1000;
const NARROW = 350;

/** Returns the chart as SVG for wide screens and for phones. */
export function chartSvg(chart: Chart): { wide: string; narrow: string } {
  return { wide: svg(chart, WIDE), narrow: svg(chart, NARROW) };
}

/**
 * Removes the CSS classes of ECharts, which a static picture does not need. ECharts numbers them across all charts of a
 * process.
 */
function svg({ height, option }: Chart, width: number): string {
  const chart = init(null, null, { renderer: 'svg', ssr: true, width, height });
  try {
    chart.setOption({ animation: false, textStyle: { fontFamily: FONT }, ...option(width) });
    return chart
      .renderToSVGString()
      .replace(/<style\b[\s\S]*?<\/style>/g, '')
      .replace(/ (?:class|pointer-events|ecmeta_\w+)="[^"]*"/g, '')
      .replace(/<rect [^>]*fill="none"><\/rect>/, '')
      .replace(`<svg width="${width}" height="${height}"`, '<svg aria-hidden="true"');
  } finally {
    chart.dispose();
  }
}

/** @param of title of the section; a table with the same title gets no heading of its own */
export function blockHtml(block: ReportBlock, of = ''): HtmlValue {
  switch (block.kind) {
    case 'table':
      return tableBlock(block, of);
    case 'chart': {
      const { chart, absent, folded } = block;
      return folding(folded && chart !== null, `Chart: ${chart?.title}`, chartHtml(chart, absent));
    }
    case 'lines':
      return linesHtml(block);
  }
}

/** @param chart chart; if null, the text `absent` is shown instead */
export function chartHtml(chart: Chart | null, absent: string): Html {
  if (chart === null) return html`${absent !== '' && html`<p class="absent">${absent}</p>`}`;
  return html`<figure>
<figcaption>${chart.title}</figcaption>
${
  chart.legend.length > 0 &&
  html`<ul class="legend">${chart.legend.map(
    ({ name, color, dash }) =>
      html`<li><span class="swatch ${dash ?? 'solid'}" style="border-color: ${color}"></span>${name}</li>`,
  )}</ul>`
}
${drawing(chart)}
</figure>
`;
}

function drawing(chart: Chart): Html {
  const { title, readout } = chart;
  const { wide, narrow } = chartSvg(chart);
  const drawn = html`<div class="chart wide" role="img" aria-label="${title}">${trustedHtml(wide)}</div>
<div class="chart narrow" role="img" aria-label="${title}">${trustedHtml(narrow)}</div>`;
  if (!readout || readout.at.length === 0) return drawn;
  return html`<div class="charted" data-title="${title}" data-readout="${JSON.stringify(readout)}">${drawn}</div>`;
}

function linesHtml({ style, lines }: LinesBlock): HtmlValue {
  if (style === 'list')
    return lines.length > 0 && html`<ul>${lines.map((line) => html`<li>${codeHtml(line)}</li>`)}</ul>`;
  const kind = style === 'text' ? '' : style;
  return lines.map((line) => html`<p class="${kind}">${codeHtml(line)}</p>\n`);
}

function tableBlock(table: Table, of: string): HtmlValue {
  const { title, folded, rows } = table;
  if (rows.length === 0) return null;
  const heading = !folded && title !== of && html`<h3>${title}</h3>`;
  return folding(folded, `Table: ${title}`, html`${heading}${tableHtml(table)}`);
}

function folding(folded: boolean, title: string, content: HtmlValue): HtmlValue {
  return folded ? html`<details><summary>${title}</summary>${content}</details>` : content;
}

/** Renders a table. Columns with mostly numbers are right-aligned. The title is the accessible name. */
export function tableHtml(table: Table): Html {
  const { title, head } = table;
  const rows = tableTextCells(table);
  const kinds = columnAlignments(rows).map((align) => (align === 'right' ? 'number' : 'text'));
  const titles = head.map(
    (cell, column) => html`<th scope="col" class="${kinds[column] ?? 'text'}">${codeHtml(cell)}</th>`,
  );
  return html`<div class="scroll" role="region" tabindex="0" aria-label="${title}"><table>
${titles.length > 0 && html`<thead><tr>${titles}</tr></thead>`}
<tbody>${rows.map(
    ([name = '', ...cells], row) =>
      html`<tr><th scope="row">${codeHtml(name)}</th>${cells.map(
        (text, index) => html`<td class="${kinds[index + 1]}">${cellHtml(table.rows[row]?.[index + 1], text)}</td>`,
      )}</tr>
`,
  )}</tbody>
</table></div>`;
}

function cellHtml(cell: TableCell | undefined, text: string): HtmlValue {
  if (typeof cell !== 'object' || !('mark' in cell)) return codeHtml(text);
  return html`<span class="${cell.mark}"><span aria-hidden="true">${TONE_SIGNS[cell.mark]} </span>${codeHtml(cell.text)}</span>`;
}

/** Returns HTML for a text. Text between backticks becomes code. */
export function codeHtml(text: string): HtmlValue {
  return text.split('`').map((part, index) => (index % 2 === 1 ? html`<code>${part}</code>` : part));
}
