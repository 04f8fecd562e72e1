/** What `/metrics` serves. A registry for each instrumented server; the process-wide one belongs to the user. */
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { AnyServer } from './types.ts';
import type { EventLoopWindow } from './worker-stats.ts';

export interface Metrics {
  registry: Registry;
  joins: Counter;
  broadcasts: Counter;
  echoRoundTripSeconds: Histogram;
  /** Messages that were refused because they do not keep the contract. */
  malformed: Counter<'event'>;
  handshakeErrors: Counter<'reason'>;
}

export function createMetrics(io: AnyServer, worker: string, eventLoop: EventLoopWindow): Metrics {
  const registry = new Registry();
  registry.setDefaultLabels({ worker });
  const registers = [registry];

  gauge('capacity_connections', 'Engine.IO clients of this worker', () => io.engine.clientsCount);
  gauge('capacity_rooms', 'Rooms of the main namespace on this worker', () => countRooms(io));
  gauge('capacity_rss_bytes', 'Resident set size', () => process.memoryUsage.rss());
  gauge('capacity_heap_used_bytes', 'V8 heap in use', () => process.memoryUsage().heapUsed);
  gauge('capacity_heap_total_bytes', 'V8 heap reserved', () => process.memoryUsage().heapTotal);
  gauge(
    'capacity_external_bytes',
    'Memory outside the V8 heap, buffers included',
    () => process.memoryUsage().external,
  );
  new Gauge({
    name: 'capacity_event_loop_delay_seconds',
    help: 'Delay of the event loop since the last stats request (at first: since the start)',
    labelNames: ['quantile'],
    registers,
    collect() {
      const { delayP50Ms, delayP99Ms, delayMaxMs } = eventLoop.read();
      this.set({ quantile: '0.5' }, delayP50Ms / 1000);
      this.set({ quantile: '0.99' }, delayP99Ms / 1000);
      this.set({ quantile: '1' }, delayMaxMs / 1000);
    },
  });

  return {
    registry,
    joins: new Counter({ name: 'capacity_joins_total', help: 'Joins of a room', registers }),
    broadcasts: new Counter({ name: 'capacity_broadcasts_total', help: 'Broadcasts published here', registers }),
    echoRoundTripSeconds: new Histogram({
      name: 'capacity_echo_round_trip_seconds',
      help: 'Broadcast sent until its echo was received, on the server clock',
      buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
      registers,
    }),
    malformed: new Counter({
      name: 'capacity_malformed_total',
      help: 'Messages refused because they do not keep the contract',
      labelNames: ['event'],
      registers,
    }),
    handshakeErrors: new Counter({
      name: 'capacity_handshake_errors_total',
      help: 'Connections that Engine.IO refused',
      labelNames: ['reason'],
      registers,
    }),
  };

  function gauge(name: string, help: string, read: () => number): void {
    new Gauge({
      name,
      help,
      registers,
      collect() {
        this.set(read());
      },
    });
  }
}

/** @returns the counter's value, of a counter without labels */
export async function currentValue(counter: Counter): Promise<number> {
  return (await counter.get()).values[0]?.value ?? 0;
}

/** @returns rooms that somebody joined: without the room that every socket is alone in from the start */
export function countRooms(io: AnyServer): number {
  const { rooms, sids } = io.of('/').adapter;
  let ownRooms = 0;
  for (const [sid, its] of sids) if (its.has(sid)) ownRooms++;
  return rooms.size - ownRooms;
}

/** Adds the adapter's error count to a registry. */
export function countAdapterErrors(registry: Registry, errors: () => number): void {
  new Counter({
    name: 'capacity_adapter_errors_total',
    help: "Errors of the adapter's connections, lost publications included",
    registers: [registry],
    collect() {
      this.reset();
      this.inc(errors());
    },
  });
}
