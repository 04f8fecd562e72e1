/** CPU, and whether the load generator kept up. */
import type { Result } from '../../protocol/result/result.ts';
import { cpuOverTime, layerExtremes } from '../charts/over-time.ts';
import { inOrder, layerTitle } from '../figures/layers.ts';
import { cpuNotes } from '../text/cpu-cells.ts';
import { decimals, integer, milliseconds, percentOf, withMargin } from '../text/format.ts';
import { term } from './definitions.ts';
import { hostsTable } from './hosts.ts';
import { type Html, html } from './html.ts';
import { behind, dataTable, figure, measured, section } from './section.ts';

const WINDOWS = { ramp: 'during the ramp', messages: 'during the messages', broadcasts: 'during the broadcasts' };
const PARTS = { fleet: 'Fleet process', artillery: 'Artillery worker' };

export function cpu(result: Result): Html {
  const layers = inOrder(result, Object.keys(result.cpu));
  const extremes = dataTable(
    'CPU of the samples, % of one core',
    ['Layer', 'Highest', 'Last'],
    layerExtremes(result, 'cpuPercent').map(({ layer, highest, last }) => [
      layerTitle(result, layer),
      ...[highest, last].map((percent) => decimals(percent, 1)),
    ]),
  );
  return section({
    id: 'cpu',
    title: 'CPU',
    lead: html`${term('cpu')} of each ${term('layers', 'layer')}; 100 % is one core.`,
    body: html`${result.absent.cpu !== undefined && html`<p class="absent">The server’s CPU was not measured: ${result.absent.cpu}.</p>`}
${figure(cpuOverTime(result), 'Not measured: there are no samples.', extremes)}
${
  layers.length > 0 &&
  behind(
    'Table: CPU cost by layer',
    dataTable(
      'CPU cost by layer',
      [
        'Layer',
        'Seconds per 1,000 connects',
        result.messages ? 'µs per message of a client' : '% of a core while idle',
        'µs per message',
      ],
      layers.map((layer) => {
        const cost = result.cpu[layer] as Result['cpu'][string];
        return [
          layerTitle(result, layer),
          ...(
            [
              ['rampSecondsPerThousandConnects', 3],
              [result.messages ? 'clientMicrosecondsPerMessage' : 'idlePercent', 1],
              ['broadcastMicrosecondsPerMessage', 1],
            ] as const
          ).map(([key, digits]) =>
            measured(cost[key], (value) => withMargin(value, cost.intervals?.[key], (one) => decimals(one, digits))),
          ),
        ];
      }),
    ),
  )
}
${cpuNotes(result).map((note) => html`<p class="note">${note}</p>`)}`,
  });
}

export function generator(result: Result): Html {
  const { generator: loops, machine, sampling } = result;
  return section({
    id: 'generator',
    title: 'Load generator',
    folded: true,
    lead: html`The ${term('generator', 'event loops')} of the generator show whether it kept up, or added its own queue.`,
    body: html`${hostsTable(result)}
${
  loops.length === 0
    ? html`<p class="absent">Not measured: this engine does not report its event loops.</p>`
    : dataTable(
        'Event loops of the generator',
        ['Event loop', 'Busy', 'Late p50, ms', 'Late p99, ms', 'Late max, ms', 'Waiting for a CPU'],
        loops.map((loop) => [
          `${PARTS[loop.part]} ${loop.index}${loop.host === undefined ? '' : ` on ${loop.host}`}, ${WINDOWS[loop.window]}`,
          percentOf(loop.utilization, 1),
          ...[loop.delayP50Ms, loop.delayP99Ms, loop.delayMaxMs].map(milliseconds),
          measured(loop.cpuWaitShare, (part) => percentOf(part, 1)),
        ]),
      )
}
${machine && machineTable(machine)}
${
  sampling &&
  html`<p class="note">${integer(sampling.taken)} samples taken, ${integer(sampling.missed)} missed; the longest gap was ${decimals(sampling.longestGapMs / 1000, 1)} s.${Object.entries(sampling.failures).map(([source, count]) => ` ${source} failed ${integer(count)} times.`)}</p>`
}`,
  });
}

function machineTable({ cpuIdlePercent, swappedInBytes, swappedOutBytes }: NonNullable<Result['machine']>): Html {
  const percent = (value: number) => `${decimals(value, 1)} %`;
  const bytes = (value: number) => `${integer(value)} bytes`;
  return dataTable(
    'The generator’s machine',
    ['The generator’s machine', ''],
    [
      ['Idle CPU during the ramp', measured(cpuIdlePercent.ramp, percent)],
      ...(cpuIdlePercent.messages === null ? [] : [['Idle CPU during the messages', percent(cpuIdlePercent.messages)]]),
      ['Idle CPU during the broadcasts', measured(cpuIdlePercent.broadcasts, percent)],
      ['Swapped in', measured(swappedInBytes, bytes)],
      ['Swapped out', measured(swappedOutBytes, bytes)],
    ],
  );
}
