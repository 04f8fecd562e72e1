/** The results that the site shows: `docs/reports/<size>/result.json`, put there by `add.ts`. */
import { existsSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Result } from '../../protocol/result/result.ts';
import { comesAndGoes } from '../../report/figures/held.ts';
import { pingIntervalOf } from '../../report/figures/idle-cpu.ts';
import { clientsOf, transportsOf } from '../../report/figures/transports.ts';
import { readResult } from '../../report/read.ts';
import { decimals } from '../../report/text/format.ts';

export interface Report {
  /** Name of the folder and of the page: `5k`. */
  size: string;
  /** `5,000 connections`, and what differs from the other reports: `32,000 connections, TLS`. */
  title: string;
  /** How it differs from the reports of the sizes, which are of one flow with the same clients: empty for these. */
  differences: string[];
  result: Result;
}

const SOCKET_IO_PING_INTERVAL_MS = 25_000;

export const REPORTS = fileURLToPath(new URL('.', import.meta.url));

/** @returns where the built site has the report.html of a run: beside its page, whose address has no folder */
export function fullReport(size: string): string {
  return `/reports/${size}/report.html`;
}

/**
 * @returns the smallest first; sizes without a result are left out
 * @throws CapacityError of `readResult`
 */
export function readReports(): Report[] {
  return readdirSync(REPORTS, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && existsSync(`${REPORTS}/${entry.name}/result.json`))
    .map(({ name: size }) => describeReport(size, readResult(`${REPORTS}/${size}`)))
    .sort((a, b) => a.result.connections.target - b.result.connections.target || a.title.localeCompare(b.title));
}

/** @returns the reports that differ in size only: what a comparison of sizes may show. As `readReports` otherwise. */
export function readReportsBySize(): Report[] {
  return readReports().filter(({ differences }) => differences.length === 0);
}

/**
 * The VALID one with the most connections, which machines for other numbers are computed from: with the ping interval that
 * everybody has who sets none.
 * @param reports the smallest first
 */
export function largestValid(reports: Report[], isKnown: (result: Result) => boolean): Report | undefined {
  return reports.findLast(
    ({ result }) => result.verdict.status === 'VALID' && pingsOf(result).length === 0 && isKnown(result),
  );
}

export function describeReport(size: string, result: Result): Report {
  const ofASize = /^\d+k/.test(size);
  const asItWas = result.memory.overTime?.collected === false ? ['garbage not collected'] : [];
  const differences = [...(ofASize ? [] : [result.run.scenario]), ...asItWas, ...differencesOf(result)];
  const connections = comesAndGoes(result) ?? `${result.connections.target.toLocaleString('en-US')} connections`;
  const title = [connections, ...pingsOf(result), ...differences].join(', ');
  return { size, title, differences, result };
}

/** Another interval than Socket.IO's costs idle CPU, and nothing that a comparison of sizes shows. */
function pingsOf(result: Result): string[] {
  const intervalMs = pingIntervalOf(result);
  if (intervalMs === null || intervalMs === SOCKET_IO_PING_INTERVAL_MS) return [];
  return [`a ping every ${decimals(intervalMs / 1000, 0)} s`];
}

function differencesOf(result: Result): string[] {
  const clients = transportsOf(result) === 'websocket' ? null : clientsOf(result);
  const secure = /^(https|wss):/.test(result.run.target);
  const sending = result.messages ? ['messages of clients'] : [];
  return [...(secure ? ['TLS'] : []), ...(clients ? [clients] : []), ...sending];
}
