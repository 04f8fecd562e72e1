/** Every metric that this engine reports to Artillery. Errors are Artillery's own counters, `errors.<code>`. */
import type { Metric } from '../../protocol/metric.ts';

export const METRICS = {
  connect: {
    name: 'socketio.connects',
    kind: 'counter',
    unit: 'connections',
    help: 'Namespaces connected, not including reconnections',
  },
  connectTime: {
    name: 'socketio.connect_time',
    kind: 'histogram',
    unit: 'ms',
    help: 'From the step to the CONNECT answer, including retries',
  },
  emit: { name: 'socketio.emit', kind: 'counter', unit: 'events', help: 'Events sent' },
  emitRate: { name: 'socketio.emit_rate', kind: 'rate', unit: 'events/s', help: 'Events sent per second' },
  responseTime: {
    name: 'socketio.response_time',
    kind: 'histogram',
    unit: 'ms',
    help: 'From an emit to the event named by its `response`',
  },
  ackTime: {
    name: 'socketio.ack_time',
    kind: 'histogram',
    unit: 'ms',
    help: 'From an emit to its acknowledgement',
  },
  waitTime: {
    name: 'socketio.wait_time',
    kind: 'histogram',
    unit: 'ms',
    help: 'From the start of a `waitFor` to its event; next to nothing if the event had already arrived',
  },
  disconnect: {
    name: 'socketio.disconnect',
    kind: 'counter',
    unit: 'connections',
    help: 'Connections dropped, by reason: `socketio.disconnect.transport_close`, …',
  },
  reconnect: {
    name: 'socketio.reconnect',
    kind: 'counter',
    unit: 'connections',
    help: 'Dropped connections that were restored',
  },
  retry: { name: 'socketio.retry', kind: 'counter', unit: 'attempts', help: 'Connection attempts after a failed one' },
  eventsDropped: {
    name: 'socketio.events_dropped',
    kind: 'counter',
    unit: 'events',
    help: 'Events kept for a later `waitFor`, but displaced by newer ones',
  },
} as const satisfies Record<string, Metric>;

export type MetricName = keyof typeof METRICS;
