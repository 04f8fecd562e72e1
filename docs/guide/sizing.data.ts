/** Tables of machines for a number of users, computed from the largest VALID report. */
import { tableHtml } from '../../report/render/blocks.ts';
import { sizingNote, sizingTables } from '../../report/search/search-page.ts';
import { sizingOf } from '../../report/search/sizing.ts';
import { integer } from '../../report/text/format.ts';
import { largestValid, type Report, readReportsBySize } from '../reports/reports.ts';

/** Shares of each limit that are kept free. */
const HEADROOMS = [0.3, 0.5];

export declare const data: {
  /** The report; null if there is none. */
  report: { title: string; link: string; verdict: string } | null;
  /** Description of the machine and of the processes on it. */
  machine: string;
  /** HTML, like the tables below. */
  limits: string;
  headrooms: { note: string; table: string }[];
};

export default { watch: ['../reports/*/result.json'], load: () => machineSizing(readReportsBySize()) };

/** @param reports sorted by size, smallest first */
export function machineSizing(reports: Report[]): typeof data {
  const found = largestValid(reports, (result) => sizingOf(result, false, 0) !== null);
  if (!found) return { report: null, machine: '', limits: '', headrooms: [] };
  const { size, title, result } = found;
  const workers = Object.keys(result.connections.perWorker).length;
  // `false`: no level broke, because a report is a single run that held its target.
  const headrooms = HEADROOMS.flatMap((headroom) => {
    const sizing = sizingOf(result, false, headroom);
    if (!sizing) return [];
    const [table = '', limits = ''] = sizingTables(sizing).map((block) => tableHtml(block).markup);
    return { note: sizingNote(sizing, headroom), table, limits };
  });
  return {
    report: { title, link: `/reports/${size}`, verdict: result.verdict.status },
    machine: `${result.answer.machine}, which ran ${integer(workers)} Socket.IO workers, nginx and Redis, and the load generator as well`,
    limits: headrooms[0]?.limits ?? '',
    headrooms: headrooms.map(({ note, table }) => ({ note, table })),
  };
}
