/** Processes of a server that no adapter connects: a message reaches only the connections of the process that sends it. */
import { integer } from '../../../../report/text/format.ts';
import { type Group, separateGroups } from '../../../result/delivery/audience.ts';
import type { Measurements } from '../../../run/measurements/measurements.ts';
import { type Check, checkUnless, type Measured } from '../../check.ts';

export const adapter: Check[] = [
  checkUnless('abort', 'ADAPTER_MISSING', (result, measurements) => {
    const groups = groupsByProcess(result, measurements);
    if (groups === undefined) return undefined;
    return {
      message: `each message reaches only the process of its sender: the broadcasts reached ${groupsText(groups)}, and none reached connections of two groups`,
      fix: `give the ${groups.length} processes an adapter, such as Redis or the cluster adapter; if the server has one, and sends to rooms, name these in \`delivery.audience\``,
      window: 'broadcasts',
    };
  }),
];

/** @returns `2 separate groups of connections (31, 29)` */
export function groupsText(groups: Group[]): string {
  return `${groups.length} separate groups of connections (${groups.map(({ connections }) => integer(connections)).join(', ')})`;
}

/** @returns undefined where connections are not apart, or where a single process, or an unknown number, can have caused it */
export function groupsByProcess(
  result: Pick<Measured, 'delivery' | 'processes'>,
  measurements: Measurements,
): Group[] | undefined {
  const groups = separateGroups(measurements, result.delivery?.batches ?? []);
  return groups.length >= 2 && groups.length <= serverCount(result, measurements) ? groups : undefined;
}

/** @returns processes of the server that hold connections; 0 if unknown */
export function serverCount({ processes }: Pick<Measured, 'processes'>, { workersAtStart }: Measurements): number {
  const holders = processes?.measured.filter(({ layer, holds }) => layer === 'worker' && holds).length ?? 0;
  return Math.max(workersAtStart.length, holders);
}
