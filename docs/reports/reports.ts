/** Reads the results that the site shows: `docs/reports/<size>/result.json`, written by `add.ts`. */
import { existsSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Result } from '../../protocol/result/result.ts';
import { turnoverText } from '../../report/figures/held.ts';
import { pingIntervalOf } from '../../report/figures/idle-cpu.ts';
import { isUsable } from '../../report/figures/measured-figures.ts';
import { clientsOf, transportsOf } from '../../report/figures/transports.ts';
import { readResult } from '../../report/read.ts';
import { chartHtml } from '../../report/render/blocks.ts';
import { renderMarkdownSummary } from '../../report/render/markdown.ts';
import { runDocument } from '../../report/sections/run-document.ts';
import { decimalsText } from '../../report/text/format.ts';
import { inMarkdown } from '../figures.ts';

export interface Report {
  /** Name of the folder and of the page, such as `5k`. */
  size: string;
  /** Number of connections, and differences from the other reports: `32,000 connections, TLS`. */
  title: string;
  /** Differences from the main reports, which differ from each other only in size. Empty for a main report. */
  differences: string[];
  result: Result;
}

const SOCKET_IO_PING_INTERVAL_MS = 25_000;

export const REPORTS = fileURLToPath(new URL('.', import.meta.url));

/** Returns the path of a run's report.html on the built site. */
export function fullReport(size: string): string {
  return `/reports/${size}/report.html`;
}

/**
 * Returns all reports, the smallest first.
 * @throws CapacityError of `readResult`
 */
export function readReports(): Report[] {
  return readdirSync(REPORTS, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && existsSync(`${REPORTS}/${entry.name}/result.json`))
    .map(({ name: size }) => describeReport(size, readResult(`${REPORTS}/${size}`)))
    .sort((a, b) => a.result.connections.target - b.result.connections.target || a.title.localeCompare(b.title));
}

/** Returns whether the report is VALID and has Socket.IO's default ping interval. */
export function isValidAtDefaultPings({ result }: Report): boolean {
  return result.verdict.status === 'VALID' && pingsOf(result).length === 0;
}

export function describeReport(size: string, result: Result): Report {
  const isNamedBySize = /^\d+k/.test(size);
  const collection = result.memory.overTime?.collected === false ? ['garbage not collected'] : [];
  const differences = [...(isNamedBySize ? [] : [result.run.scenario]), ...collection, ...differencesOf(result)];
  const connections = turnoverText(result) ?? `${result.connections.target.toLocaleString('en-US')} connections`;
  const title = [connections, ...pingsOf(result), ...differences].join(', ');
  return { size, title, differences, result };
}

/**
 * Describes a ping interval other than Socket.IO's default. It affects only the idle CPU, so it does not count as a
 * difference.
 */
function pingsOf(result: Result): string[] {
  const intervalMs = pingIntervalOf(result);
  if (intervalMs === null || intervalMs === SOCKET_IO_PING_INTERVAL_MS) return [];
  return [`a ping every ${decimalsText(intervalMs / 1000, 0)} s`];
}

function differencesOf(result: Result): string[] {
  const clients = transportsOf(result) === 'websocket' ? null : clientsOf(result);
  const secure = /^(https|wss):/.test(result.run.target);
  const sending = result.messages ? ['messages of clients'] : [];
  return [...(secure ? ['TLS'] : []), ...(clients ? [clients] : []), ...sending];
}

/** Renders the page of a report: the answer, the first chart, and a link to the full report. */
export function reportPage({ size, title, result }: Report): string {
  const document = runDocument(result);
  const chart = document.sections
    .filter(({ folded }) => !folded)
    .flatMap(({ blocks }) => blocks)
    .flatMap((block) => (block.kind === 'chart' && !block.folded ? (block.chart ?? []) : []))
    .at(0);
  return [
    renderMarkdownSummary({ ...document, title }, []),
    ...(chart && isUsable(result) ? [inMarkdown(chartHtml(chart, ''))] : []),
    `[The full report of this run](${fullReport(size)}){target="_self"} has every table and chart. [Method](/method) defines each figure.`,
    '',
  ].join('\n\n');
}
