/** What tells of a part of the deployment: its processes here, or pages of metrics. */
import { z } from 'zod';
import { attempt } from '../../../protocol/base/attempt.ts';
import { LAYER_NAMES } from '../../../protocol/documents/named-layers.ts';

const metricsSchema = z.strictObject({
  url: z
    .url({ protocol: /^https?$/, error: 'expected a URL such as http://10.0.0.11:9464/metrics' })
    .describe('where they are; `user:password@` before the host is sent as basic authorization'),
  labels: z.record(z.string(), z.string()).default({}).describe('labels of the samples to add up; by default, all'),
});

const pid = z.int().positive();
/** The text is what a template makes of `PIDS=$(pgrep …)`. */
const pidsSchema = z.union([
  z.array(pid).min(1),
  pid.transform((one) => [one]),
  z
    .string()
    .regex(/^\s*[1-9]\d*([\s,]+[1-9]\d*)*\s*$/, 'expected process ids')
    .transform((text) => (text.match(/\d+/g) ?? []).map(Number)),
]);

const PROCESSES = ['pids', 'match', 'cgroup'] as const;

const processSources = z.strictObject({
  pids: pidsSchema.optional().describe('its processes on this machine, and their children: one, or a list'),
  match: z
    .string()
    .min(1)
    .refine((text) => attempt(() => new RegExp(text)), 'expected a regular expression')
    .optional()
    .describe('or a regular expression for their command lines'),
  cgroup: z
    .string()
    .min(1)
    .optional()
    .describe('or the control group of a container or systemd unit, below `/sys/fs/cgroup` or as a whole path'),
  prometheus: z
    .union([metricsSchema.transform((one) => [one]), z.array(metricsSchema).min(1)])
    .optional()
    .describe('pages of metrics in Prometheus’ format, one or a list; alone, or beside one of the above'),
});

const inspectorUrl = z
  .url({ protocol: /^(http|ws)$/, error: 'expected a URL such as http://127.0.0.1:9229' })
  .describe('of an inspector that is open');

/** The sources name processes of this machine. */
export const isNamed = (sources: z.infer<typeof processSources>) => PROCESSES.some((key) => sources[key] !== undefined);
const oneQuery = (sources: z.infer<typeof processSources>) =>
  PROCESSES.filter((key) => sources[key] !== undefined).length <= 1;
const ONE_QUERY = 'give one of `pids`, `match` and `cgroup`';

export const workerSourcesSchema = processSources
  .extend({
    inspect: z
      .union([z.boolean(), z.array(inspectorUrl).min(1)])
      .optional()
      .describe(
        'memory at rest of an unchanged Node or Deno server: `true` opens the inspector of the processes on loopback for each reading; or URLs of inspectors that are open',
      ),
    profile: z
      .boolean()
      .optional()
      .describe(
        'which functions allocate what a connection keeps, and use CPU: with `inspect`, `instrument(io, { profile: true })` or the bundled deployment; Node only; connecting takes about a quarter more CPU',
      ),
  })
  .refine(oneQuery, ONE_QUERY)
  .refine((sources) => sources.inspect !== true || isNamed(sources), {
    message: 'for `true`, name the processes by `pids`, `match` or `cgroup`',
    path: ['inspect'],
  })
  .refine(
    ({ inspect, profile, ...sources }) =>
      Object.keys(sources).length > 0 || Array.isArray(inspect) || (profile && !inspect),
    'give `pids`, `match`, `cgroup`, `prometheus`, or URLs in `inspect`',
  );

const layerSchema = processSources
  .refine(oneQuery, ONE_QUERY)
  .refine((sources) => Object.keys(sources).length > 0, 'give `pids`, `match`, `cgroup` or `prometheus`');

/** Parts of a deployment without a control port. */
export const layersSchema = z.partialRecord(z.enum(LAYER_NAMES), layerSchema);

export type ProcessSources = z.infer<typeof processSources>;
export type WorkerSources = z.infer<typeof workerSourcesSchema>;

/** @returns whether they tell of a server of the user's own */
export function hasSources({ profile: _, ...sources }: WorkerSources): boolean {
  return Object.keys(sources).length > 0;
}

interface Sources {
  workerSources: WorkerSources | undefined;
  layers?: z.infer<typeof layersSchema> | undefined;
}

/** @returns by layer, what tells of its memory and CPU */
export function sourcesByLayer({ workerSources, layers }: Sources): Record<string, ProcessSources> {
  return { ...layers, ...(workerSources && { worker: workerSources }) } as Record<string, ProcessSources>;
}
