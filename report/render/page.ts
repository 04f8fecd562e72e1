/** The HTML document around the content. It loads nothing from the network: style and script are inline, and a policy forbids the rest. */
import { createHash } from 'node:crypto';
import { type Html, html, trusted } from './markup.ts';
import { READOUT_SCRIPT } from './readout-script.ts';
import { STYLE } from './style.ts';

/** Unfolds what an address leads to, and all tables for printing; reads out the values of charts. */
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

/** No other script can run, wherever it came from. */
const SCRIPT_HASH = createHash('sha256').update(SCRIPT).digest('base64');

interface Page {
  title: string;
  subtitle: string;
  /** Elements of the page's main part. */
  body: Html;
}

export function page({ title, subtitle, body }: Page): string {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="socketio-capacity">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-${SCRIPT_HASH}'; img-src data:">
<link rel="icon" href="data:,">
<title>${title}</title>
<style>${trusted(STYLE)}</style>
</head>
<body>
<header>
<h1>${title}</h1><p>${subtitle}</p>
</header>
<main>
${body}
</main>
<script>${trusted(SCRIPT)}</script>
</body>
</html>
`.markup;
}
