/** Configuration of VitePress: pages and navigation. The build works offline and fails on dead links. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { defineConfig } from 'vitepress';
// @ts-expect-error: plain JavaScript without types
import { repositoryUrl } from '../../plugin/sources.js';
import { VERSION } from '../../protocol/base/version.ts';
import { renderHtml } from '../../report/render/html.ts';
import { runDocument } from '../../report/sections/run-document.ts';
import { fullReport, readReports } from '../reports/reports.ts';
import { readMeasuredStudies, studySummary } from '../studies/page.ts';

/** Base path of the site, so that it can be served below a path. */
const BASE = process.env.DOCS_BASE ?? '/';
const REPOSITORY = repositoryUrl();

/** Version of JavaScript that the site's code needs. */
const TARGET = 'es2022';

/** Pages without an outline. Their wide tables and charts need the space. */
const WIDE = /^(reports|studies)\/|^benchmarks\.md$/;

/** Pages in the sidebar: group → title → path. */
const PAGES = {
  Guide: {
    'Getting started': '/guide/getting-started',
    'Your own server': '/guide/own-server',
    'Logins by framework': '/guide/logins',
    'Writing scenarios': '/guide/writing-scenarios',
    'Finding the maximum': '/guide/finding-the-maximum',
    'Several hosts': '/guide/several-hosts',
    'In CI': '/guide/ci',
    'What it looks like': '/guide/what-it-looks-like',
  },
  Method: {
    Overview: '/method',
    Memory: '/method/memory',
    Latency: '/method/latency',
    Delivery: '/method/delivery',
    'Applications that nobody changed': '/method/applications',
    'Comparing two results': '/method/comparing',
    Calibration: '/calibration',
  },
  Reference: {
    Steps: '/reference/steps',
    Options: '/reference/options',
    Metrics: '/reference/metrics',
    'Errors and exit codes': '/reference/errors',
    'Command line': '/reference/cli',
    'Result document': '/reference/result',
    Server: '/reference/server',
  },
  Results: { Reports: '/reports/', Studies: '/studies/', Benchmarks: '/benchmarks' },
};

export default defineConfig({
  title: 'socketio-capacity',
  description:
    'How many Socket.IO connections a deployment holds, what each costs, and whether every broadcast arrived.',
  lang: 'en',
  base: BASE,
  cleanUrls: false,
  ignoreDeadLinks: false,
  // Pages of studies include these files.
  srcExclude: ['studies/*/about.md'],
  head: [['link', { rel: 'icon', type: 'image/svg+xml', href: `${BASE}favicon.svg` }]],
  // VitePress's default target has browsers that the current esbuild cannot compile for.
  vite: { build: { target: TARGET }, optimizeDeps: { esbuildOptions: { target: TARGET } } },
  // Theme for code with more contrast. In VitePress's default theme, comments have too little.
  markdown: { theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' } },
  transformPageData(page) {
    if (WIDE.test(page.relativePath)) page.frontmatter.aside = false;
  },
  buildEnd({ outDir }) {
    for (const { size, result } of readReports()) {
      const path = join(outDir, fullReport(size));
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, renderHtml(runDocument(result)));
    }
  },
  themeConfig: {
    search: { provider: 'local' },
    outline: [2, 3],
    nav: linksOf({
      Guide: '/guide/getting-started',
      Reports: '/reports/',
      Studies: '/studies/',
      Method: '/method',
      Reference: '/reference/steps',
      ...(REPOSITORY && { Repository: REPOSITORY }),
    }),
    footer: { message: `Version ${VERSION}`, copyright: 'MIT licence' },
    sidebar: [
      ...Object.entries(PAGES).map(([text, pages]) => ({ text, items: linksOf(pages) })),
      {
        text: 'Reports',
        items: readReports().map(({ size, title }) => ({ text: title, link: `/reports/${size}` })),
      },
      {
        text: 'Studies',
        items: readMeasuredStudies()
          .map(studySummary)
          .map(({ name, title }) => ({ text: title, link: `/studies/${name}` })),
      },
    ],
  },
});

function linksOf(pages: Record<string, string>): { text: string; link: string }[] {
  return Object.entries(pages).map(([text, link]) => ({ text, link }));
}
