/** Section on held connections, connect times and failures. */
import type { Result } from '../../protocol/result/result.ts';
import { connectionsOverTime, connectTimeOverTime } from '../charts/over-time-chart.ts';
import { amount, withUnit } from '../model/amount.ts';
import { count, drawing, type Fact, facts, type Section, type Table } from '../model/document.ts';
import { breakdown, integer, total } from '../text/format.ts';
import { NO_SAMPLES, summaries } from './section-parts.ts';

export function connections(result: Result): Section {
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
      drawing(connectionsOverTime(result), NO_SAMPLES),
      causes('Failures of virtual users by cause', failures, failureExamples),
      causes('Disconnects by cause', disconnects),
      causes('Responses to HTTP requests by status', http?.responses ?? {}),
      causes('HTTP requests without a response by error', http?.failures ?? {}),
      causes('Failures of virtual users of other engines by error', otherUsers?.failures ?? {}),
      drawing(connectTimeOverTime(result), '', true),
      counts(result),
      causes('Counters of functions', functions?.counters ?? {}),
      summaries(
        'Connect time and its stages',
        [['Connect time', result.connections.connectMs], ...Object.entries(result.connections.stagesMs)],
        true,
      ),
    ],
  };
}

/** Returns a table of causes, the most frequent first. */
function causes(title: string, counts: Record<string, number>, examples: Record<string, string> = {}): Table {
  const rows = Object.entries(counts).toSorted(([, a], [, b]) => b - a);
  return facts(
    title,
    rows.map(([cause, of]) => count(cause, of, examples[cause] && `first: ${examples[cause]}`)),
  );
}

function counts({ connections: made }: Result): Table {
  const { compression, tlsHandshakes } = made;
  return facts(
    'Connections in numbers',
    [
      count('Target', made.target),
      count('Asked for', made.asked),
      count('Never opened', total(made.notOpened), breakdown(made.notOpened)),
      count('Opened', made.opened),
      count('Lost', total(made.lost), breakdown(made.lost)),
      made.closed !== null && made.closed > 0 && count('Closed by their virtual users', made.closed),
      ...byTransport(made),
      compression?.asked === true && count('Compressed', compression.granted),
      count('Held', made.held),
      count('Peak', made.peak),
      made.skipped > 0 && count('Skipped', made.skipped, 'arrivals beyond maxVusers'),
      count('Retries', made.retries),
      count('Disconnects', total(made.disconnects)),
      ...reconnectionFacts(made),
      ['Rate, configured', amount('perSecond', made.configuredRatePerSec)],
      ['Rate, achieved', amount('perSecond', made.achievedRatePerSec)],
      ['Ramps, in total', amount('seconds', made.rampSeconds)],
      tlsHandshakes && count('TLS handshakes, full', tlsHandshakes.full),
      tlsHandshakes && count('TLS handshakes, resumed', tlsHandshakes.resumed),
    ],
    true,
  );
}

/**
 * Returns the connections by transport. Omitted if all were WebSockets from the start. Older results lack the total.
 */
function byTransport({ transports }: Result['connections']): Fact[] {
  if (!transports) return [];
  const { websocket, upgraded, polling, upgradeFailures } = transports;
  if (upgraded + polling + total(upgradeFailures) === 0) return [];
  return [
    count('Began with WebSocket', websocket),
    count('Upgraded from polling', upgraded),
    count('Stayed on polling', polling),
    count('Failed upgrades', total(upgradeFailures), breakdown(upgradeFailures)),
  ];
}

/** Returns the rows on dropped connections. */
function reconnectionFacts({ reconnection }: Result['connections']): Fact[] {
  if (!reconnection?.dropped) return [];
  const { awayMs, returned, recovered } = reconnection;
  const longest = awayMs ? `median; longest ${withUnit('milliseconds', awayMs.max)}` : '';
  return [
    count('Dropped', reconnection.dropped),
    count('Returned', returned, `${integer(recovered)} of them with a restored session`),
    ['Returned after', amount('milliseconds', awayMs?.p50), longest],
    count('Gave up', reconnection.gaveUp),
    count('Closed while away', reconnection.left),
    count('Still disconnected at the end', reconnection.away),
  ];
}
