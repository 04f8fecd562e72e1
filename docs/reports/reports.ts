/** The results that the site shows: `docs/reports/<size>/result.json`, put there by `add.ts`. */
import { existsSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Result } from '../../protocol/result/result.ts';
import { readResult } from '../../report/read.ts';

export interface Report {
  /** Name of the folder and of the page: `5k`. */
  size: string;
  /** `5,000 connections`. */
  title: string;
  result: Result;
}

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
    .map(({ name: size }) => {
      const result = readResult(`${REPORTS}/${size}`);
      const sending = result.messages ? ' that send messages' : '';
      return { size, title: `${result.connections.target.toLocaleString('en-US')} connections${sending}`, result };
    })
    .sort((a, b) => a.result.connections.target - b.result.connections.target);
}
