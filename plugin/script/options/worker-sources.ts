/** What tells of a server without a control port: its processes here, its own metrics, or its admin UI. */
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
  /** Labels of the samples that are the workers'. */
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

export const workerSourcesSchema = z
  .strictObject({
    /** Processes on this machine; those that they have started belong to them. */
    pids: z.array(z.number().int().positive()).min(1).optional(),
    /** Regular expression for their command lines. */
    match: z.string().min(1).refine(isRegex, { error: 'expected a regular expression' }).optional(),
    /** Folder of a control group: of a container, or of a systemd unit. */
    cgroup: z.string().min(1).optional(),
    /** Where the workers' metrics are, as text for Prometheus: on one page, or on one for each worker or host. */
    prometheus: z
      .union([
        metricsSchema.transform((one) => [one]),
        z.array(metricsSchema).min(1).refine(areDifferent, { error: TWICE }),
      ])
      .optional(),
    /** `@socket.io/admin-ui` in the server: how many clients each process has, and nothing of memory and CPU. */
    adminUi: adminUiSchema.optional(),
  })
  .refine((sources) => PROCESSES.filter((key) => sources[key] !== undefined).length <= 1, {
    error: 'give one of `pids`, `match` and `cgroup`',
  })
  .refine((sources) => Object.keys(sources).length > 0, {
    error: 'give `pids`, `match`, `cgroup`, `prometheus` or `adminUi`',
  });

export type WorkerSources = z.infer<typeof workerSourcesSchema>;

/** @returns whether they tell of memory and CPU */
export function tellMemory(sources: WorkerSources | undefined): boolean {
  if (sources === undefined) return false;
  return sources.prometheus !== undefined || PROCESSES.some((key) => sources[key] !== undefined);
}
