/** The parts that sections are made of: headings, charts, and tables. */
import type { Chart } from '../charts/draw.ts';
import { type Html, type HtmlValue, html, trusted } from './html.ts';

interface Section {
  id: string;
  title: string;
  lead?: HtmlValue;
  body: HtmlValue;
  /** Only its title is shown until somebody opens it. */
  folded?: boolean;
}

export const NOT_MEASURED = 'not measured';

export function section({ id, title, lead, body, folded = false }: Section): Html {
  const heading = html`<h2 id="${id}-title">${title}</h2>`;
  const content = html`${lead && html`<p class="lead">${lead}</p>`}
${body}`;
  return html`<section id="${id}" aria-labelledby="${id}-title">
${folded ? html`<details class="folded"><summary>${heading}</summary>${content}</details>` : html`${heading}${content}`}
</section>
`;
}

/** What is behind a chart, folded. */
export function behind(title: string, content: HtmlValue): Html {
  return html`<details><summary>${title}</summary>${content}</details>`;
}

/** A section of which the run knows nothing. */
export function absentSection(id: string, title: string, reason: string): Html {
  return section({ id, title, body: html`<p class="absent">Not measured: ${reason}.</p>` });
}

/** @param chart null to show `absent` instead @param table below it, folded */
export function figure(chart: Chart | null, absent: string, table?: Html | null | false): Html {
  if (chart === null) return html`<p class="absent">${absent}</p>${table}`;
  return html`<figure>
<figcaption>${chart.title}</figcaption>
${chart.legend.length > 0 && legend(chart)}
${drawing(chart)}
</figure>
${table && html`<details><summary>Table: ${chart.title}</summary>${table}</details>`}
`;
}

/** Small charts side by side, each with a line of text below. */
export function multiples(charts: { chart: Chart; caption: string; note: HtmlValue }[]): Html {
  const figures = charts.map(
    ({ chart, caption, note }) => html`<figure>
<figcaption>${caption}</figcaption>
${drawing(chart)}
<p class="note">${note}</p>
</figure>
`,
  );
  return html`<div class="multiples">${figures}</div>`;
}

function drawing({ title, wide, narrow, readout }: Chart): Html {
  const drawn =
    wide === narrow
      ? html`<div class="chart" role="img" aria-label="${title}">${trusted(wide)}</div>`
      : html`<div class="chart wide" role="img" aria-label="${title}">${trusted(wide)}</div>
<div class="chart narrow" role="img" aria-label="${title}">${trusted(narrow)}</div>`;
  if (!readout || readout.at.length === 0) return drawn;
  return html`<div class="charted" data-title="${title}" data-readout="${JSON.stringify(readout)}">${drawn}</div>`;
}

export function legend({ legend: entries }: Pick<Chart, 'legend'>): Html {
  return html`<ul class="legend">${entries.map(
    ({ name, color, dash }) =>
      html`<li><span class="swatch ${dash ?? 'solid'}" style="border-color: ${color}"></span>${name}</li>`,
  )}</ul>`;
}

/**
 * @param caption accessible name of the table
 * @param rows the first cell names the row; columns of mostly numbers are right-aligned
 */
export function dataTable(caption: string, head: HtmlValue[], rows: HtmlValue[][]): Html {
  const kinds = head.map((_, column) => {
    const cells = rows.map((row) => plain(row[column])).filter((text) => text !== '' && text !== NOT_MEASURED);
    const numbers = cells.filter((text) => /^[+-]?\d/.test(text));
    return column > 0 && numbers.length > cells.length / 2 ? 'number' : 'text';
  });
  return html`<div class="scroll" role="region" tabindex="0" aria-label="${caption}"><table>
<thead><tr>${head.map((cell, column) => html`<th scope="col" class="${kinds[column]}">${cell}</th>`)}</tr></thead>
<tbody>${rows.map(
    ([name, ...cells]) =>
      html`<tr><th scope="row">${name}</th>${cells.map(
        (cell, index) => html`<td class="${kinds[index + 1]}">${cell}</td>`,
      )}</tr>
`,
  )}</tbody>
</table></div>`;
}

function plain(value: HtmlValue): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
}

/** @returns the formatted number, or `NOT_MEASURED` */
export function measured(value: number | null | undefined, format: (value: number) => string): string {
  return value === null || value === undefined ? NOT_MEASURED : format(value);
}
