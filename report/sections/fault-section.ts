import type { FaultResult } from '../../protocol/result/fault-schema.ts';
import type { Result } from '../../protocol/result/result.ts';
import { faultHeadline } from '../answer/fault-line.ts';
import { reconnectChart } from '../charts/over-time-chart.ts';
import { layerTitle, WHOLE_MACHINE } from '../figures/layers.ts';
import { amount, withUnit } from '../model/amount.ts';
import {
  chartBlock,
  countFact,
  factsTable,
  linesBlock,
  type ReportSection,
  type TableFact,
} from '../model/document.ts';
import { countsBreakdown, countText, decimalsText, integerText, percentOf, totalOfCounts } from '../text/format.ts';

const NOTABLE_MS = 100;

/** Returns the section; null for runs without a planned fault. */
export function faultSection(result: Result): ReportSection | null {
  const { fault: found } = result;
  if (!found) return null;
  return {
    id: 'fault',
    title: 'Planned fault',
    lead: `${faultHeadline(found)}.`,
    terms: ['Planned fault'],
    blocks: [
      chartBlock(reconnectChart(result), 'No connection dropped.'),
      factsTable('What the fault cost', rows(result, found)),
      linesBlock('note', notes(result, found)),
    ],
  };
}

function rows(result: Result, fault: FaultResult): (TableFact | false)[] {
  const { connections, stayed, dropped, reconnected, reconnectMs, drops, recovered, returns, broadcasts } = fault;
  const after = (name: string, ms: number | null): TableFact => [
    name,
    amount('seconds', ms === null ? null : ms / 1000),
  ];
  const more = drops > dropped ? `${integerText(drops)} times, some more than once` : '';
  return [
    countFact('Connections at the fault', connections),
    countFact('Stayed', stayed, percentOf(stayed, connections)),
    countFact('Dropped', dropped, [percentOf(dropped, connections), more].filter(Boolean).join('; ')),
    ...(dropped === 0
      ? []
      : [
          countFact(
            'Reconnected',
            reconnected,
            `${integerText(recovered)} of ${countText(returns, 'return')} had their session restored`,
          ),
          countFact('Not reconnected', totalOfCounts(fault.notReconnected), countsBreakdown(fault.notReconnected)),
          after('Half of the dropped connections reconnected after', reconnectMs.p50),
          after('99 % reconnected after', reconnectMs.p99),
          after('All reconnected after', reconnectMs.all),
          countFact(
            'Peak attempts',
            fault.peakAttemptsPerSec,
            `per second; returns: ${integerText(fault.peakReturnsPerSec)}`,
          ),
          countFact('Failed attempts', totalOfCounts(fault.failedAttempts), countsBreakdown(fault.failedAttempts)),
        ]),
    // CPU use of three layers. The chart of CPU over time shows the other layers.
    ...['worker', 'nginx', WHOLE_MACHINE].map((layer): TableFact | false => {
      const percent = fault.peakCpuPercent[layer];
      const of = layer === WHOLE_MACHINE ? 'of all cores' : 'of one core';
      return percent !== undefined && [`CPU peak, ${layerTitle(result, layer)}`, amount('percent', percent), of];
    }),
    ...(broadcasts ? broadcastRows(broadcasts) : []),
  ];
}

function unsentText(notSent: number, unknown: number): string {
  return [
    ...(notSent > 0 ? [`${integerText(notSent)} could not be sent`] : []),
    ...(unknown > 0 ? [`whether ${integerText(unknown)} more were sent is unknown`] : []),
  ].join('; ');
}

function broadcastRows({
  sent,
  notSent,
  unknown,
  due,
  resent,
  lost,
  absent,
  missed,
}: NonNullable<FaultResult['broadcasts']>): TableFact[] {
  const why = `${integerText(absent)} while away, ${integerText(lost)} while connected or just before the end`;
  return [
    countFact('Broadcasts meanwhile', sent, unsentText(notSent, unknown)),
    countFact('Copies due', due, resent > 0 ? `${integerText(resent)} sent again to restored sessions` : ''),
    countFact('Copies missed', missed, due > 0 ? `${percentOf(missed, due)}: ${why}` : ''),
  ];
}

/** Describes the planned fault, the reconnects of clients, and the distribution of connections afterwards. */
function notes({ environment }: Result, fault: FaultResult): string[] {
  const { replaced, tookMs, overMs, backoff, perWorker } = fault;
  const took = tookMs !== null && tookMs >= NOTABLE_MS ? ` That alone took ${seconds(tookMs)}.` : '';
  const over = overMs === null ? '' : ` After ${seconds(overMs)} the fault was over.`;
  const what = replaced.length > 0 ? replaced.join(', ') : 'no part of the deployment';
  const recovers = environment.server?.options.connectionStateRecovery;
  const kept = recovers === 'false' ? 'no sessions' : 'the sessions of those that dropped';
  const of = recovers === 'false' ? 'connection state recovery is off' : 'connection state recovery';
  const sessions = recovers === undefined ? '' : ` The server keeps ${kept} (${of}).`;
  const jitter = backoff.jitter === 0 ? 'no jitter' : `${decimalsText(100 * backoff.jitter, 0)} % of it random`;
  const workers = Object.keys({ ...perWorker.before, ...perWorker.after }).toSorted((a, b) =>
    a.localeCompare(b, 'en', { numeric: true }),
  );
  const balance = workers.map(
    (one) => `${one} ${integerText(perWorker.before[one] ?? 0)} → ${integerText(perWorker.after[one] ?? 0)}`,
  );
  // A connection whose session was restored does not join again, so its worker is unknown.
  const isKnown = totalOfCounts(perWorker.after) > 0 || fault.stayed + fault.reconnected === 0;
  return [
    `Planned: it replaced ${what}.${took}${over}`,
    `Clients wait ${seconds(backoff.delayMs)} before their first attempt, then twice as long each time, at most ${seconds(backoff.maxDelayMs)}; ${jitter}.${sessions}`,
    ...(workers.length > 1 && isKnown ? [`Connections of each worker, before → after: ${balance.join(', ')}.`] : []),
  ];
}

function seconds(ms: number): string {
  return withUnit('seconds', ms / 1000);
}
