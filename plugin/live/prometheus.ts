/** The live figures as Prometheus series. */
import { Counter, Gauge, Registry } from 'prom-client';
import type { LiveFigures } from './figures.ts';

/** @returns the text of `/metrics` */
export async function renderMetrics(figures: LiveFigures): Promise<string> {
  const registry = new Registry();
  registry.setDefaultLabels({ run: figures.run, scenario: figures.scenario });
  const gauge = <Label extends string>(name: string, help: string, ...labelNames: Label[]) =>
    new Gauge({ name, help, labelNames, registers: [registry] });
  const total = (name: string, help: string, value: number | null) => {
    if (value !== null) new Counter({ name, help, registers: [registry] }).inc(value);
  };
  const { connections, broadcasts, lastBroadcasts, layers, system, loops, stage } = figures;

  gauge('socketio_capacity_connections', 'Connected now').set(connections.now);
  gauge('socketio_capacity_connections_target', 'Connections that the scenario asks for').set(connections.target);
  gauge('socketio_capacity_connect_rate', 'Connections made per second').set(connections.ratePerSec);
  total('socketio_capacity_failed_total', 'Virtual users that failed', connections.failed);
  gauge('socketio_capacity_stage', 'Always 1: what the run is doing', 'stage').set({ stage }, 1);

  total('socketio_capacity_broadcasts_total', 'Broadcasts sent', broadcasts.sent);
  total('socketio_capacity_receipts_total', 'Broadcasts received by all connections', broadcasts.received);
  total('socketio_capacity_receipts_expected_total', 'Members of the room, over all broadcasts', broadcasts.expected);
  const seen = lastBroadcasts.find(({ sentinelMs }) => sentinelMs !== null)?.sentinelMs ?? undefined;
  if (seen !== undefined) {
    const help = 'Latest broadcast that the sentinel has, from its intended send time on';
    gauge('socketio_capacity_sentinel_latency_seconds', help).set(seen / 1000);
  }

  const memory = gauge('socketio_capacity_memory_bytes', 'Memory of a layer, by kind: rss, pss, used', 'layer', 'kind');
  const cpu = gauge('socketio_capacity_cpu_cores', 'CPU of a layer, in cores', 'layer');
  for (const [layer, { rssBytes, pssBytes, cpuPercent }] of Object.entries(layers)) {
    if (rssBytes !== undefined) memory.set({ layer, kind: 'rss' }, rssBytes);
    if (pssBytes !== undefined) memory.set({ layer, kind: 'pss' }, pssBytes);
    if (cpuPercent !== undefined) cpu.set({ layer }, cpuPercent / 100);
  }
  if (system.usedBytes !== undefined) memory.set({ layer: 'system', kind: 'used' }, system.usedBytes);
  if (system.cpuPercent !== undefined) {
    gauge('socketio_capacity_machine_cpu_ratio', 'CPU of the whole machine, 0 to 1').set(system.cpuPercent / 100);
  }

  const used = gauge('socketio_capacity_event_loop_utilization', 'Of the last second, 0 to 1', 'loop');
  const late = gauge('socketio_capacity_event_loop_delay_p99_seconds', 'Of the last second', 'loop');
  for (const { name, utilization, delayP99Ms } of loops) {
    used.set({ loop: name }, utilization);
    late.set({ loop: name }, delayP99Ms / 1000);
  }
  return registry.metrics();
}

export const METRICS_CONTENT_TYPE = Registry.PROMETHEUS_CONTENT_TYPE;
