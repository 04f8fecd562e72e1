/** Whether every broadcast arrived, and when. */

import type { Batch } from '../../protocol/result/delivery.ts';
import type { Result } from '../../protocol/result/result.ts';
import { broadcastTimes, coverageByBroadcast, roundTripsByBroadcast } from '../charts/broadcasts.ts';
import { latencyByConnections } from '../charts/by-connections.ts';
import { oneWayPercentiles, roundTripPercentiles } from '../charts/percentiles.ts';
import { whyNoDelivery } from '../text/absent.ts';
import { batchName } from '../text/batch-name.ts';
import { BY_CONNECTIONS_HEAD, byConnectionsRows } from '../text/by-connections.ts';
import { integer, milliseconds, percentOf } from '../text/format.ts';
import { broadcastNotes, fromNotes, oneWayTitle } from '../text/latency-notes.ts';
import { otherCopies, sourceNotes } from '../text/other-copies.ts';
import { redisRows } from '../text/redis.ts';
import { toRooms } from '../text/rooms.ts';
import { term } from './definitions.ts';
import { type Html, type HtmlValue, html } from './html.ts';
import { absentSection, behind, dataTable, figure, measured, section } from './section.ts';
import { summaryTable } from './summary-table.ts';

export function latency(result: Result): Html {
  const { latency: times, absent } = result;
  const title = 'Broadcast latency';
  if (absent.latency !== undefined) return absentSection('latency', title, absent.latency);
  return section({
    id: 'latency',
    title,
    lead: html`${term('oneWay')} counts every receiver; the ${term('completion', 'time to reach everybody')} counts the last one of each broadcast.`,
    body: html`${figure(oneWayPercentiles(result), 'Not measured: no broadcast was received.')}
${behind(
  'Table: one-way latency and completion',
  summaryTable('One-way latency and completion', [
    [times.from === 'server' ? term('oneWay') : oneWayTitle(times), times.oneWayMs],
    ['– same worker as the publisher', times.localMs],
    ['– across workers', times.crossWorkerMs],
    [term('sentinel'), times.sentinelMs],
    [term('completion'), times.completionMs],
    [term('sendDelay'), times.sendDelayMs],
  ]),
)}
${[...fromNotes(times), ...broadcastNotes(times)].map(
  (note) => html`<p>${note}</p>
`,
)}
${figure(broadcastTimes(result), 'Not measured: no broadcast was received.', result.delivery && timesTable(result.delivery.batches))}
${byConnections(result)}`,
  });
}

function byConnections(result: Result): Html | null {
  const chart = latencyByConnections(result);
  return (
    chart &&
    figure(chart, '', dataTable('Latency against connections, in ms', BY_CONNECTIONS_HEAD, byConnectionsRows(result)))
  );
}

export function roundTrips(result: Result): Html {
  const { underLoad, single } = result.latency.roundTripHalfMs;
  const title = 'Round trip ÷ 2';
  if (result.absent.roundTrip !== undefined) return absentSection('round-trip', title, result.absent.roundTrip);
  return section({
    id: 'round-trip',
    title,
    folded: true,
    lead: html`As plotted in the Techracers study: ${term('roundTrip', 'half of a probe’s round trip')}, under load (all clients connected) and unloaded (no other client connected).`,
    body: html`${figure(roundTripsByBroadcast(result) ?? roundTripPercentiles(result), 'Not measured: the probe returned no echo.')}
${summaryTable('Round trip ÷ 2', [
  ['Under load', underLoad],
  ['Unloaded', single],
])}`,
  });
}

export function delivery(result: Result): Html {
  const { delivery: found } = result;
  const title = 'Delivery';
  if (found === null) return absentSection('delivery', title, whyNoDelivery(result));
  return section({
    id: 'delivery',
    title,
    lead: html`This shows whether every ${term('expected', 'expected')} receipt arrived, according to the generator’s ${term('ledger', 'ledger')}.`,
    body: html`${
      found.expected > 0 && found.received === found.expected
        ? html`<p>Every broadcast reached everybody: ${integer(found.received)} of ${integer(found.expected)} receipts.</p>${behind('Table: receipts of each broadcast', countsTable(found.batches))}`
        : figure(coverageByBroadcast(result), 'Not measured: no receipt was expected.', countsTable(found.batches))
    }
${sourceNotes(found).map(
  (note) => html`<p>${note}</p>
`,
)}
${behind(
  'Table: receipts of all broadcasts',
  dataTable(
    'Receipts of all broadcasts',
    ['', 'Count', ''],
    [
      [
        'Broadcasts',
        integer(found.broadcasts),
        `of ${integer(found.payloadBytes)} ${found.binary ? 'binary ' : ''}bytes${toRooms(found)}`,
      ],
      [term('expected'), integer(found.expected), ''],
      ['Received', integer(found.received), percentOf(found.received, found.expected)],
      ['Lost while connected', integer(found.lostConnected), ''],
      ['Lost while disconnected', integer(found.lostDisconnected), ''],
      ['Duplicates', integer(found.duplicates), 'receipts after a connection’s first'],
      ['Reordered', integer(found.reordered), 'received after a later broadcast'],
      ['Unexpected', integer(found.unexpected), 'join not acknowledged before the send'],
      ['Late', integer(found.late), 'received after the ledger was closed'],
      ...otherCopies(found).map(({ title, count, note }) => [title, integer(count), note]),
      ...redisRows(result),
    ],
  ),
)}`,
  });
}

function timesTable(batches: Batch[]): Html {
  return dataTable(
    'When each broadcast arrived, in ms',
    ['Broadcast', 'First', 'p50', 'p99', 'Last', 'Send delay'],
    batches.map(({ seq, broadcasts, firstMs, p50Ms, p99Ms, lastMs, sendDelayMs }) => [
      batchName({ seq, broadcasts }),
      ...[firstMs, p50Ms, p99Ms, lastMs].map((ms) => measured(ms, milliseconds)),
      milliseconds(sendDelayMs),
    ]),
  );
}

function countsTable(batches: Batch[]): Html {
  const rows = batches.map((batch): HtmlValue[] => [
    batchName(batch),
    measured(batch.serverMembers, integer),
    integer(batch.expected),
    integer(batch.received),
    batch.expected === 0 ? 'none expected' : percentOf(batch.received, batch.expected),
    ...[batch.lostConnected, batch.lostDisconnected, batch.duplicates, batch.unexpected].map(integer),
  ]);
  const head = ['Broadcast', 'Members (server)', 'Expected', 'Received', 'Coverage'];
  return dataTable(
    'Receipts of each broadcast',
    [...head, 'Lost, connected', 'Lost, disconnected', 'Duplicates', 'Unexpected'],
    rows,
  );
}
