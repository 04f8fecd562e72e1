/**
 * Sources of the memory and CPU figures for a part of the deployment: processes on this machine, or HTTP pages with
 * metrics.
 */
import { z } from 'zod';
import { parseJsonPath } from '../../../protocol/base/json-path.ts';
import { tryOrUndefined } from '../../../protocol/base/try-or-undefined.ts';
import { LAYER_NAMES } from '../../../protocol/documents/named-layers.ts';

const page = {
  url: z
    .url({ protocol: /^https?$/, error: 'expected a URL such as http://10.0.0.11:9464/metrics' })
    .describe('its URL; `user:password@` before the host is sent as basic authorization'),
  headers: z.record(z.string(), z.string()).optional().describe('HTTP headers, such as `authorization`'),
};
const metricsSchema = z.strictObject({
  ...page,
  labels: z
    .record(z.string(), z.string())
    .default({})
    .describe('labels of the samples to add up; default: all samples'),
});

const numberAt = (what: string) =>
  z
    .string()
    .transform((text, context) => {
      const path = parseJsonPath(text);
      if (path) return path;
      context.addIssue({ code: 'custom', message: 'expected a path such as $.memory.rss' });
      return z.NEVER;
    })
    .optional()
    .describe(what);
const jsonPageSchema = z.strictObject({
  ...page,
  rss: numberAt('path of the resident memory in bytes, such as `$.memory.rss`; values of a `*` are added up'),
  heapUsed: numberAt('path of the used heap in bytes'),
  external: numberAt('path of the external memory in bytes'),
  cpuMicroseconds: numberAt('path of the CPU time, such as `$.cpu.*` for Node’s `process.cpuUsage()`'),
  pid: numberAt('path of the process id, which shows restarts; default: `$.pid`'),
});

const pid = z.int().positive();
/** Schema of process ids: numbers, or a text with process ids, such as from a template with `PIDS=$(pgrep …)`. */
const pidsSchema = z.union([
  z.array(pid).min(1),
  pid.transform((single) => [single]),
  z
    .string()
    .regex(/^\s*[1-9]\d*([\s,]+[1-9]\d*)*\s*$/, 'expected process ids')
    .transform((text) => (text.match(/\d+/g) ?? []).map(Number)),
]);

const PROCESSES = ['pids', 'match', 'cgroup'] as const;

const processSources = z.strictObject({
  pids: pidsSchema.optional().describe('process ids on this machine; children are included'),
  match: z
    .string()
    .min(1)
    .refine((text) => tryOrUndefined(() => new RegExp(text)), 'expected a regular expression')
    .optional()
    .describe('or a regular expression for command lines'),
  cgroup: z.string().min(1).optional().describe('or a control group, below `/sys/fs/cgroup` or as a whole path'),
  prometheus: z
    .union([metricsSchema.transform((page) => [page]), z.array(metricsSchema).min(1)])
    .optional()
    .describe('Prometheus pages; alone, or with one of the above'),
  json: z
    .union([jsonPageSchema.transform((single) => [single]), z.array(jsonPageSchema).min(1)], {
      error: 'expected {url: http://…, rss: $.memory.rss}',
    })
    .optional()
    .describe('or JSON pages of the server'),
});

const inspectorUrl = z
  .url({
    protocol: /^(https?|ws)$/,
    error: 'expected a URL such as http://127.0.0.1:9229 (Node) or http://127.0.0.1:6060/debug/pprof (Go)',
  })
  .describe('URL of an open inspector; with a path, of the pages of Go’s `net/http/pprof`');

/** Returns whether the sources include processes on this machine. */
export const hasProcessSources = (sources: z.infer<typeof processSources>) =>
  PROCESSES.some((key) => sources[key] !== undefined);
const oneQuery = (sources: z.infer<typeof processSources>) =>
  PROCESSES.filter((key) => sources[key] !== undefined).length <= 1;
const ONE_QUERY = 'give one of `pids`, `match` and `cgroup`';

export const workerSourcesSchema = processSources
  .extend({
    inspect: z
      .union([z.boolean(), z.array(inspectorUrl).min(1)])
      .optional()
      .describe(
        '[memory at rest](../guide/own-server.md#memory-without-instrument-io) of Node, Deno, JVM and Go; or URLs of inspectors and pprof',
      ),
    profile: z
      .boolean()
      .optional()
      .describe('[which functions](../method/memory.md#by-place) allocate memory and use CPU'),
  })
  .refine(oneQuery, ONE_QUERY)
  .refine((sources) => sources.inspect !== true || hasProcessSources(sources), {
    message: 'for `true`, name the processes by `pids`, `match` or `cgroup`',
    path: ['inspect'],
  })
  .refine(
    ({ inspect, profile, ...sources }) =>
      Object.keys(sources).length > 0 || Array.isArray(inspect) || (profile && !inspect),
    'give `pids`, `match`, `cgroup`, `prometheus`, `json`, or URLs in `inspect`',
  );

/** Returns whether a JSON page of the sources has no path of a memory figure. Such a page can only have counters. */
export function hasPageWithoutMemory({ json = [] }: z.infer<typeof processSources>): boolean {
  return json.some((page) => !hasMemoryPath(page));
}

function hasMemoryPath({ rss, heapUsed }: z.infer<typeof jsonPageSchema>): boolean {
  return rss !== undefined || heapUsed !== undefined;
}

const layerSchema = processSources
  .refine(oneQuery, ONE_QUERY)
  .refine((sources) => !hasPageWithoutMemory(sources), { message: 'give `rss` or `heapUsed`', path: ['json'] })
  .refine((sources) => Object.keys(sources).length > 0, 'give `pids`, `match`, `cgroup`, `prometheus` or `json`');

/** Schema of the option `layers`: sources of the parts of a deployment that have no control port. */
export const layersSchema = z.partialRecord(z.enum(LAYER_NAMES), layerSchema);

export type ProcessSources = z.infer<typeof processSources>;
export type WorkerSources = z.infer<typeof workerSourcesSchema>;

/** Returns the settings of the HTTP pages with metrics. */
export function metricsPagesOf({ prometheus = [], json = [] }: ProcessSources) {
  return [...prometheus, ...json];
}

/** Returns whether any source of figures is given. `profile` is not a source. */
export function hasSources({ profile: _, ...sources }: WorkerSources): boolean {
  return Object.keys(sources).length > 0;
}

/** Returns whether any source of the workers has memory figures. A JSON page may only have counters of events. */
export function readsMemory(sources: WorkerSources | undefined): boolean {
  if (!sources) return false;
  const { json = [], profile: _, ...others } = sources;
  return Object.keys(others).length > 0 || json.some(hasMemoryPath);
}

interface Sources {
  workerSources: WorkerSources | undefined;
  layers?: z.infer<typeof layersSchema> | undefined;
}

export function sourcesByLayer({ workerSources, layers }: Sources): Record<string, ProcessSources> {
  return { ...layers, ...(workerSources && { worker: workerSources }) } as Record<string, ProcessSources>;
}
