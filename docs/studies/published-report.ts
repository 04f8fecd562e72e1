/** The published benchmark report beside our runs of the same sizes, and what its own figures say of each other. */
import type { Result } from '../../protocol/result/result.ts';
import { dataTable } from '../../report/render/blocks.ts';
import type { Html } from '../../report/render/markup.ts';
import { fitLine } from '../../report/statistics/statistics.ts';
import {
  decimals,
  integer,
  kilobytes,
  megabytes,
  milliseconds,
  optional,
  percentOf,
} from '../../report/text/format.ts';
import { gradeOf, theoreticalMax } from './grade.ts';
import { PUBLISHED_SIZES, type PublishedSize } from './published.ts';

const MB = 1024 ** 2;
/** Bytes of one of its messages: 0.60 MB sent in 120 broadcasts. */
const MESSAGE_BYTES = 5000;

const HEAD = [
  'Connections',
  'Measured by',
  'Configured rate, /s',
  'Achieved rate, /s',
  'Ramp, s',
  'Connect time, mean ms',
  'Peak RSS of the workers, MB',
  'Peak ÷ N, KB',
  'Slope, KB',
  '“Theoretical max”',
  'Broadcasts',
  'Delivery',
  'Grade',
];

/** @returns the report's figures for this many connections above ours; null where it has none */
export function besidePublished(result: Result): Html | null {
  const size = PUBLISHED_SIZES.find(({ connections }) => connections === result.connections.target);
  return size ? dataTable('The published benchmark report and this run', HEAD, [theirs(size), ours(result)]) : null;
}

/** @param results usable ones */
export function sideBySide(results: Result[]): Html {
  const rows = PUBLISHED_SIZES.flatMap((size) => {
    const own = results.find(({ connections }) => connections.target === size.connections);
    return [
      theirs(size),
      own ? ours(own) : [integer(size.connections), 'us: no report yet', ...HEAD.slice(2).map(() => '')],
    ];
  });
  return dataTable('The published benchmark report and our runs', HEAD, rows);
}

function theirs(size: PublishedSize): string[] {
  return [
    integer(size.connections),
    'the report',
    decimals(size.configuredRatePerSec, 0),
    decimals(size.achievedRatePerSec, 2),
    decimals(size.rampSeconds, 2),
    milliseconds(size.meanConnectMs),
    decimals(size.peakMb, 1),
    decimals(size.kbPerConnection, 0),
    // Theirs has no slope; this is the line through its own table.
    optional(slopeOf(size), kilobytes),
    integer(size.theoreticalMax),
    integer(size.broadcasts),
    `${size.deliveryPercent} %`,
    size.grade,
  ];
}

function ours(result: Result): string[] {
  const { connections, memory, delivery } = result;
  const { workerRss: peak } = memory.peakBytes;
  return [
    integer(connections.target),
    `us: ${result.verdict.status}`,
    optional(connections.configuredRatePerSec, (rate) => decimals(rate, 0)),
    optional(connections.achievedRatePerSec, (rate) => decimals(rate, 2)),
    optional(connections.rampSeconds, (seconds) => decimals(seconds, 2)),
    optional(connections.connectMs?.mean, milliseconds),
    optional(peak, megabytes),
    optional(peak === undefined ? null : peak / connections.peak, kilobytes),
    optional(memory.perConnectionBytes.workerRss?.slope, kilobytes),
    optional(theoreticalMax(result), integer),
    optional(delivery?.broadcasts, integer),
    delivery ? percentOf(delivery.received, delivery.expected) : '–',
    gradeOf(result) ?? '–',
  ];
}

/** @returns bytes per connection by the straight line through its RAM table */
export function slopeOf({ ram }: PublishedSize): number | null {
  return fitLine(ram.map(([x, mb]) => ({ x, y: mb * MB })))?.slope ?? null;
}

/** What the delivery would be by each pair of figures that the report gives for it. */
export function deliveryByItsOwnFigures(size: PublishedSize) {
  const { broadcasts, expectedPerBroadcast, received, connections, kbReceivedPerConnection } = size;
  const expected = broadcasts * expectedPerBroadcast;
  return {
    expected,
    missing: expected - received,
    /** Whole broadcasts' worth of what is missing. */
    missingBroadcasts: (expected - received) / expectedPerBroadcast,
    percent: (100 * received) / expected,
    /** How many broadcasts there were, if its delivery rate is right. */
    broadcastsByRate: received / (size.deliveryPercent / 100) / expectedPerBroadcast,
    /** How many receipts there were, if its data per connection are right. */
    receivedByData: (kbReceivedPerConnection * 1024 * connections) / MESSAGE_BYTES,
  };
}

export function contradictions(): Html {
  const rows = PUBLISHED_SIZES.map((size) => {
    const { expected, missing, missingBroadcasts, percent, broadcastsByRate, receivedByData } =
      deliveryByItsOwnFigures(size);
    return [
      integer(size.connections),
      `${integer(size.broadcasts)} × ${integer(size.expectedPerBroadcast)} = ${integer(expected)}`,
      integer(size.received),
      `${integer(missing)} (${decimals(missingBroadcasts, 2)} broadcasts)`,
      `${decimals(percent, 1)} %`,
      `${size.deliveryPercent} %`,
      decimals(broadcastsByRate, 0),
      integer(Math.round(receivedByData)),
    ];
  });
  const head = [
    'Connections',
    'Broadcasts × receivers',
    'Received',
    'Missing',
    'Delivery by these',
    'Delivery as printed',
    'Broadcasts, if the printed delivery is right',
    'Receipts, if the data per connection are right',
  ];
  return dataTable('Delivery in the published benchmark report, recomputed', head, rows);
}
