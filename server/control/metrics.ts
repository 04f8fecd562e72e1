/**
 * Metrics of `/metrics`. Each instrumented server has its own registry, because prom-client's default registry is for
 * the user's metrics.
 */
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { MetricDefinition } from '../../protocol/base/metric.ts';
import type { AnyServer } from '../any-server.ts';
import type { EventLoopWindow } from './worker-stats.ts';

interface Series extends MetricDefinition {
  kind: 'gauge' | 'counter' | 'histogram';
  /** Labels in addition to `worker`, which every series has. */
  labels: string[];
}

export const WORKER_METRICS = {
  connections: gauge('capacity_connections', 'connections', 'Engine.IO clients of this worker'),
  rooms: gauge('capacity_rooms', 'rooms', 'Rooms of the main namespace on this worker'),
  rss: gauge('capacity_rss_bytes', 'bytes', 'Resident set size'),
  heapUsed: gauge('capacity_heap_used_bytes', 'bytes', 'V8 heap in use'),
  heapTotal: gauge('capacity_heap_total_bytes', 'bytes', 'V8 heap reserved'),
  external: gauge('capacity_external_bytes', 'bytes', 'Memory outside the V8 heap, including buffers'),
  // Three gauges instead of one with a label, because the label `quantile` is reserved for summaries.
  eventLoopDelayP50: eventLoopDelay('p50', 'Median'),
  eventLoopDelayP99: eventLoopDelay('p99', '99th percentile of the'),
  eventLoopDelayMax: eventLoopDelay('max', 'Longest'),
  joins: counter('capacity_joins_total', 'joins', 'Joins of a room'),
  broadcasts: counter('capacity_broadcasts_total', 'broadcasts', 'Broadcasts published here'),
  echoRoundTrip: {
    name: 'capacity_echo_round_trip_seconds',
    kind: 'histogram',
    unit: 'seconds',
    help: "Time from a broadcast's send to its echo, on the server clock",
    labels: [],
  },
  malformed: counter('capacity_malformed_total', 'messages', 'Messages refused because they violate the contract', [
    'event',
  ]),
  closed: counter('capacity_closed_connections_total', 'connections', 'Connections closed for what they sent', [
    'reason',
  ]),
  handshakeErrors: counter('capacity_handshake_errors_total', 'connections', 'Connections that Engine.IO refused', [
    'reason',
  ]),
  adapterErrors: counter(
    'capacity_adapter_errors_total',
    'errors',
    "Errors of the adapter's connections, including lost publications",
  ),
} satisfies Record<string, Series>;

/** Error messages of Engine.IO. Any other message is counted as `other`, which limits the number of labels. */
const HANDSHAKE_ERRORS = new Set([
  'Transport unknown',
  'Session ID unknown',
  'Bad handshake method',
  'Bad request',
  'Forbidden',
  'Unsupported protocol version',
]);

export type WorkerMetrics = ReturnType<typeof createWorkerMetrics>;

export function createWorkerMetrics(
  counts: { connections(): number; rooms(): number },
  worker: string,
  eventLoop: EventLoopWindow,
) {
  const registry = new Registry();
  registry.setDefaultLabels({ worker });
  const registered = (series: Series) => configurationOf(series, registry);
  const read = (series: Series, value: () => number) =>
    new Gauge({
      ...registered(series),
      collect() {
        this.set(value());
      },
    });

  read(WORKER_METRICS.connections, counts.connections);
  read(WORKER_METRICS.rooms, counts.rooms);
  read(WORKER_METRICS.rss, () => process.memoryUsage.rss());
  read(WORKER_METRICS.heapUsed, () => process.memoryUsage().heapUsed);
  read(WORKER_METRICS.heapTotal, () => process.memoryUsage().heapTotal);
  read(WORKER_METRICS.external, () => process.memoryUsage().external);
  read(WORKER_METRICS.eventLoopDelayP50, () => eventLoop.read().delayP50Ms / 1000);
  read(WORKER_METRICS.eventLoopDelayP99, () => eventLoop.read().delayP99Ms / 1000);
  read(WORKER_METRICS.eventLoopDelayMax, () => eventLoop.read().delayMaxMs / 1000);

  const joins = new Counter(registered(WORKER_METRICS.joins));
  const broadcasts = new Counter(registered(WORKER_METRICS.broadcasts));
  const echoRoundTripSeconds = new Histogram({
    ...registered(WORKER_METRICS.echoRoundTrip),
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
  });
  const malformed = new Counter(registered(WORKER_METRICS.malformed));
  const closed = new Counter(registered(WORKER_METRICS.closed));
  const handshakeErrors = new Counter(registered(WORKER_METRICS.handshakeErrors));
  return {
    registry,
    joins,
    broadcasts,
    echoRoundTripSeconds,
    countMalformed: (event: string) => malformed.inc({ event }),
    countClosed: (reason: 'malformed' | 'packet' = 'malformed') => closed.inc({ reason }),
    countHandshakeError: (reason: string) =>
      handshakeErrors.inc({ reason: HANDSHAKE_ERRORS.has(reason) ? reason : 'other' }),
  };
}

function gauge(name: string, unit: string, help: string): Series {
  return { name, kind: 'gauge', unit, help, labels: [] };
}

function eventLoopDelay(figure: string, which: string): Series {
  const help = `${which} delay of the event loop since the last stats request`;
  return gauge(`capacity_event_loop_delay_${figure}_seconds`, 'seconds', help);
}

function counter(name: string, unit: string, help: string, labels: string[] = []): Series {
  return { name, kind: 'counter', unit, help, labels };
}

function configurationOf({ name, help, labels }: Series, registry: Registry) {
  return { name, help, labelNames: labels, registers: [registry] };
}

/** Returns the number of rooms. The private room that Socket.IO creates for each socket is not counted. */
export function countRooms(io: AnyServer): number {
  const { rooms, sids } = io.of('/').adapter;
  let privateRooms = 0;
  for (const [sid, joined] of sids) if (joined.has(sid)) privateRooms++;
  return rooms.size - privateRooms;
}

export function countAdapterErrors(registry: Registry, errors: () => number): void {
  new Counter({
    ...configurationOf(WORKER_METRICS.adapterErrors, registry),
    collect() {
      this.reset();
      this.inc(errors());
    },
  });
}
