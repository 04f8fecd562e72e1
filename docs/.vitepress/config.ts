/** The site: pages and navigation. Builds offline; a dead link fails the build. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { defineConfig } from 'vitepress';
import { renderHtml } from '../../report/render/html.ts';
import { runDocument } from '../../report/sections/run-document.ts';
import { fullReport, readReports } from '../reports/reports.ts';
import { readMeasuredStudies, studySummary } from '../studies/page.ts';

/** Pages whose wide tables and charts need the space of the page's outline. */
const WIDE = /^(reports|studies)\/|^benchmarks\.md$/;

export default defineConfig({
  title: 'socketio-capacity',
  description:
    'How many Socket.IO connections a deployment holds, what each costs, and whether every broadcast arrived.',
  lang: 'en',
  // Works when opened from a disk and when served below a path.
  base: process.env.DOCS_BASE ?? '/',
  cleanUrls: false,
  ignoreDeadLinks: false,
  // Parts of the pages of studies.
  srcExclude: ['studies/*/about.md'],
  // There is no icon, and browsers should not request one.
  head: [['link', { rel: 'icon', href: 'data:,' }]],
  // The default's comments are too pale for some.
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
    nav: [
      { text: 'Guide', link: '/guide/getting-started' },
      { text: 'Reports', link: '/reports/' },
      { text: 'Studies', link: '/studies/' },
      { text: 'Method', link: '/method' },
      { text: 'Reference', link: '/reference/steps' },
    ],
    sidebar: [
      {
        text: 'Guide',
        items: [
          { text: 'Getting started', link: '/guide/getting-started' },
          { text: 'Your own server', link: '/guide/own-server' },
          { text: 'Writing scenarios', link: '/guide/writing-scenarios' },
          { text: 'Finding the maximum', link: '/guide/finding-the-maximum' },
          { text: 'Several hosts', link: '/guide/several-hosts' },
          { text: 'In CI', link: '/guide/ci' },
        ],
      },
      {
        text: 'Method',
        items: [
          { text: 'Overview', link: '/method' },
          { text: 'Memory', link: '/method/memory' },
          { text: 'Latency', link: '/method/latency' },
          { text: 'Delivery', link: '/method/delivery' },
          { text: 'Verdict', link: '/method/verdict' },
          { text: 'Comparing two results', link: '/method/comparing' },
          { text: 'Calibration', link: '/calibration' },
        ],
      },
      {
        text: 'Reference',
        items: [
          { text: 'Steps', link: '/reference/steps' },
          { text: 'Options', link: '/reference/options' },
          { text: 'Metrics', link: '/reference/metrics' },
          { text: 'Errors and exit codes', link: '/reference/errors' },
          { text: 'Command line', link: '/reference/cli' },
          { text: 'Result document', link: '/reference/result' },
          { text: 'Server', link: '/reference/server' },
        ],
      },
      {
        text: 'Results',
        items: [
          { text: 'Reports', link: '/reports/' },
          { text: 'Studies', link: '/studies/' },
          { text: 'Benchmarks', link: '/benchmarks' },
        ],
      },
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
