/**
 * Draws the top of a run's report.html for README and site, in a light and a dark version, to docs/public: `node
 * docs/picture.ts <result.json>`. CHROMIUM is the path of the browser if it is not /usr/bin/chromium.
 */
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';
import { readResult } from '../report/read.ts';
import { renderHtml } from '../report/render/html.ts';
import { runDocument } from '../report/sections/run-document.ts';

const FOLDER = fileURLToPath(new URL('public', import.meta.url));

const [resultPath] = process.argv.slice(2);
if (!resultPath) throw new Error('usage: node docs/picture.ts <result.json>');
const html = renderHtml(runDocument(readResult(resultPath)));

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu'],
});
try {
  for (const colorScheme of ['light', 'dark'] as const) {
    const viewport = { width: 1100, height: 1000 };
    const page = await browser.newPage({ viewport, deviceScaleFactor: 1.5, colorScheme });
    await page.setContent(html);
    await page.screenshot({ path: `${FOLDER}/report-${colorScheme}.png` });
  }
} finally {
  await browser.close();
}
