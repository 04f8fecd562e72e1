/** What 1,000 connects and idle connections take of a machine, process by process, from the largest VALID report. */
import type { Result } from '../../protocol/result/result.ts';
import { inOrder, layerTitle, WHOLE_MACHINE } from '../../report/figures/layers.ts';
import { dataTable } from '../../report/render/blocks.ts';
import { decimals, integer, optional } from '../../report/text/format.ts';
import { largestValid, type Report, readReportsBySize } from '../reports/reports.ts';

export interface ConnectSum {
  /** Title and address of the report; null without one. */
  report: { title: string; link: string; verdict: string } | null;
  /** HTML. */
  table: string;
  /** Which rate the sum allows. */
  sentence: string;
}

export declare const data: ConnectSum;

export default { watch: ['../reports/*/result.json'], load: (): ConnectSum => connectSum(readReportsBySize()) };

/** @param reports the smallest first */
export function connectSum(reports: Report[]): ConnectSum {
  const found = largestValid(reports, (result) => partsOf(result).length > 0);
  if (!found) return { report: null, table: '', sentence: '' };
  const { size, title, result } = found;
  const parts = partsOf(result);
  const sum = (of: (part: Part) => number | null) => parts.reduce((total, part) => total + (of(part) ?? 0), 0);
  const [connects, idle] = [sum(({ connectSeconds }) => connectSeconds), sum(({ idleCores }) => idleCores)];
  const { [WHOLE_MACHINE]: machine } = result.cpu;
  const { cpuCount } = result.environment;
  const held = integer(result.connections.held ?? result.connections.peak);
  const rows = [
    ...parts.map(({ layer, connectSeconds, idleCores }) => [
      layerTitle(result, layer),
      optional(connectSeconds, (seconds) => decimals(seconds, 3)),
      optional(idleCores, (cores) => decimals(cores, 2)),
    ]),
    ['Sum', decimals(connects, 3), decimals(idle, 2)],
    [
      'The whole machine, as the kernel counts',
      optional(machine?.rampSecondsPerThousandConnects, (seconds) => decimals(seconds, 3)),
      optional(machine?.idlePercent, (percent) => decimals(percent / 100, 2)),
    ],
  ];
  return {
    report: { title, link: `/reports/${size}`, verdict: result.verdict.status },
    table: dataTable(
      'CPU by process',
      ['Process', 'CPU per 1,000 connects, s', `Cores for ${held} idle connections`],
      rows,
    ).markup,
    sentence: `At the end of the ramp, ${held} connections take ${decimals(idle, 2)} of ${integer(cpuCount)} cores while they are idle. What is left connects ${integer(Math.floor((1000 * (cpuCount - idle)) / connects))} per second at most, with nothing in reserve.`,
  };
}

interface Part {
  layer: string;
  connectSeconds: number | null;
  idleCores: number | null;
}

function partsOf(result: Result): Part[] {
  return inOrder(result, Object.keys(result.cpu)).flatMap((layer) => {
    const { rampSecondsPerThousandConnects: connectSeconds = null, idlePercent = null } = result.cpu[layer] ?? {};
    if (layer === WHOLE_MACHINE || connectSeconds === null) return [];
    return [{ layer, connectSeconds, idleCores: idlePercent === null ? null : idlePercent / 100 }];
  });
}
