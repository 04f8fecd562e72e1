import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it, type TestContext } from 'node:test';
import { pathToFileURL } from 'node:url';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { resultSchema } from '../../protocol/result/result.ts';
import { readResult } from '../../report/read.ts';
import { findChromium, noChromium } from '../helpers/chromium.ts';
import { reportHtml } from '../helpers/report-text.ts';
import { sample } from '../helpers/zod-sample.ts';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
// Text, since these run in the page, whose types the tests do not have.
const BACKGROUND = 'getComputedStyle(document.body).backgroundColor';
const LINE_COLOR = `getComputedStyle(document.querySelector('.chart path[stroke="var(--blue)"]')).stroke`;
const folder = mkdtempSync(join(tmpdir(), 'report-'));
const file = join(folder, 'report.html');
after(() => rmSync(folder, { recursive: true }));

describe('report.html in a browser', { skip: noChromium }, () => {
  let browser: Browser;
  before(async () => {
    writeFileSync(file, reportHtml(readResult('docs/reports/5k/result.json')));
    const executablePath = findChromium() ?? 'chromium';
    browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] });
  });
  after(() => browser?.close());

  /** @returns the page, and what it asked for or complained about: both have to stay empty */
  async function open(t: TestContext, options: BrowserContextOptions = {}, path = file) {
    const context = await browser.newContext({ viewport: { width: 1200, height: 900 }, ...options });
    t.after(() => context.close());
    const page = await context.newPage();
    page.setDefaultTimeout(10_000);
    const complaints: string[] = [];
    const url = pathToFileURL(path).href;
    page.on('request', (request) => {
      if (request.url().split('#')[0] !== url && !request.url().startsWith('data:')) complaints.push(request.url());
    });
    page.on('console', (message) => complaints.push(message.text()));
    page.on('pageerror', (error) => complaints.push(error.message));
    page.on('dialog', (dialog) => {
      complaints.push(dialog.message());
      void dialog.dismiss();
    });
    await page.goto(url);
    return { page, complaints };
  }

  it('draws marks in every chart, asks for nothing and complains of nothing', async (t) => {
    const { page, complaints } = await open(t);
    assert.ok((await page.locator('.chart:visible').count()) >= 5, 'those that make the case');
    await unfold(page);
    const charts = await page.locator('.chart:visible').evaluateAll((all) =>
      all.map((chart) => {
        const svg = chart.querySelector('svg');
        const painted = [...(svg?.querySelectorAll('path, polygon, polyline, circle, rect') ?? [])].filter((mark) =>
          /--(blue|orange|green|purple|gold|red|grey|text)\)/.test(
            `${mark.getAttribute('stroke')} ${mark.getAttribute('fill')}`,
          ),
        );
        const { width, height } = chart.getBoundingClientRect();
        return { name: chart.getAttribute('aria-label'), marks: painted.length, width, height };
      }),
    );
    assert.ok(charts.length >= 6, `${charts.length} charts`);
    for (const { name, marks, width, height } of charts) {
      assert.ok(marks > 0 && width > 200 && height > 50, `${name}: ${marks} marks, ${width} × ${height}`);
    }
    assert.deepEqual(complaints, []);
  });

  it('follows the system into the dark, and the button out of it', async (t) => {
    const { page } = await open(t, { colorScheme: 'dark' });
    const background = () => page.evaluate<string>(BACKGROUND);
    const line = () => page.evaluate<string>(LINE_COLOR);
    const [dark, darkLine] = [await background(), await line()];
    const button = page.getByRole('button', { name: 'Switch to light colours' });
    await button.focus();
    await page.keyboard.press('Enter');
    assert.notEqual(await background(), dark);
    assert.notEqual(await line(), darkLine, 'charts change with it');
    await page.getByRole('button', { name: 'Switch to dark colours' }).press('Space');
    assert.equal(await background(), dark);
  });

  it('unfolds its tables by keyboard, and leads from a figure to its definition', async (t) => {
    const { page } = await open(t);
    const fold = page.locator('details').filter({ hasText: 'Table: Copies of all broadcasts' });
    await fold.locator('summary').press('Enter');
    assert.equal(await fold.getByRole('table').isVisible(), true);
    await page.getByRole('link', { name: 'Delivered', exact: true }).first().press('Enter');
    const target = page.locator('#def-coverage:target');
    assert.match((await target.textContent()) ?? '', /Received ÷ expected/);
    assert.ok(await target.isVisible(), 'its section unfolds');
  });

  it('shows the values of a chart under the pointer, and by keyboard', async (t) => {
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

  it('is no longer than somebody scrolls', async (t) => {
    const { page } = await open(t);
    assert.ok((await page.evaluate<number>('document.documentElement.scrollHeight')) < 8000);
  });

  for (const colorScheme of ['light', 'dark'] as const) {
    it(`has no serious finding of axe, ${colorScheme}`, async (t) => {
      const { page } = await open(t, { colorScheme });
      await unfold(page);
      assert.deepEqual(await seriousFindings(page), []);
    });
  }

  it('fits a phone without scrolling sideways', async (t) => {
    const { page } = await open(t, { viewport: { width: 390, height: 844 } });
    assert.equal(await page.evaluate('document.documentElement.scrollWidth'), 390);
    await unfold(page);
    assert.equal(await page.evaluate('document.documentElement.scrollWidth'), 390);
    assert.ok((await page.locator('.chart.narrow:visible').count()) > 5);
    assert.equal(await page.locator('.chart.wide:visible').count(), 0);
    assert.deepEqual(await seriousFindings(page), []);
  });

  it('prints light, with every table', async (t) => {
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

  it('runs nothing that came in with the result', async (t) => {
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
    for (const one of all) one.setAttribute('open', '');
  });
}

async function seriousFindings(page: Page): Promise<string[]> {
  // Not as an element: the page's policy would forbid it.
  await page.evaluate(axe);
  return page.evaluate(async () => {
    // biome-ignore lint/suspicious/noExplicitAny: axe is a global of the page
    const { violations } = await (globalThis as any).axe.run();
    return violations
      .filter(({ impact }: { impact: string }) => impact === 'serious' || impact === 'critical')
      .flatMap(({ id, nodes }: { id: string; nodes: { html: string }[] }) =>
        nodes.map((node) => `${id}: ${node.html.slice(0, 200)}`),
      );
  });
}
