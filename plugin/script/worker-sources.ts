/** What tells of the memory and CPU of a server without a control port: its processes here, or its own metrics. */
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
  })
  .refine((sources) => PROCESSES.filter((key) => sources[key] !== undefined).length <= 1, {
    error: 'give one of `pids`, `match` and `cgroup`',
  })
  .refine((sources) => Object.keys(sources).length > 0, { error: 'give `pids`, `match`, `cgroup` or `prometheus`' });

export type WorkerSources = z.infer<typeof workerSourcesSchema>;
