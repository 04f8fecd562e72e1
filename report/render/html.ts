/** Renders a report as one self-contained HTML file that can be read, printed and sent. */
import { createHash } from 'node:crypto';
import { marginText, numberText, quantityOf } from '../model/amount.ts';
import { type ReportAnswer, type ReportDocument, type ReportSection, splitFindings } from '../model/document.ts';
import { REPORT_TERMS, type Term } from '../model/terms.ts';
import { asSentence } from '../text/format.ts';
import { blockHtml, codeHtml } from './blocks.ts';
import { type Html, type HtmlValue, html, trustedHtml } from './markup.ts';
import { READOUT_SCRIPT } from './readout-script.ts';
import { PAGE_STYLE } from './style.ts';

/**
 * Script of the HTML page. It opens a collapsed part that a link leads to, opens all tables for printing, and shows the
 * values of charts.
 */
const SCRIPT = `
const reveal = () => {
  const target = document.getElementById(location.hash.slice(1));
  if (!target) return;
  for (let one = target.querySelector('details.folded') || target.closest('details'); one; one = one.parentElement.closest('details')) one.open = true;
  target.scrollIntoView();
};
addEventListener('hashchange', reveal);
reveal();
let folded = [];
addEventListener('beforeprint', () => { folded = [...document.querySelectorAll('details:not([open])')]; for (const one of folded) one.open = true; });
addEventListener('afterprint', () => { for (const one of folded) one.open = false; });
${READOUT_SCRIPT}`;

/** Hash of the page's script for the content security policy, which forbids all other scripts. */
const SCRIPT_HASH = createHash('sha256').update(SCRIPT).digest('base64');

/**
 * Renders the HTML page. The page loads nothing from the network: style and script are inline, and a content security
 * policy forbids other sources.
 */
export function renderHtml(document: ReportDocument): string {
  const { title, subtitle, machine, answer, sections } = document;
  const heading = `${title} · socketio-capacity`;
  const terms = sections.flatMap((section) => section.terms ?? []);
  const shown = terms.length > 0 ? [...sections, DEFINITIONS] : sections;
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="socketio-capacity">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-${SCRIPT_HASH}'; img-src data:">
<link rel="icon" href="data:,">
<title>${heading}</title>
<style>${trustedHtml(PAGE_STYLE)}</style>
</head>
<body>
<header>
<h1>${heading}</h1><p>${subtitle}</p>${machine !== undefined && html`<p>${machine}</p>`}
</header>
<main>
${answerHtml(answer)}
${shown.length > 3 && html`<nav aria-label="Sections"><ul>${shown.map(({ id, title }) => html`<li><a href="#${id}">${title}</a></li>`)}</ul></nav>`}
${sectionsHtml(document)}
${terms.length > 0 && sectionHtml(DEFINITIONS, definitions(terms))}
</main>
<script>${trustedHtml(SCRIPT)}</script>
</body>
</html>
`.markup;
}

/** Renders all sections of a report without the answer. */
export function sectionsHtml({ sections }: ReportDocument): Html {
  return html`${sections.map((section) =>
    sectionHtml(
      section,
      section.blocks.map((block) => blockHtml(block, section.title)),
    ),
  )}`;
}

type Headline = ReturnType<typeof splitFindings>['headlines'][number];

function answerHtml(answer: ReportAnswer): Html {
  const { tone, title, lines, measurement, causes } = answer;
  const isSentence = title.length > 24;
  const { headlines, sentences } = splitFindings(answer);
  return html`<div class="answer ${tone}">
<h2 class="${isSentence && 'sentence'}" id="answer">${codeHtml(title)}</h2>
${lines.map((line) => html`<p>${codeHtml(asSentence(line))}</p>`)}
${measurement && html`<p class="measurement"><strong class="${measurement.status}">${measurement.status}</strong> measurement: ${measurement.text}.</p>`}
${
  causes.length > 0 &&
  html`<ul class="reasons">${causes.map(
    ({ code, message, fix, explains }) =>
      html`<li>${codeHtml(asSentence(message))} <code>${code}</code>${explains.length > 0 && html`<span class="explains">Explains: ${codeHtml(explains.join('; '))}</span>`}<span class="fix">Fix: ${codeHtml(fix)}</span></li>
`,
  )}</ul>`
}
</div>
${headlines.length > 0 && html`<dl class="headline">${headlines.map(tile)}</dl>`}
${sentences.length > 0 && html`<ul class="findings">${sentences.map((text) => html`<li>${codeHtml(asSentence(text))}</li>`)}</ul>`}
`;
}

/** Renders a headline figure of the report as a tile. */
function tile(headline: Headline): Html {
  const { name, note } = headline;
  const [number, unit] = numberAndRest(headline);
  return html`<div><dt>${name}</dt>
<dd class="value">${number} ${unit !== '' && html`<span class="unit">${unit}</span>`}</dd>
<dd class="more">${codeHtml(note)}</dd></div>
`;
}

/**
 * Splits a headline figure into its number, which is large, and its unit and interval, which are small. A text in place
 * of the number is also small.
 */
function numberAndRest({ value, text }: Headline): [number: string, rest: string] {
  if (typeof value === 'string') return [text, ''];
  const { quantity, interval } = value;
  if (value.value !== null) {
    const number = `${value.isAtLeast ? '≥ ' : ''}${numberText(quantity, value.value)}`;
    return [number, [quantityOf(quantity).unit, marginText(value)].filter(Boolean).join(' ')];
  }
  if (!interval) return ['', text];
  const [low, high] = [interval.low95, interval.high95].map((end) => numberText(quantity, end));
  return [`${low} to ${high}`, `${quantityOf(quantity).unit} (95 %)`];
}

function sectionHtml({ id, title, lead, terms = [], folded }: Omit<ReportSection, 'blocks'>, body: HtmlValue): Html {
  const heading = html`<h2 id="${id}-title">${title}</h2>`;
  const more = terms.length > 0 && html` <span class="terms">${terms.map(termLink)}</span>`;
  const content = html`${(lead || more) && html`<p class="lead">${codeHtml(lead ?? '')}${more}</p>`}
${body}`;
  return html`<section id="${id}" aria-labelledby="${id}-title">
${folded ? html`<details class="folded"><summary>${heading}</summary>${content}</details>` : html`${heading}${content}`}
</section>
`;
}

/** Links a term to its definition. */
function termLink(term: Term): Html {
  return html` <a class="term" href="#${idOf(term)}">${term}</a>`;
}

function idOf(term: Term): string {
  return `def-${term.toLowerCase().replace(/\W+/g, '-')}`;
}

const DEFINITIONS: Omit<ReportSection, 'blocks'> = {
  id: 'definitions',
  title: 'Definitions',
  folded: true,
  lead: '`docs/method.md` in the repository has the full definitions, and the limits of each figure. KB and MB are 1,024 and 1,048,576 bytes.',
};

function definitions(terms: Term[]): Html {
  const entries = [...new Set(terms)].map(
    (term) => html`<div id="${idOf(term)}">
<dt>${term}</dt>
<dd>${codeHtml(REPORT_TERMS[term])}</dd>
</div>
`,
  );
  return html`<dl class="definitions">${entries}</dl>`;
}
