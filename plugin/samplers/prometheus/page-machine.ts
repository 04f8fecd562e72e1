/** Reads a machine's figures from a metrics page that node_exporter serves. */
import { hostname } from 'node:os';
import type { WorkerMachine } from '../../../protocol/wire/events.ts';
import { MACHINE_METRICS, type MetricSample } from './page-figures.ts';

const { cpu: CPU, memory: MEMORY, available: AVAILABLE, name: NAME } = MACHINE_METRICS;
/** Maximum length of a host name in DNS. */
const MAX_NAME_LENGTH = 253;
const IDLE = new Set(['idle', 'iowait']);
const INTERRUPT = new Set(['irq', 'softirq']);

/**
 * Returns the machine's figures; undefined for the page of another exporter, and for this machine, whose kernel the run
 * reads directly.
 */
export function machineOfPage(samples: MetricSample[], url: string): WorkerMachine | undefined {
  const times = samples.filter(({ name }) => name === CPU);
  const bytesOf = (wanted: string) => samples.find(({ name }) => name === wanted)?.value;
  const memoryBytes = bytesOf(MEMORY);
  if (times.length === 0 || memoryBytes === undefined) return undefined;
  const nodeName = samples.find((sample) => sample.name === NAME)?.labels.nodename || new URL(url).host;
  const name = nodeName.slice(0, MAX_NAME_LENGTH);
  if (name === hostname()) return undefined;
  const us = (counts: (mode: string) => boolean) =>
    times.reduce((sum, { labels: { mode = '' }, value }) => sum + (counts(mode) ? value * 1e6 : 0), 0);
  const available = bytesOf(AVAILABLE);
  return {
    hostname: name,
    kernel: `${url} ${name}`,
    cores: new Set(times.map(({ labels }) => labels.cpu)).size,
    memoryBytes,
    usedBytes: available === undefined ? undefined : Math.max(0, memoryBytes - available),
    cpu: {
      busyUs: us((mode) => !IDLE.has(mode)),
      idleUs: us((mode) => IDLE.has(mode)),
      stealUs: us((mode) => mode === 'steal'),
      interruptUs: us((mode) => INTERRUPT.has(mode)),
    },
  };
}
