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
  url: z.url({ protocol: /^https?$/, error: 'expected a URL such as http://10.0.0.11:9464/metrics' }),
  /** Labels of the samples that count. */
  labels: z.record(z.string(), z.string()).default({}),
});

const adminUiSchema = z.strictObject({
  /** `namespaceName` of its `instrument()`. */
  namespace: z.string().startsWith('/', 'expected a namespace such as /admin').default('/admin'),
  /** Where it is, if not at the target. */
  url: z.url({ protocol: /^(https?|wss?)$/, error: 'expected a URL such as http://10.0.0.11:3000' }).optional(),
  /** Of its basic authentication. */
  auth: z.strictObject({ username: z.string(), password: z.string() }).optional(),
});

export type AdminUiOptions = z.infer<typeof adminUiSchema>;

const PROCESSES = ['pids', 'match', 'cgroup'] as const;

const TWICE = 'the same metrics are named twice';

function areDifferent(targets: z.infer<typeof metricsSchema>[]): boolean {
  return new Set(targets.map((target) => JSON.stringify(target))).size === targets.length;
}

const processSources = z.strictObject({
  /** Processes on this machine; those that they have started belong to them. */
  pids: z.array(z.number().int().positive()).min(1).optional(),
  /** Regular expression for their command lines. */
  match: z.string().min(1).refine(isRegex, { error: 'expected a regular expression' }).optional(),
  /** Folder of a control group: of a container, or of a systemd unit. */
  cgroup: z.string().min(1).optional(),
  /** Where their metrics are, as text for Prometheus: on one page, or on one for each process or host. */
  prometheus: z
    .union([
      metricsSchema.transform((one) => [one]),
      z.array(metricsSchema).min(1).refine(areDifferent, { error: TWICE }),
    ])
    .optional(),
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
    /** `@socket.io/admin-ui` in the server: how many clients each process has, and nothing of memory and CPU. */
    adminUi: adminUiSchema.optional(),
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
