/** Tests report.html as a reader opens it, from a file. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it, type TestContext } from 'node:test';
import { pathToFileURL } from 'node:url';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { resultSchema } from '../../protocol/result/result.ts';
import { readResult } from '../../report/read.ts';
import { chartsOf, launchBrowser, openPage, seriousFindings } from '../helpers/browser.ts';
import { noChromium } from '../helpers/chromium.ts';
import { reportHtml } from '../helpers/report-text.ts';
import { tempFolder } from '../helpers/temp-folder.ts';
import { sample } from '../helpers/zod-sample.ts';

// JavaScript that runs in the page. It is a string, because the tests lack the types of a page.
const BACKGROUND = 'getComputedStyle(document.body).backgroundColor';
const LINE_COLOR = `getComputedStyle(document.querySelector('.chart path[stroke="var(--blue)"]')).stroke`;
const folder = tempFolder({ after });
const file = join(folder, 'report.html');

describe('report.html in a browser', { skip: noChromium }, () => {
  let browser: Browser;
  before(async () => {
    writeFileSync(file, reportHtml(readResult('docs/reports/5k/result.json')));
    browser = await launchBrowser();
  });
  after(() => browser?.close());

  function open(t: TestContext, options: BrowserContextOptions = {}, path = file) {
    const url = pathToFileURL(path).href;
    return openPage(t, browser, url, url, options);
  }

  it('report.html draws marks in every chart, without requests or errors', async (t) => {
    const { page, complaints } = await open(t);
    assert.ok((await page.locator('.chart:visible').count()) >= 5, 'the main charts');
    assert.ok((await page.evaluate<number>('document.documentElement.scrollHeight')) < 8000, 'a reader scrolls it');
    await unfold(page);
    const charts = await chartsOf(page);
    assert.ok(charts.length >= 6, `${charts.length} charts`);
    for (const { name, marks, width, height } of charts) {
      assert.ok(marks > 0 && width > 200 && height > 50, `${name}: ${marks} marks, ${width} × ${height}`);
    }
    assert.deepEqual(complaints, []);
    assert.deepEqual(await seriousFindings(page), []);
  });

  it('report.html follows the system’s dark mode', async (t) => {
    const { page } = await open(t, { colorScheme: 'light' });
    const colours = () => Promise.all([BACKGROUND, LINE_COLOR].map((expression) => page.evaluate<string>(expression)));
    const [light, lightLine] = await colours();
    await page.emulateMedia({ colorScheme: 'dark' });
    const [dark, darkLine] = await colours();
    assert.notEqual(dark, light);
    assert.notEqual(darkLine, lightLine, 'charts change, too');
    await unfold(page);
    assert.deepEqual(await seriousFindings(page), []);
  });

  it('report.html unfolds its tables by keyboard, and links a figure to its definition', async (t) => {
    const { page } = await open(t);
    const fold = page.locator('details').filter({ hasText: 'Table: Copies of all broadcasts' });
    await fold.locator('summary').press('Enter');
    assert.equal(await fold.getByRole('table').isVisible(), true);
    await page.getByRole('link', { name: 'Delivered', exact: true }).first().press('Enter');
    const target = page.locator(':target');
    assert.match((await target.textContent()) ?? '', /Received ÷ expected/);
    assert.ok(await target.isVisible(), 'its section unfolds');
  });

  it('report.html shows the values of a chart under the pointer, and by keyboard', async (t) => {
    const { page } = await open(t);
    const chart = page.locator('#cpu .charted').first();
    const box = chart.locator('.readout');
    assert.equal(await box.isVisible(), false);
    await chart.hover();
    assert.match((await box.textContent()) ?? '', /^\d:\d\d, \w+ \(% of one core\)Workers [\d.]+/);
    await page.mouse.move(0, 0);
    assert.equal(await box.isVisible(), false);
    const steps = chart.getByRole('slider', { name: 'Values of: CPU by layer over time' });
    await steps.press('End');
    const last = await steps.getAttribute('aria-valuetext');
    await steps.press('ArrowLeft');
    assert.equal(await box.isVisible(), true);
    assert.notEqual(await steps.getAttribute('aria-valuetext'), last);
    await steps.press('Escape');
    assert.equal(await box.isVisible(), false);
  });

  it('report.html fits a phone without scrolling sideways', async (t) => {
    const { page } = await open(t, { viewport: { width: 390, height: 844 } });
    assert.equal(await page.evaluate('document.documentElement.scrollWidth'), 390);
    await unfold(page);
    assert.equal(await page.evaluate('document.documentElement.scrollWidth'), 390);
    const tallest = 'Math.max(...[...document.querySelectorAll("tbody th")].map((cell) => cell.offsetHeight))';
    assert.ok((await page.evaluate<number>(tallest)) < 150, 'row names do not wrap at every letter');
    assert.ok((await page.locator('.chart.narrow:visible').count()) > 5);
    assert.equal(await page.locator('.chart.wide:visible').count(), 0);
    assert.deepEqual(await seriousFindings(page), []);
  });

  it('report.html prints in light colours, with every table', async (t) => {
    const { page } = await open(t, { colorScheme: 'dark' });
    const folded = await page.locator('details:not([open])').count();
    assert.ok(folded > 5);
    await page.emulateMedia({ media: 'print', colorScheme: 'dark' });
    assert.equal(await page.evaluate<string>(BACKGROUND), 'rgb(255, 255, 255)');
    const fire = (type: string) => page.evaluate(`dispatchEvent(new Event('${type}'))`);
    await fire('beforeprint');
    assert.equal(await page.locator('details:not([open])').count(), 0);
    await fire('afterprint');
    assert.equal(await page.locator('details:not([open])').count(), folded);
  });

  it('report.html runs no script from the result', async (t) => {
    const attack = `"'><img src=x onerror=alert(1)><script>alert(2)</script>`;
    let count = 0;
    const result = resultSchema.parse(sample(resultSchema, () => `${attack}${count++}`));
    const path = join(folder, 'attacked.html');
    writeFileSync(path, reportHtml({ ...result, absent: {} }));
    const { page, complaints } = await open(t, {}, path);
    assert.deepEqual(complaints, []);
    assert.equal(await page.locator('img').count(), 0);
    assert.equal(await page.locator('script').count(), 1);
  });
});

function unfold(page: Page): Promise<void> {
  return page.locator('details').evaluateAll((all) => {
    for (const element of all) element.setAttribute('open', '');
  });
}
