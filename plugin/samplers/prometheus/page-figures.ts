/** The figures of a layer that common exporters tell, by the names of their metrics. Another exporter is another name here. */

/**
 * Where several match, the first that a page has counts. `namedprocess` is process-exporter, `container` cAdvisor, `node`
 * node_exporter; `process` and `nodejs` are of the process that serves the page (prom-client and its like).
 */
export const METRICS = {
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

export type PrometheusFigure = keyof typeof METRICS;

/** As node_exporter names them. */
export const OF_MACHINE = {
  cpu: 'node_cpu_seconds_total',
  memory: 'node_memory_MemTotal_bytes',
  available: 'node_memory_MemAvailable_bytes',
  name: 'node_uname_info',
};

/** A page without any of them is of no use. */
export const MEMORY: PrometheusFigure[] = ['pssBytes', 'rssBytes', 'workingSetBytes', 'poolBytes', 'hostUsedBytes'];

/** Other values after another start. Of Redis, the labels: its exporter computes the time anew each time, with an error. */
export const STARTED = [
  'process_start_time_seconds',
  'container_start_time_seconds',
  'namedprocess_namegroup_oldest_start_time_seconds',
  'haproxy_process_start_time_seconds',
  'redis_instance_info',
];

/** Whose page it is: an exporter's page tells of others, so that what it has of its own process is no figure of a layer. */
export const EXPORTER = /exporter_build_info$|^cadvisor_version_info$/;
const OWN_PROCESS = /^(process|nodejs)_/;

/** One sample of a page. */
export interface Sample {
  name: string;
  value: number;
  labels: Record<string, string>;
  /** When the exporter read it, if it says so. */
  atMs: number | undefined;
}

/** Formula of `METRICS` → its value on one page; without those of which a metric is missing. */
export type PageValues = Record<string, number>;

interface Term {
  sign: 1 | -1;
  name: string;
  labels: [name: string, value: string][];
}

const TERMS = new Map(
  Object.values(METRICS).flatMap((formulas) => formulas.map((one) => [one, termsOf(one)] as const)),
);
const NAMES = new Set([
  ...[...TERMS.values()].flat().map(({ name }) => name),
  ...STARTED,
  ...Object.values(OF_MACHINE),
]);

export function isWanted(name: string): boolean {
  return NAMES.has(name) || EXPORTER.test(name);
}

/** @returns without what an exporter says of itself */
export function withoutExporter(samples: Sample[]): Sample[] {
  if (!samples.some(({ name }) => EXPORTER.test(name))) return samples;
  return samples.filter(({ name }) => !EXPORTER.test(name) && !OWN_PROCESS.test(name));
}

/** Adds up all samples of each metric. */
export function valuesIn(samples: Sample[]): PageValues {
  const found: PageValues = {};
  for (const [formula, terms] of TERMS) {
    const values = terms.map(({ sign, name, labels }) => {
      const matching = samples.filter(
        (one) => one.name === name && labels.every(([key, text]) => one.labels[key] === text),
      );
      return matching.length === 0 ? Number.NaN : sign * matching.reduce((sum, { value }) => sum + value, 0);
    });
    const value = values.reduce((sum, one) => sum + one, 0);
    if (!Number.isNaN(value)) found[formula] = value;
  }
  return found;
}

/** @returns the sums over all pages, of each exporter's figures those that all pages of such an exporter have */
export function figuresOf(pages: PageValues[]): Partial<Record<PrometheusFigure, number>> {
  const sums = Object.entries(METRICS).flatMap(([figure, formulas]) => {
    const formula = formulas.find((one) => {
      const alike = pages.filter((page) => Object.keys(page).some((other) => exporterOf(other) === exporterOf(one)));
      return alike.length > 0 && alike.every((page) => one in page);
    });
    return formula === undefined ? [] : [[figure, pages.reduce((sum, page) => sum + (page[formula] ?? 0), 0)]];
  });
  return Object.fromEntries(sums);
}

function exporterOf(formula: string): string {
  const [prefix = ''] = formula.split('_');
  return prefix === 'nodejs' ? 'process' : prefix;
}

/** `a{label="value"} - b`. */
function termsOf(formula: string): Term[] {
  return [...formula.matchAll(/([+-]?) ?([\w:]+)(?:\{([^}]*)\})?/g)].map(([, sign, name = '', labels = '']) => ({
    sign: sign === '-' ? -1 : 1,
    name,
    labels: [...labels.matchAll(/(\w+)="([^"]*)"/g)].map(([, key = '', value = '']) => [key, value]),
  }));
}
