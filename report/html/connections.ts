/** How connections were made, how they are spread over the workers, and what failed. */

import type { Result } from '../../protocol/result/result.ts';
import { countBars } from '../charts/bars.ts';
import { connectTimeByConnections, connectTimeOverTime } from '../charts/connecting.ts';
import { connectionsOverTime } from '../charts/over-time.ts';
import { COLORS } from '../charts/palette.ts';
import { workersOverTime } from '../charts/workers.ts';
import { decimals, integer, percentOf } from '../text/format.ts';
import { reconnectionNote } from '../text/reconnection.ts';
import { term } from './definitions.ts';
import { type Html, html } from './html.ts';
import { behind, dataTable, figure, measured, section } from './section.ts';
import { summaryTable } from './summary-table.ts';

export function connections(result: Result): Html {
  const { connections: made } = result;
  const chart = connectionsOverTime(result);
  const [times, byConnections] = [connectTimeOverTime(result), connectTimeByConnections(result)];
  return section({
    id: 'connections',
    title: 'Connections',
    lead: html`How fast connections were made, and how long each one took: ${term('rate')}, ${term('connectTime')}, ${term('stages')}.`,
    body: html`${figure(chart, 'Not measured: there are no samples.')}
${times && behind('Charts: connect time and errors', html`${figure(times, '')}${byConnections && figure(byConnections, '')}`)}
${behind(
  'Connections in numbers, and the stages of connecting',
  html`${dataTable(
    'Connections in numbers',
    ['', 'Value', 'Unit'],
    [
      ['Target', integer(made.target), 'connections'],
      ...(made.transports
        ? [
            [term('transports', 'Began with WebSocket'), integer(made.transports.websocket), 'connections'],
            ['Upgraded from polling', integer(made.transports.upgraded), 'connections'],
            ['Stayed on polling', integer(made.transports.polling), 'connections'],
            ['Failed upgrades', integer(sumOf(made.transports.upgradeFailures)), 'attempts'],
          ]
        : []),
      ...(made.compression?.asked
        ? [[term('compression', 'Compressed'), integer(made.compression.granted), 'connections']]
        : []),
      [term('connections'), measured(made.held, integer), 'connections'],
      ['Peak', integer(made.peak), 'connections'],
      ['Failed', integer(made.failed), 'virtual users, including their additional connections'],
      ['Skipped', integer(made.skipped), 'arrivals beyond maxVusers'],
      ['Retries', integer(made.retries), 'attempts'],
      ['Rate, configured', measured(made.configuredRatePerSec, oneDigit), 'per second'],
      [term('rate', 'Rate, achieved'), measured(made.achievedRatePerSec, oneDigit), 'per second'],
      ...(made.tlsHandshakes
        ? [
            ['TLS handshakes, full', integer(made.tlsHandshakes.full), 'connections'],
            ['TLS handshakes, resumed', integer(made.tlsHandshakes.resumed), 'connections'],
          ]
        : []),
      ['Ramps, in total', measured(made.rampSeconds, oneDigit), 'seconds'],
    ],
  )}
${summaryTable('Connect time and its stages (ms)', [
  [term('connectTime'), made.connectMs],
  ...Object.entries(made.stagesMs).map(([stage, summary]) => [`– ${stage}`, summary] as const),
])}`,
)}`,
  });
}

export function workers(result: Result): Html {
  const { perWorker, perServer } = result.connections;
  // With one server, this is the number of connections again.
  const servers = perServer && Object.keys(perServer).length > 1 ? perServer : null;
  return section({
    id: 'workers',
    title: 'Workers',
    folded: true,
    lead: 'How the connections were distributed over the Socket.IO workers, and what each of them did.',
    body: html`${figure(workersOverTime(result), 'Not measured over time: this result has no series of single workers.')}
${spread('worker', perWorker, 'Not measured: it is not known which worker holds each connection.')}
${servers && spread('server, by its admin UI', servers, '')}`,
  });
}

function spread(of: string, perWorker: Record<string, number>, none: string): Html {
  const total = Object.values(perWorker).reduce((sum, count) => sum + count, 0);
  const rows = Object.entries(perWorker).toSorted(([a], [b]) => a.localeCompare(b, 'en', { numeric: true }));
  const table = dataTable(
    `Connections of each ${of}`,
    ['Name', 'Connections', 'Share'],
    rows.map(([worker, count]) => [worker, integer(count), percentOf(count, total)]),
  );
  return figure(countBars(`Connections of each ${of}`, Object.fromEntries(rows)), none, rows.length > 0 && table);
}

export function errors(result: Result): Html {
  const { failures, failureExamples, disconnects } = result.connections;
  const reconnection = reconnectionNote(result);
  const causes = (title: string, counts: Record<string, number>, none: string) => {
    const rows = Object.entries(counts).toSorted(([, a], [, b]) => b - a);
    const table = dataTable(
      title,
      ['Cause', 'Count'],
      rows.map(([cause, count]) => [cause, integer(count)]),
    );
    return figure(countBars(title, Object.fromEntries(rows), COLORS.red), none, rows.length > 0 && table);
  };
  return section({
    id: 'errors',
    title: 'Errors',
    folded: Object.keys(failures).length + Object.keys(disconnects).length === 0,
    lead: term('failures', 'Failures and disconnects by cause'),
    body: html`${causes('Failures by cause', failures, 'No virtual user failed.')}
${Object.entries(failureExamples).map(([cause, text]) => html`<p class="note">First <code>${cause}</code>: ${text}</p>`)}
${causes('Disconnects by cause', disconnects, 'No connection ended before the run released it.')}
${reconnection !== null && html`<p>Reconnection: ${reconnection}.</p>`}`,
  });
}

function sumOf(counts: Record<string, number>): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}

function oneDigit(value: number): string {
  return decimals(value, 1);
}
