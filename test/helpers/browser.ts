/** Opens pages in a headless browser. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { TestContext } from 'node:test';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { findChromium } from './chromium.ts';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const LAUNCH_TIMEOUT_MS = 60_000;
const PAGE_TIMEOUT_MS = 10_000;

export function launchBrowser(): Promise<Browser> {
  return chromium.launch({
    executablePath: findChromium() ?? 'chromium',
    args: ['--no-sandbox', '--disable-gpu'],
    timeout: LAUNCH_TIMEOUT_MS,
  });
}

/**
 * @param origin the only origin that the page may request
 * @returns the page, its errors, and its requests to other origins
 */
export async function openPage(
  t: TestContext,
  browser: Browser,
  url: string,
  origin: string,
  options: BrowserContextOptions = {},
  waitUntil: 'networkidle' | 'load' = 'networkidle',
): Promise<{ page: Page; complaints: string[] }> {
  const context = await browser.newContext({ viewport: { width: 1200, height: 900 }, ...options });
  t.after(() => context.close());
  const page = await context.newPage();
  page.setDefaultTimeout(PAGE_TIMEOUT_MS);
  const complaints: string[] = [];
  page.on('request', (request) => {
    if (!request.url().startsWith(origin) && !request.url().startsWith('data:')) complaints.push(request.url());
  });
  page.on('response', (response) => {
    if (response.status() >= 400) complaints.push(`${response.status()} ${response.url()}`);
  });
  page.on('console', (message) => complaints.push(message.text()));
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('dialog', (dialog) => {
    complaints.push(dialog.message());
    void dialog.dismiss();
  });
  await page.goto(url, { waitUntil });
  return { page, complaints };
}

/** @returns the visible charts, each with its number of marks in a colour of the palette */
export function chartsOf(page: Page) {
  return page.locator('.chart:visible').evaluateAll((all) =>
    all.map((chart) => {
      const painted = [...chart.querySelectorAll('path, polygon, polyline, circle, rect')].filter((mark) =>
        /--(blue|orange|green|purple|gold|red|grey|text)\)/.test(
          `${mark.getAttribute('stroke')} ${mark.getAttribute('fill')}`,
        ),
      );
      const { width, height } = chart.getBoundingClientRect();
      return { name: chart.getAttribute('aria-label'), marks: painted.length, width, height };
    }),
  );
}

/** @param exclude selector of elements to ignore */
export async function seriousFindings(page: Page, exclude?: string): Promise<string[]> {
  // Evaluates the code, because the policy of the page forbids a script element.
  await page.evaluate(axe);
  return page.evaluate(async (excluded) => {
    // biome-ignore lint/suspicious/noExplicitAny: axe is a global of the page
    const { violations } = await (globalThis as any).axe.run(excluded === undefined ? {} : { exclude: excluded });
    return violations
      .filter(({ impact }: { impact: string }) => impact === 'serious' || impact === 'critical')
      .flatMap(({ id, nodes }: { id: string; nodes: { html: string }[] }) =>
        nodes.map((node) => `${id}: ${node.html.slice(0, 200)}`),
      );
  }, exclude);
}
