/** A document as one self-contained HTML file to read, print and send. */
import { figureAndReason } from '../model/amount.ts';
import { type Answer, type Document, type Finding, findingNote, findingText, type Section } from '../model/document.ts';
import { TERMS, type Term } from '../model/terms.ts';
import { sentence } from '../text/format.ts';
import { blockHtml, coded } from './blocks.ts';
import { type Html, type HtmlValue, html } from './markup.ts';
import { page } from './page.ts';

export function renderHtml(document: Document): string {
  const { title, subtitle, answer, sections } = document;
  const terms = sections.flatMap((section) => section.terms ?? []);
  const shown = terms.length > 0 ? [...sections, DEFINITIONS] : sections;
  return page({
    title: `${title} · socketio-capacity`,
    subtitle,
    body: html`${answerHtml(answer)}
${shown.length > 3 && html`<nav aria-label="Sections"><ul>${shown.map(({ id, title }) => html`<li><a href="#${id}">${title}</a></li>`)}</ul></nav>`}
${sectionsHtml(document)}
${terms.length > 0 && sectionHtml(DEFINITIONS, definitions(terms))}`,
  });
}

/** @returns all sections, without the answer before them */
export function sectionsHtml({ sections }: Document): Html {
  return html`${sections.map((section) =>
    sectionHtml(
      section,
      section.blocks.map((block) => blockHtml(block, section.title)),
    ),
  )}`;
}

function answerHtml({ tone, title, lines, findings, measurement, reasons }: Answer): Html {
  const isSentence = title.length > 24;
  const figures = findings.filter((one) => one.figure);
  const others = findings.filter(({ figure }) => !figure).flatMap((one) => findingText(one) ?? []);
  return html`<div class="answer ${tone}">
<h2 class="${isSentence && 'sentence'}" id="answer">${coded(title)}</h2>
${lines.map((line) => html`<p>${coded(sentence(line))}</p>`)}
${measurement && html`<p class="measurement"><strong class="${measurement.status}">${measurement.status}</strong> measurement: ${measurement.text}.</p>`}
${
  reasons.length > 0 &&
  html`<ul class="reasons">${reasons.map(
    ({ code, message, fix }) =>
      html`<li><code>${code}</code> ${coded(message)}${fix && html`<span class="fix">Fix: ${coded(fix)}</span>`}</li>
`,
  )}</ul>`
}
</div>
${figures.length > 0 && html`<dl class="headline">${figures.slice(0, 4).map(tile)}</dl>`}
${others.length > 0 && html`<ul class="findings">${others.map((text) => html`<li>${coded(sentence(text))}</li>`)}</ul>`}
`;
}

/** One of the figures that people quote. */
function tile(finding: Finding): HtmlValue {
  if (!finding.figure) return null;
  const { name, value } = finding.figure;
  const { number, unit, reason } = valueHtml(value);
  return html`<div><dt>${name}</dt>
<dd class="value">${number} ${unit !== '' && html`<span class="unit">${unit}</span>`}</dd>
<dd class="more">${coded([findingNote(finding), reason].filter(Boolean).join('; '))}</dd></div>
`;
}

/** A number large, and what belongs to it small; a text in the place of a number small, too. */
function valueHtml(value: NonNullable<Finding['figure']>['value']): { number: string; unit: string; reason?: string } {
  if (typeof value === 'string') return { number: value, unit: '' };
  const [figure, reason] = figureAndReason(value);
  if (value.value === null && !value.interval) return { number: '', unit: figure };
  const text = figure.replace(/^at least /, '≥ ');
  const between = /^between (.*) and (\S+) (.*)$/.exec(text);
  if (between) return { number: `${between[1]} to ${between[2]}`, unit: between[3] ?? '', reason };
  const [, number = text, unit = ''] = /^(≥ \S+|\S+) ?(.*)$/.exec(text) ?? [];
  return { number, unit };
}

function sectionHtml({ id, title, lead, terms = [], folded }: Omit<Section, 'blocks'>, body: HtmlValue): Html {
  const heading = html`<h2 id="${id}-title">${title}</h2>`;
  const more = terms.length > 0 && html` <span class="terms">${terms.map(termLink)}</span>`;
  const content = html`${(lead || more) && html`<p class="lead">${coded(lead ?? '')}${more}</p>`}
${body}`;
  return html`<section id="${id}" aria-labelledby="${id}-title">
${folded ? html`<details class="folded"><summary>${heading}</summary>${content}</details>` : html`${heading}${content}`}
</section>
`;
}

/** To its definition. */
function termLink(term: Term): Html {
  return html` <a class="term" href="#${idOf(term)}">${term}</a>`;
}

function idOf(term: Term): string {
  return `def-${term.toLowerCase().replace(/\W+/g, '-')}`;
}

const DEFINITIONS: Omit<Section, 'blocks'> & { blocks: [] } = {
  id: 'definitions',
  title: 'Definitions',
  folded: true,
  lead: '`docs/method.md` in the repository has the full definitions, and the limits of each figure. KB and MB are 1,024 and 1,048,576 bytes.',
  blocks: [],
};

function definitions(terms: Term[]): Html {
  const entries = [...new Set(terms)].map(
    (term) => html`<div id="${idOf(term)}">
<dt>${term}</dt>
<dd>${coded(TERMS[term])}</dd>
</div>
`,
  );
  return html`<dl class="definitions">${entries}</dl>`;
}
