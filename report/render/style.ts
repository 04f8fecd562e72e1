/**
 * Styles of the HTML page. They set the colours of charts (report/charts/palette.ts) for the light and the dark mode.
 */
export const PAGE_STYLE = `
:root {
  color-scheme: light dark;
  --page: light-dark(#ffffff, #12151a);
  --text: light-dark(#1b212a, #e8ebf0);
  --muted: light-dark(#596473, #a2adbb);
  --line: light-dark(#e2e6eb, #2a313b);
  --band: light-dark(#f2f4f7, #1a1f27);
  --strong-band: light-dark(#e3eef8, #17293a);
  --blue: light-dark(#0068a8, #5cb3ea);
  --orange: light-dark(#c25100, #ff9a57);
  --green: light-dark(#007a5a, #35c79d);
  --purple: light-dark(#9b3d76, #e39cc7);
  --gold: light-dark(#8a6a00, #e3bd2f);
  --red: light-dark(#b3261e, #ff8a80);
  --grey: light-dark(#76818f, #8793a2);
}
* { box-sizing: border-box; }
html { scroll-behavior: smooth; scroll-padding-top: 1rem; }
body {
  margin: 0 auto; max-width: 66rem; padding: 2rem 1.5rem 4rem;
  background: var(--page); color: var(--text);
  font: 16px/1.55 system-ui, sans-serif; font-variant-numeric: tabular-nums;
  overflow-wrap: anywhere;
}
a { color: var(--blue); }
.terms { display: block; margin-top: .3rem; font-size: .85rem; }
.terms a { margin-right: .8rem; }
a.term { color: inherit; text-decoration: underline dotted var(--muted); text-underline-offset: .2em; }
a.term:hover { text-decoration-style: solid; }
:focus-visible { outline: 2px solid var(--blue); outline-offset: 3px; border-radius: 2px; }
code { font: .88em ui-monospace, monospace; }
h1 { margin: 0; font-size: 1.05rem; font-weight: 600; }
header p { margin: .1rem 0 0; color: var(--muted); font-size: .9rem; }
.answer { margin: 2.25rem 0 0; padding-left: 1.25rem; border-left: 6px solid var(--status); --status: var(--text); }
.answer.good, .VALID { --status: var(--green); }
.answer.doubt, .SUSPECT { --status: var(--gold); }
.answer.bad, .INVALID { --status: var(--red); }
.answer h2 { margin: 0; border: 0; padding: 0; font-size: clamp(2.5rem, 8vw, 4rem); line-height: 1.05; letter-spacing: -.03em; color: var(--status); }
.answer h2.sentence { font-size: clamp(1.35rem, 3.5vw, 2rem); line-height: 1.3; letter-spacing: -.01em; }
.answer > p { margin: .6rem 0 0; font-size: 1.1rem; }
.measurement strong { color: var(--status); }
.answer > p.measurement { color: var(--muted); font-size: .95rem; }
.reasons { margin: 1rem 0 0; padding: 0; list-style: none; }
.reasons li { margin-top: .75rem; }
.reasons code { font-weight: 600; }
.reasons .explains, .reasons .fix { display: block; color: var(--muted); }
.headline { display: grid; grid-template-columns: repeat(auto-fit, minmax(13rem, 1fr)); gap: 1.75rem 2rem; margin: 2.5rem 0 0; }
.headline > div { border-top: 1px solid var(--line); padding-top: .8rem; }
.headline dt { color: var(--muted); font-size: .9rem; }
.headline dd { margin: 0; }
.headline .value { font-size: 2.4rem; line-height: 1.15; font-weight: 600; letter-spacing: -.02em; overflow-wrap: normal; }
.headline .unit { font-size: 1.05rem; font-weight: 400; letter-spacing: 0; color: var(--muted); }
.headline .more { color: var(--muted); font-size: .9rem; }
.findings { margin: 1.5rem 0 0; padding: 0; list-style: none; }
nav { margin: 2.5rem 0 0; }
nav ul { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; margin: 0; padding: 0; list-style: none; font-size: .9rem; }
section { margin-top: 3.5rem; }
h2 { margin: 0 0 .5rem; padding-top: 1rem; border-top: 1px solid var(--line); font-size: 1.45rem; letter-spacing: -.01em; line-height: 1.25; }
h3 { margin: 1.75rem 0 0; font-size: 1rem; }
.lead { max-width: 46rem; margin: 0 0 1.25rem; color: var(--muted); }
.absent { color: var(--muted); font-style: italic; }
figure { margin: 1.75rem 0 .5rem; }
figcaption, caption { margin-bottom: .35rem; font-weight: 600; font-size: .95rem; text-align: left; }
.chart svg { display: block; width: 100%; height: auto; }
.narrow { display: none; }
.charted { position: relative; }
.steps { position: absolute; inset: 0; cursor: crosshair; touch-action: pan-y; }
.cross { position: absolute; top: 0; bottom: 0; width: 1px; background: var(--text); opacity: .45; pointer-events: none; }
.readout {
  position: absolute; top: 0; z-index: 1; max-width: 75%; padding: .4rem .6rem; border: 1px solid var(--line); border-radius: .3rem;
  background: var(--page); font-size: .82rem; line-height: 1.4; pointer-events: none; overflow-wrap: normal;
}
.cross[hidden], .readout[hidden] { display: none; }
.readout strong { display: block; }
.readout ul { margin: 0; padding: 0; list-style: none; }
.readout .swatch { width: .8rem; }
.readout b { font-weight: 600; }
.legend { display: flex; flex-wrap: wrap; gap: .1rem 1.1rem; margin: 0 0 .35rem; padding: 0; list-style: none; font-size: .85rem; color: var(--muted); }
.swatch { display: inline-block; width: 1.4rem; margin-right: .4rem; border-top: 3px solid; vertical-align: middle; }
.swatch.dashed { border-top-style: dashed; }
.swatch.dotted { border-top-style: dotted; }
.note { margin: .2rem 0 0; font-size: .85rem; color: var(--muted); }
details { margin: .5rem 0 1.25rem; }
summary { width: fit-content; color: var(--muted); font-size: .88rem; cursor: pointer; }
summary:hover { color: var(--text); }
details > figure > figcaption { display: none; }
.folded { margin: 0; }
.folded > summary { width: auto; }
.folded > summary h2 { display: inline; border: 0; padding: 0; color: var(--text); }
section:has(> .folded) { margin-top: 0; padding: .9rem 0; border-top: 1px solid var(--line); }
.folded[open] > summary { margin-bottom: 1rem; }
.scroll { overflow-x: auto; margin: .75rem 0 1.5rem; }
table { border-collapse: collapse; min-width: min(100%, 28rem); font-size: .88rem; overflow-wrap: normal; }
th, td { padding: .35rem 1.4rem .35rem 0; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top; }
thead th { color: var(--muted); font-weight: 500; vertical-align: bottom; }
tbody th { font-weight: 500; }
.number { text-align: right; white-space: nowrap; }
td.text { max-width: 34rem; overflow-wrap: anywhere; }
.definitions > div { padding: .6rem 0; border-bottom: 1px solid var(--line); }
.definitions > div:target { background: var(--band); }
.definitions dt { font-weight: 600; }
.definitions dd { margin: 0; max-width: 46rem; color: var(--muted); }
td .better { color: var(--green); font-weight: 600; }
td .worse { color: var(--red); font-weight: 600; }
@media (max-width: 44rem) {
  body { padding: 1.25rem 1rem 3rem; }
  .wide { display: none; }
  .narrow { display: block; }
  .headline { grid-template-columns: repeat(auto-fit, minmax(9rem, 1fr)); gap: 1.25rem; }
  .headline .value { font-size: 1.9rem; }
  th, td { padding-right: .9rem; }
  .readout { font-size: .75rem; }
  .scroll th:first-child { position: sticky; left: 0; min-width: 7rem; max-width: 9rem; background: var(--page); overflow-wrap: anywhere; }
  td.text { min-width: 8rem; }
}
@media print {
  @page { margin: 14mm; }
  :root { color-scheme: light; }
  body { max-width: none; padding: 0; font-size: 10.5pt; }
  nav, .cross, .readout, .steps { display: none; }
  .wide { display: block; }
  .narrow { display: none; }
  section { margin-top: 1.75rem; }
  h2, figcaption { break-after: avoid; }
  figure, tr, .headline > div { break-inside: avoid; }
  .scroll { overflow: visible; }
  table { font-size: 8.5pt; }
  th, td { padding-right: .7rem; }
}
@media (prefers-reduced-motion: reduce) { html { scroll-behavior: auto; } }
`;
