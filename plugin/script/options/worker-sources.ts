/** What tells of a part of the deployment: its processes here, pages of metrics; of a server, also its admin UI. */
import { z } from 'zod';

function isRegex(text: string): boolean {
  try {
    return Boolean(new RegExp(text));
  } catch {
    return false;
  }
}

const metricsSchema = z.strictObject({
  url: z
    .url({ protocol: /^https?$/, error: 'expected a URL such as http://10.0.0.11:9464/metrics' })
    .describe('where they are'),
  labels: z
    .record(z.string(), z.string())
    .default({})
    .describe('labels of the samples that count, which are added up; by default, all'),
});

const adminUiSchema = z.strictObject({
  namespace: z
    .string()
    .startsWith('/', 'expected a namespace such as /admin')
    .default('/admin')
    .describe('`namespaceName` of its `instrument()`'),
  url: z
    .url({ protocol: /^(https?|wss?)$/, error: 'expected a URL such as http://10.0.0.11:3000' })
    .optional()
    .describe('where it is; default: the target'),
  auth: z
    .strictObject({ username: z.string(), password: z.string() })
    .optional()
    .describe('of its basic authentication; the password, not its hash'),
});

export type AdminUiOptions = z.infer<typeof adminUiSchema>;

const PROCESSES = ['pids', 'match', 'cgroup'] as const;

const TWICE = 'the same metrics are named twice';

function areDifferent(targets: z.infer<typeof metricsSchema>[]): boolean {
  return new Set(targets.map((target) => JSON.stringify(target))).size === targets.length;
}

const processSources = z.strictObject({
  pids: z
    .array(z.number().int().positive())
    .min(1)
    .optional()
    .describe('its processes on this machine, and what they have started'),
  match: z
    .string()
    .min(1)
    .refine(isRegex, { error: 'expected a regular expression' })
    .optional()
    .describe('or a regular expression for their command lines'),
  cgroup: z
    .string()
    .min(1)
    .optional()
    .describe('or the control group of a container or systemd unit, below `/sys/fs/cgroup` or as a whole path'),
  prometheus: z
    .union([
      metricsSchema.transform((one) => [one]),
      z.array(metricsSchema).min(1).refine(areDifferent, { error: TWICE }),
    ])
    .optional()
    .describe('pages of metrics in Prometheus’ format, one or a list; alone, or beside one of the above'),
});

const ONE_OF = { error: 'give one of `pids`, `match` and `cgroup`' };

function nameOnce(sources: z.infer<typeof processSources>): boolean {
  return PROCESSES.filter((key) => sources[key] !== undefined).length <= 1;
}

function isNotEmpty(sources: object): boolean {
  return Object.keys(sources).length > 0;
}

export const workerSourcesSchema = processSources
  .extend({
    adminUi: adminUiSchema
      .optional()
      .describe('`@socket.io/admin-ui` in the server: counts of clients, nothing of memory and CPU'),
  })
  .refine(nameOnce, ONE_OF)
  .refine(isNotEmpty, { error: 'give `pids`, `match`, `cgroup`, `prometheus` or `adminUi`' });

const layerSourcesSchema = processSources
  .refine(nameOnce, ONE_OF)
  .refine(isNotEmpty, { error: 'give `pids`, `match`, `cgroup` or `prometheus`' });

/** Parts of a deployment without a control port. */
export const layersSchema = z.partialRecord(z.enum(['nginx', 'haproxy', 'redis']), layerSourcesSchema);

export type ProcessSources = z.infer<typeof processSources>;
export type WorkerSources = z.infer<typeof workerSourcesSchema>;

/** @returns by layer, what tells of its memory and CPU */
export function sourcesByLayer({
  workerSources,
  layers,
}: {
  workerSources: WorkerSources | undefined;
  layers?: z.infer<typeof layersSchema> | undefined;
}): Record<string, ProcessSources> {
  const { adminUi: _, ...worker } = workerSources ?? {};
  const named = { ...layers, ...(isNotEmpty(worker) && { worker }) };
  return Object.fromEntries(
    Object.entries(named).filter((entry): entry is [string, ProcessSources] => entry[1] !== undefined),
  );
}

/** @returns whether they tell of memory and CPU */
export function tellMemory(sources: WorkerSources | undefined): boolean {
  if (sources === undefined) return false;
  return sources.prometheus !== undefined || PROCESSES.some((key) => sources[key] !== undefined);
}
