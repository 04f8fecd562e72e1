/** Section on held connections, connect times and failures. */
import type { Result } from '../../protocol/result/result.ts';
import { connectionsOverTimeChart, connectTimeOverTimeChart } from '../charts/over-time-chart.ts';
import { amount, withUnit } from '../model/amount.ts';
import {
  chartBlock,
  countFact,
  factsTable,
  type ReportSection,
  type Table,
  type TableFact,
} from '../model/document.ts';
import { countsBreakdown, integerText, totalOfCounts } from '../text/format.ts';
import { NO_SAMPLES, summariesTable } from './section-parts.ts';

export function connectionsSection(result: Result): ReportSection {
  const { http, otherUsers, functions } = result;
  const { failures, failureExamples, disconnects, compression } = result.connections;
  return {
    id: 'connections',
    title: 'Connections',
    lead: 'How fast connections were made, and how long each one took.',
    terms: [
      'Connections held',
      'Connect rate',
      'Connect time',
      'Stages',
      'Failures and disconnects',
      ...(byTransport(result.connections).length > 0 ? ['Transports' as const] : []),
      ...(compression?.asked ? ['Compression' as const] : []),
    ],
    blocks: [
      chartBlock(connectionsOverTimeChart(result), NO_SAMPLES),
      causes('Failures of virtual users by cause', failures, failureExamples),
      causes('Disconnects by cause', disconnects),
      causes('Responses to HTTP requests by status', http?.responses ?? {}),
      causes('HTTP requests without a response by error', http?.failures ?? {}),
      causes('Failures of virtual users of other engines by error', otherUsers?.failures ?? {}),
      chartBlock(connectTimeOverTimeChart(result), '', true),
      counts(result),
      causes('Counters of functions', functions?.counters ?? {}),
      summariesTable(
        'Connect time and its stages',
        [['Connect time', result.connections.connectMs], ...Object.entries(result.connections.stagesMs)],
        true,
      ),
    ],
  };
}

/** Returns a table of failure causes with their counts, the most frequent first. */
function causes(title: string, counts: Record<string, number>, examples: Record<string, string> = {}): Table {
  const rows = Object.entries(counts).toSorted(([, a], [, b]) => b - a);
  return factsTable(
    title,
    rows.map(([cause, of]) => countFact(cause, of, examples[cause] && `first: ${examples[cause]}`)),
  );
}

function counts({ connections: made }: Result): Table {
  const { compression, tlsHandshakes } = made;
  return factsTable(
    'Connections in numbers',
    [
      countFact('Target', made.target),
      countFact('Asked for', made.asked),
      countFact('Never opened', totalOfCounts(made.notOpened), countsBreakdown(made.notOpened)),
      countFact('Opened', made.opened),
      countFact('Lost', totalOfCounts(made.lost), countsBreakdown(made.lost)),
      made.closed !== null && made.closed > 0 && countFact('Closed by their virtual users', made.closed),
      ...byTransport(made),
      compression?.asked === true && countFact('Compressed', compression.granted),
      countFact('Held', made.held),
      countFact('Peak', made.peak),
      made.skipped > 0 && countFact('Skipped', made.skipped, 'arrivals beyond maxVusers'),
      countFact('Retries', made.retries),
      countFact('Disconnects', totalOfCounts(made.disconnects)),
      ...reconnectionFacts(made),
      ['Rate, configured', amount('perSecond', made.configuredRatePerSec)],
      ['Rate, achieved', amount('perSecond', made.achievedRatePerSec)],
      ['Ramps, in total', amount('seconds', made.rampSeconds)],
      tlsHandshakes && countFact('TLS handshakes, full', tlsHandshakes.full),
      tlsHandshakes && countFact('TLS handshakes, resumed', tlsHandshakes.resumed),
    ],
    true,
  );
}

/**
 * Returns the number of connections by transport. Left out if all connections used WebSocket from the start. Results of
 * older versions lack the number of all connections.
 */
function byTransport({ transports }: Result['connections']): TableFact[] {
  if (!transports) return [];
  const { websocket, upgraded, polling, upgradeFailures } = transports;
  if (upgraded + polling + totalOfCounts(upgradeFailures) === 0) return [];
  return [
    countFact('Began with WebSocket', websocket),
    countFact('Upgraded from polling', upgraded),
    countFact('Stayed on polling', polling),
    countFact('Failed upgrades', totalOfCounts(upgradeFailures), countsBreakdown(upgradeFailures)),
  ];
}

/** Returns the rows about connections that were dropped and reconnected. */
function reconnectionFacts({ reconnection }: Result['connections']): TableFact[] {
  if (!reconnection?.dropped) return [];
  const { awayMs, returned, recovered } = reconnection;
  const longest = awayMs ? `median; longest ${withUnit('milliseconds', awayMs.max)}` : '';
  return [
    countFact('Dropped', reconnection.dropped),
    countFact('Returned', returned, `${integerText(recovered)} of them with a restored session`),
    ['Returned after', amount('milliseconds', awayMs?.p50), longest],
    countFact('Gave up', reconnection.gaveUp),
    countFact('Closed while away', reconnection.left),
    countFact('Still disconnected at the end', reconnection.away),
  ];
}
