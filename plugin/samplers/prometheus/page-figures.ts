/** Metric names in common exporters, by figure. */

/**
 * Formulas by figure. For each figure, the first formula whose metrics a page has is used. Prefixes: `namedprocess`
 * from process-exporter, `container` from cAdvisor, `node` from node_exporter; `process` and `nodejs` from the process
 * that serves the page, for example with prom-client.
 */
export const FIGURE_FORMULAS = {
  pssBytes: ['namedprocess_namegroup_memory_bytes{memtype="proportionalResident"}'],
  rssBytes: [
    'namedprocess_namegroup_memory_bytes{memtype="resident"}',
    'redis_memory_used_rss_bytes',
    'process_resident_memory_bytes',
  ],
  heapUsedBytes: ['nodejs_heap_size_used_bytes'],
  externalBytes: ['nodejs_external_memory_bytes'],
  workingSetBytes: ['container_memory_working_set_bytes'],
  poolBytes: ['haproxy_process_pool_used_bytes'],
  cpuSeconds: [
    'namedprocess_namegroup_cpu_seconds_total',
    'redis_cpu_user_seconds_total + redis_cpu_sys_seconds_total',
    'process_cpu_seconds_total',
    'container_cpu_usage_seconds_total',
  ],
  hostUsedBytes: ['node_memory_MemTotal_bytes - node_memory_MemAvailable_bytes'],
  hostTcpBytes: ['node_sockstat_TCP_mem_bytes'],
};

export type PageFigure = keyof typeof FIGURE_FORMULAS;

/** Metric names of node_exporter for the figures of a machine. */
export const MACHINE_METRICS = {
  cpu: 'node_cpu_seconds_total',
  memory: 'node_memory_MemTotal_bytes',
  available: 'node_memory_MemAvailable_bytes',
  name: 'node_uname_info',
};

/** Metric with the CPU time of the process that serves the page. Some servers write it in a wrong unit. */
export const OWN_CPU_METRIC = 'process_cpu_seconds_total';

/** Names of memory figures. A metrics page must have at least one memory figure. */
export const MEMORY_FIGURES: PageFigure[] = ['pssBytes', 'rssBytes', 'workingSetBytes', 'poolBytes', 'hostUsedBytes'];

/**
 * Metrics whose values change after a restart. For Redis, only the labels are compared, because its exporter recomputes
 * the start time with an error.
 */
export const START_METRICS = [
  'process_start_time_seconds',
  'container_start_time_seconds',
  'namedprocess_namegroup_oldest_start_time_seconds',
  'haproxy_process_start_time_seconds',
  'redis_instance_info',
];

/**
 * Pattern of metrics by which the page of an exporter is recognized. Metrics about the exporter's own process are not
 * figures of a layer.
 */
export const EXPORTER_PATTERN = /exporter_build_info$|^cadvisor_version_info$/;
const OWN_PROCESS = /^(process|nodejs)_/;

export interface MetricSample {
  name: string;
  value: number;
  labels: Record<string, string>;
  /** When the exporter read the value, if the page contains that time. */
  atMs: number | undefined;
}

/** Values on one page, by formula in `FIGURE_FORMULAS`. A formula is missing if the page lacks one of its metrics. */
export type PageValues = Record<string, number>;

interface Term {
  sign: 1 | -1;
  name: string;
  labels: [name: string, value: string][];
}

const TERMS = new Map(
  Object.values(FIGURE_FORMULAS).flatMap((formulas) => formulas.map((formula) => [formula, termsOf(formula)] as const)),
);
const NAMES = new Set([
  ...[...TERMS.values()].flat().map(({ name }) => name),
  ...START_METRICS,
  ...Object.values(MACHINE_METRICS),
]);

export function isWantedMetric(name: string): boolean {
  return NAMES.has(name) || EXPORTER_PATTERN.test(name);
}

/** Returns the samples of a page, without samples about the exporter itself. */
export function withoutExporter(samples: MetricSample[]): MetricSample[] {
  if (!samples.some(({ name }) => EXPORTER_PATTERN.test(name))) return samples;
  return samples.filter(({ name }) => !EXPORTER_PATTERN.test(name) && !OWN_PROCESS.test(name));
}

/** Computes the values of all formulas. Each metric is summed over all of its samples. */
export function computePageValues(samples: MetricSample[]): PageValues {
  const found: PageValues = {};
  for (const [formula, terms] of TERMS) {
    const values = terms.map(({ sign, name, labels }) => {
      const matching = samples.filter(
        (sample) => sample.name === name && labels.every(([key, text]) => sample.labels[key] === text),
      );
      return matching.length === 0 ? Number.NaN : sign * matching.reduce((sum, { value }) => sum + value, 0);
    });
    const value = values.reduce((sum, term) => sum + term, 0);
    if (!Number.isNaN(value)) found[formula] = value;
  }
  return found;
}

/** Returns the sum of each figure over all pages. A formula is only used if all pages from its exporter have it. */
export function sumPageFigures(pages: PageValues[]): Partial<Record<PageFigure, number>> {
  const sums = Object.entries(FIGURE_FORMULAS).flatMap(([figure, formulas]) => {
    const formula = formulas.find((candidate) => {
      const exporter = exporterOf(candidate);
      const sameExporter = pages.filter((page) => Object.keys(page).some((other) => exporterOf(other) === exporter));
      return sameExporter.length > 0 && sameExporter.every((page) => candidate in page);
    });
    return formula === undefined ? [] : [[figure, pages.reduce((sum, page) => sum + (page[formula] ?? 0), 0)]];
  });
  return Object.fromEntries(sums);
}

function exporterOf(formula: string): string {
  const [prefix = ''] = formula.split('_');
  return prefix === 'nodejs' ? 'process' : prefix;
}

/** Returns a text that lists the first names, and the number of further names. */
export function namesText(names: string[]): string {
  return `${names.slice(0, 10).join(', ')}${names.length > 10 ? `, and ${names.length - 10} more` : ''}`;
}

/** Parses a formula such as `a{label="value"} - b`. */
function termsOf(formula: string): Term[] {
  return [...formula.matchAll(/([+-]?) ?([\w:]+)(?:\{([^}]*)\})?/g)].map(([, sign, name = '', labels = '']) => ({
    sign: sign === '-' ? -1 : 1,
    name,
    labels: [...labels.matchAll(/(\w+)="([^"]*)"/g)].map(([, key = '', value = '']) => [key, value]),
  }));
}
