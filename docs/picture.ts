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

/** Width of the picture, like that of a large phone, because GitHub shows one picture for screens of all widths. */
const WIDTH = 440;
/** Space between the text and the table of contents that the picture leaves out. */
const MARGIN = 12;
/** Width of a picture in a README on a phone of 390 pixels. */
const PHONE_WIDTH = 358;
const MIN_FONT_PX = 11;
/** Font size of the smallest text above the table of contents. */
const SMALLEST_FONT = `(() => {
  const { top } = document.querySelector('nav').getBoundingClientRect();
  const texts = [...document.querySelectorAll('body *')].filter(
    (element) => element.checkVisibility() && element.getBoundingClientRect().bottom < top);
  return Math.min(...texts.map((element) => Number.parseFloat(getComputedStyle(element).fontSize)));
})()`;

const [resultPath] = process.argv.slice(2);
if (!resultPath) throw new Error('usage: node docs/picture.ts <result.json>');
const result = readResult(resultPath);
if (result.verdict.status !== 'VALID' || result.outcome.status !== 'PASSED' || result.findings.length > 0)
  throw new Error('the picture shows a good run: VALID, passed, and without findings');
const html = renderHtml(runDocument(result));

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu'],
});
try {
  for (const colorScheme of ['light', 'dark'] as const) {
    const viewport = { width: WIDTH, height: 1000 };
    const page = await browser.newPage({ viewport, deviceScaleFactor: 2, colorScheme });
    await page.setContent(html);
    const contents = await page.locator('nav').boundingBox();
    if (!contents) throw new Error('the report has no table of contents, where the picture ends');
    const fontPx = await page.evaluate<number>(SMALLEST_FONT);
    const shownPx = (fontPx * PHONE_WIDTH) / WIDTH;
    if (shownPx < MIN_FONT_PX) throw new Error(`a phone shows the smallest text with ${shownPx.toFixed(1)} px`);
    console.log(`${colorScheme}: smallest text on a phone: ${shownPx.toFixed(1)} px`);
    const height = Math.floor(contents.y) - MARGIN;
    await page.screenshot({ path: `${FOLDER}/report-${colorScheme}.png`, clip: { x: 0, y: 0, width: WIDTH, height } });
  }
} finally {
  await browser.close();
}
