/** Metrics that the engine reports to Artillery. Errors use Artillery's counters `errors.<code>`. */
import type { MetricDefinition } from '../../protocol/base/metric.ts';

const metric = (kind: MetricDefinition['kind'], name: string, unit: string, help: string): MetricDefinition => ({
  ...{ name: `socketio.${name}`, kind, unit, help },
});
const counter = (name: string, unit: string, help: string) => metric('counter', name, unit, help);
const timeMs = (name: string, help: string) => metric('histogram', name, 'ms', help);

export const USER_METRICS = {
  connect: counter('connects', 'connections', 'Namespaces connected, not including reconnections'),
  connectTime: timeMs('connect_time', 'From the step to the CONNECT answer, including retries'),
  emit: counter('emit', 'events', 'Events sent'),
  emitRate: metric('rate', 'emit_rate', 'events/s', 'Events sent per second'),
  responseTime: timeMs('response_time', 'From an emit to the event named by its `response`'),
  ackTime: timeMs('ack_time', 'From an emit to its acknowledgement'),
  waitTime: timeMs('wait_time', 'From the start of a `waitFor` to its event'),
  disconnect: counter(
    'disconnect',
    'connections',
    'Connections dropped, by reason: `socketio.disconnect.transport_close`, …',
  ),
  reconnect: counter('reconnect', 'connections', 'Dropped connections that were restored'),
  retry: counter('retry', 'attempts', 'Connection attempts after a failed one'),
  eventsDropped: counter('events_dropped', 'events', 'Events kept for a later `waitFor`, but displaced by newer ones'),
};

export type MetricName = keyof typeof USER_METRICS;
