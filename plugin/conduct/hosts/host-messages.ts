/**
 * Messages between a conductor and its hosts. A host sends `hello` in Socket.IO's `auth`. Clock readings are a plain event; all
 * other messages travel in streams (stream.ts). Each side validates what it receives. Points in time are on the conductor's clock:
 * only the agent converts them.
 */
import { z } from 'zod';
import { printable } from '../../../protocol/base/printable.ts';
import { byName, count, index, instant, name, sentence } from '../../../protocol/link/bounded-schemas.ts';
import { engineMessageSchema, failureSchema, runMessageSchema } from '../../../protocol/link/link-messages.ts';
import { machineSharesSchema } from '../../../protocol/result/machine-schema.ts';
import { hostTotalsSchema } from './host-totals.ts';

/**
 * Longest break of the connection between a host and its conductor. Both sides give up after the same time: the conductor counts
 * the host's connections as lost, and the host closes them.
 */
export const SILENT_AFTER_MS = 30_000;
/** Time for the conductor and all hosts to start, in any order: cloud containers can take minutes. */
export const JOIN_TIMEOUT_MS = 600_000;

/** Bound of all values of a machine's shares: seconds, cores, per cent and MHz. */
const MAX_SHARE = 1e9;

/** Text that is safe to print on a terminal. */
const printableName = name.min(1).transform((text) => printable(text, 200));

const helloSchema = z.object({
  host: printableName,
  /** Random id of the agent's process; stays the same across reconnects. */
  instance: name.min(1),
  /** Same value as `Host.kernel`. */
  kernel: name,
  /** Version and build of the packages. */
  version: printableName,
  /** Value of `CAPACITY_HOSTS`. */
  hosts: index.positive(),
  /** Value of `CAPACITY_HOST`. */
  index: index.optional(),
  /** Digests of all inputs of the scenario. */
  inputs: byName(name),
  /** Arrivals of this host's share, by phase. */
  arrivals: z.array(z.int().nonnegative()).max(10_000),
  cores: index.positive(),
  /** Memory limit of its container; null without one. */
  memoryLimitBytes: count.positive().nullable(),
  /** CPU model and kernel, like `MachineKind`. */
  machine: z.object({
    model: printableName,
    system: printableName,
    cores: index.positive(),
    memoryBytes: count.positive(),
  }),
});
export type Hello = z.infer<typeof helloSchema>;

/** `run`: the run that the host took part in; missing on its first connection. */
export const authSchema = z.object({ hello: helloSchema, run: name.optional() });

/** Reading of the conductor's clock, with the id of its run. */
export const timeSchema = z.object({ monotonicUs: instant, kernel: name, run: name });
export type Time = z.infer<typeof timeSchema>;

/** Bounded, so that sums and means stay finite. */
const sharesSchema = machineSharesSchema.refine(({ seconds, cores, programs, pressure: _, ...rest }) => {
  const all = [seconds, cores, ...Object.values(rest), ...programs.map((program) => program.cores)];
  return seconds > 0 && cores > 0 && all.every((value) => value === null || Math.abs(value) <= MAX_SHARE);
}, 'out of range');

/** One second of a generator host. */
const machineRowSchema = z.object({
  /** Time of the sample: after a break, the row is delivered late. */
  atUs: instant,
  /** Mean over all cores; null if the kernel does not report it. */
  cpuIdlePercent: count.nullable(),
  /** CPU use by program over the last seconds. */
  shares: sharesSchema.optional(),
  /** Lead of the conductor's clock, and the largest possible error of the times converted so far. */
  clock: z.object({ offsetUs: instant, boundUs: instant }),
  /** Arrivals that Artillery has skipped so far. */
  skippedUsers: count,
});
export type MachineRow = z.infer<typeof machineRowSchema>;

export const agentMessageSchema = z.discriminatedUnion('type', [
  /** Message relayed from an engine of this host. */
  z.object({ type: z.literal('engine'), message: engineMessageSchema }),
  /** The doctor has passed this host for its share, and the clock offset is known. */
  z.object({ type: z.literal('ready') }),
  z.object({ type: z.literal('refused'), ...failureSchema.shape }),
  z.object({ type: z.literal('phase'), index, stage: z.enum(['started', 'completed']) }),
  z.object({ type: z.literal('machine'), row: machineRowSchema }),
  /** Artillery is about to end on this host: its virtual users have left, or the user stopped it. */
  z.object({
    type: z.literal('bye'),
    stopped: z.boolean(),
    skippedUsers: count,
    /** Artillery's own metrics; missing if Artillery was stopped. */
    totals: hostTotalsSchema.optional(),
  }),
]);
export type AgentMessage = z.infer<typeof agentMessageSchema>;

export const hubMessageSchema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('run'), message: runMessageSchema }),
  /** Ends Artillery on the host, which prints `why`. Never with exit code 0: the host has not completed its part. */
  z.object({ type: z.literal('end'), exitCode: z.int().min(1).max(255), why: sentence }),
]);
export type HubMessage = z.infer<typeof hubMessageSchema>;

/** Sent to a refused host as `data` of Socket.IO's `connect_error`. */
export type Refusal = z.infer<typeof failureSchema>;
export { failureSchema as refusalSchema };
