/** The site as a reader has it: built, served, opened in a browser. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';
import { after, before, describe, it, type TestContext } from 'node:test';
import { execa } from 'execa';
import { type Browser, chromium, type Page } from 'playwright-core';
import { readReports } from '../../docs/reports/reports.ts';
import { readMeasuredStudies } from '../../docs/studies/measured.ts';
import { findChromium, noChromium } from '../helpers/chromium.ts';
import { ROOT } from '../helpers/pages.ts';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const TYPES: Record<string, string> = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
};
const BUILD_TIMEOUT_MS = 300_000;

describe('the site in a browser', { skip: noChromium }, () => {
  let site: string;
  let origin: string;
  let browser: Browser;
  const server = createServer(async ({ url = '/' }, response) => {
    const path = new URL(url, 'http://site').pathname.replace(/\/$/, '/index.html');
    try {
      const content = await readFile(join(site, decodeURIComponent(path)));
      response.setHeader('content-type', TYPES[extname(path)] ?? 'application/octet-stream').end(content);
    } catch {
      response.writeHead(404).end();
    }
  });

  before(
    async () => {
      site = await mkdtemp(join(tmpdir(), 'site-'));
      await execa(join(ROOT, 'node_modules/.bin/vitepress'), ['build', 'docs', '--outDir', site], { cwd: ROOT });
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      const executablePath = findChromium() ?? 'chromium';
      browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] });
    },
    { timeout: BUILD_TIMEOUT_MS },
  );
  after(async () => {
    await browser?.close();
    server.closeAllConnections();
    server.close();
    await rm(site, { recursive: true });
  });

  /** @returns the page, and what it complained about or asked others for: has to stay empty */
  async function open(t: TestContext, path: string, colorScheme: 'light' | 'dark' = 'light') {
    const context = await browser.newContext({ viewport: { width: 1300, height: 900 }, colorScheme });
    t.after(() => context.close());
    const page = await context.newPage();
    page.setDefaultTimeout(10_000);
    const complaints: string[] = [];
    page.on('request', (request) => {
      if (!request.url().startsWith(origin) && !request.url().startsWith('data:')) complaints.push(request.url());
    });
    page.on('response', (response) => {
      if (response.status() >= 400) complaints.push(`${response.status()} ${response.url()}`);
    });
    page.on('console', (message) => {
      if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text());
    });
    page.on('pageerror', (error) => complaints.push(error.message));
    await page.goto(origin + path, { waitUntil: 'networkidle' });
    return { page, complaints };
  }

  const reports = readReports().map(({ size }) => `/reports/${size}.html`);
  const studies = readMeasuredStudies().map(({ study }) => `/studies/${study.name}.html`);
  const withCharts = ['/benchmarks.html', '/studies/', ...reports, ...studies];
  const others = [
    '/',
    '/guide/getting-started.html',
    '/guide/own-server.html',
    '/reports/',
    '/method.html',
    '/reference/cli.html',
  ];

  for (const path of [...others, ...withCharts]) {
    it(`shows ${path} whole, without a complaint and without others`, async (t) => {
      const { page, complaints } = await open(t, path);
      assert.ok((await page.locator('h1').first().textContent())?.trim());
      const broken = await page.evaluate(
        '[...document.images].filter(({ naturalWidth }) => naturalWidth === 0).length',
      );
      assert.equal(broken, 0, 'images that do not load');
      const charts = await marksOfCharts(page);
      assert.ok(charts.length > 0 || !withCharts.includes(path), 'there are charts');
      for (const { name, marks, height } of charts) assert.ok(marks > 0 && height > 50, `${name}: ${marks} marks`);
      assert.deepEqual(complaints, []);
    });
  }

  for (const [path, colors] of [
    ['/', 'light'],
    ['/guide/getting-started.html', 'light'],
    ['/guide/own-server.html', 'dark'],
    ['/studies/', 'light'],
    ['/benchmarks.html', 'dark'],
    ...reports.slice(0, 1).map((report) => [report, 'light'] as const),
  ] as const) {
    it(`${path} has no serious finding of axe (${colors})`, async (t) => {
      const { page } = await open(t, path, colors);
      await page.addScriptTag({ content: axe });
      // The theme's search button is named by half of what it shows.
      const findings = await page.evaluate<
        string[]
      >(`axe.run({ exclude: '.DocSearch-Button' }).then(({ violations }) => violations
        .filter(({ impact }) => impact === 'serious' || impact === 'critical')
        .map(({ id, nodes }) => id + ': ' + nodes.slice(0, 3).map(({ html }) => html.slice(0, 200)).join(' | ')))`);
      assert.deepEqual(findings, []);
    });
  }

  it("leads from a report's page to the run's whole report", async (t) => {
    const { page, complaints } = await open(t, reports[0] ?? '');
    await page.getByRole('link', { name: 'The full report of this run' }).click();
    await page.waitForURL('**/report.html');
    assert.ok((await marksOfCharts(page)).length >= 5);
    assert.deepEqual(complaints, []);
  });

  it('fits a phone: what is wide scrolls by itself', async (t) => {
    const { page } = await open(t, '/studies/');
    await page.setViewportSize({ width: 390, height: 800 });
    const [wide, room] = await page.evaluate<[number, number]>(
      '[document.documentElement.scrollWidth, document.documentElement.clientWidth]',
    );
    assert.ok(wide <= room, `${wide} px on ${room}`);
  });
});

/** What is painted in a colour of the palette, in each chart that is seen. */
function marksOfCharts(page: Page): Promise<{ name: string | null; marks: number; height: number }[]> {
  return page.locator('.chart:visible').evaluateAll((all) =>
    all.map((chart) => ({
      name: chart.getAttribute('aria-label'),
      marks: [...chart.querySelectorAll('path, polygon, polyline, circle, rect')].filter((mark) =>
        /--(blue|orange|green|purple|gold|red|grey|text)\)/.test(
          `${mark.getAttribute('stroke')} ${mark.getAttribute('fill')}`,
        ),
      ).length,
      height: chart.getBoundingClientRect().height,
    })),
  );
}
