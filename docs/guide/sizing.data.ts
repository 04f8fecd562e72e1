/** Machines for a number of users, from the largest VALID report. */

import { tableHtml } from '../../report/render/blocks.ts';
import { sizingNote, sizingTables } from '../../report/search/document.ts';
import { sizingOf } from '../../report/search/sizing.ts';
import { decimals, integer } from '../../report/text/format.ts';
import { largestValid, type Report, readReportsBySize } from '../reports/reports.ts';

/** Shares of each limit that stay free. */
const HEADROOMS = [0.3, 0.5];

export interface MachineSizing {
  /** Title and address of the report; null without one. */
  report: { title: string; link: string; verdict: string } | null;
  /** What the machine is, and what runs on it. */
  machine: string;
  /** HTML. */
  limits: string;
  headrooms: { note: string; table: string }[];
}

export declare const data: MachineSizing;

export default { watch: ['../reports/*/result.json'], load: (): MachineSizing => machineSizing(readReportsBySize()) };

/** @param reports the smallest first */
export function machineSizing(reports: Report[]): MachineSizing {
  const found = largestValid(reports, (result) => sizingOf(result, false, 0) !== null);
  if (!found) return { report: null, machine: '', limits: '', headrooms: [] };
  const { size, title, result } = found;
  const { cpu, cpuCount, memoryBytes } = result.environment;
  const workers = Object.keys(result.connections.perWorker).length;
  // No level broke: a report is a single run, which held what it was asked to.
  const sizings = HEADROOMS.map((headroom) => ({ headroom, sizing: sizingOf(result, false, headroom) }));
  return {
    report: { title, link: `/reports/${size}`, verdict: result.verdict.status },
    machine: `${cpu}, ${integer(cpuCount)} cores, ${decimals(memoryBytes / 1024 ** 3, 0)} GiB, which ran ${integer(workers)} Socket.IO workers, nginx and Redis, and the load generator as well`,
    limits: sizings[0]?.sizing ? tableHtml(sizingTables(sizings[0].sizing)[1]).markup : '',
    headrooms: sizings.flatMap(({ headroom, sizing }) =>
      sizing
        ? [
            {
              note: sizingNote(sizing, headroom),
              table: tableHtml(sizingTables(sizing)[0]).markup,
            },
          ]
        : [],
    ),
  };
}
