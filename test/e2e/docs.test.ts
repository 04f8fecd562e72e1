/**
 * Tests the site as a reader sees it: built, served, and opened in a browser. It opens one page of each kind;
 * test/unit/docs checks all pages.
 */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { extname, join } from 'node:path';
import { after, before, describe, it, type TestContext } from 'node:test';
import { execa } from 'execa';
import type { Browser } from 'playwright-core';
import { chartsOf, launchBrowser, openPage, seriousFindings } from '../helpers/browser.ts';
import { noChromium } from '../helpers/chromium.ts';
import { ROOT } from '../helpers/pages.ts';
import { urlOf } from '../helpers/raw-listen.ts';
import { tempFolder } from '../helpers/temp-folder.ts';

const TYPES: Record<string, string> = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
};
/**
 * Timeout after which the build is killed. A hook that times out would continue to run, and leave its browser running.
 */
const BUILD_TIMEOUT_MS = 300_000;

const REPORT = '/reports/5k.html';
/** Selector of the theme's search button. Its accessible name contains only part of its text. */
const SEARCH_BUTTON = '.DocSearch-Button';

const PAGES: Record<string, { charts?: true; axe: 'light' | 'dark' }> = {
  '/': { axe: 'light' },
  '/guide/own-server.html': { axe: 'dark' },
  '/benchmarks.html': { axe: 'dark' },
  '/studies/': { charts: true, axe: 'light' },
  '/studies/adapters.html': { axe: 'light' },
  [REPORT]: { charts: true, axe: 'light' },
};
const PHONE = { width: 390, height: 800 };
const REPOSITORY = 'https://git.example.org/group/socketio-capacity';

const site = tempFolder({ after });
const server = createServer(async ({ url = '/' }, response) => {
  const path = new URL(url, 'http://site').pathname.replace(/\/$/, '/index.html');
  try {
    const content = await readFile(join(site, decodeURIComponent(path)));
    response.setHeader('content-type', TYPES[extname(path)] ?? 'application/octet-stream').end(content);
  } catch {
    response.writeHead(404).end();
  }
});
const origin = await urlOf({ after }, server);

describe('the site in a browser', { skip: noChromium }, () => {
  let browser: Browser;
  before(async () => {
    const build = ['build', 'docs', '--outDir', site];
    const env = {
      GIT_CONFIG_COUNT: '1',
      GIT_CONFIG_KEY_0: 'remote.origin.url',
      GIT_CONFIG_VALUE_0: `${REPOSITORY}.git`,
    };
    await execa(join(ROOT, 'node_modules/.bin/vitepress'), build, { cwd: ROOT, env, timeout: BUILD_TIMEOUT_MS });
    browser = await launchBrowser();
  });
  after(() => browser?.close());

  const open = (t: TestContext, path: string, colorScheme: 'light' | 'dark' = 'light') =>
    openPage(t, browser, origin + path, origin, { colorScheme });

  for (const [path, { charts: hasCharts, axe }] of Object.entries(PAGES)) {
    it(`the docs site shows ${path} without errors and without requests to other hosts`, async (t) => {
      const { page, complaints } = await open(t, path, axe);
      assert.ok((await page.locator('h1').first().textContent())?.trim());
      const broken = await page.evaluate(
        '[...document.images].filter(({ naturalWidth }) => naturalWidth === 0).length',
      );
      assert.equal(broken, 0, 'images that did not load');
      const charts = await chartsOf(page);
      assert.ok(charts.length > 0 || !hasCharts, 'there are charts');
      for (const { name, marks, height } of charts) assert.ok(marks > 0 && height > 50, `${name}: ${marks} marks`);
      assert.deepEqual(complaints, []);
      assert.deepEqual(await seriousFindings(page, SEARCH_BUTTON), []);
      await page.setViewportSize(PHONE);
      assert.deepEqual(await seriousFindings(page, SEARCH_BUTTON), [], 'on a phone');
      const [contentWidth, viewWidth] = await page.evaluate<[number, number]>(
        '[document.documentElement.scrollWidth, document.documentElement.clientWidth]',
      );
      assert.ok(contentWidth <= viewWidth, `only wide elements scroll sideways: ${contentWidth} px on ${viewWidth}`);
    });
  }

  it('the docs site links a report page to the full report of the run', async (t) => {
    const { page, complaints } = await open(t, REPORT);
    await page.getByRole('link', { name: 'The full report of this run' }).click();
    await page.waitForURL('**/report.html');
    assert.ok((await chartsOf(page)).length >= 5);
    assert.deepEqual(complaints, []);
  });

  it('the docs site shows its version, licence, repository and icon', async (t) => {
    const { page } = await open(t, '/');
    assert.match((await page.locator('.VPFooter').textContent()) ?? '', /Version \d.*MIT licence/);
    assert.equal(await page.getByRole('link', { name: 'Repository' }).first().getAttribute('href'), REPOSITORY);
    const icon = await page.locator('link[rel=icon]').getAttribute('href');
    assert.equal((await page.request.get(origin + icon)).headers()['content-type'], 'image/svg+xml');
  });
});
