/**
 * What a conductor and the hosts of its run exchange. A host says hello when it connects (in Socket.IO's `auth`); all else travels in
 * streams (stream.ts) but the readings of the clock. Each side parses what it gets. Points in time are on the conductor's clock: only
 * the agent converts.
 */
import { z } from 'zod';
import { printable } from '../../../protocol/base/printable.ts';
import { byName, count, index, instant, name, sentence } from '../../../protocol/link/bounded-schemas.ts';
import { engineMessageSchema, failureSchema, runMessageSchema } from '../../../protocol/link/link-messages.ts';
import { machineSharesSchema } from '../../../protocol/result/machine-schema.ts';
import { hostTotalsSchema } from './host-totals.ts';

/**
 * How long the connection between a host and its conductor may be away. Both sides give up after the same time: nobody would
 * release the host's connections, and the conductor counts them as lost.
 */
export const SILENT_AFTER_MS = 30_000;
/** Until the conductor and all hosts are there, whoever comes first: containers of a cloud can take minutes to start. */
export const JOIN_TIMEOUT_MS = 600_000;

/** Seconds, cores, per cent and MHz. */
const MAX_SHARE = 1e9;

/** On a terminal. */
const shown = name.min(1).transform((text) => printable(text, 200));

const helloSchema = z.object({
  /** Host name. */
  host: shown,
  /** Random, of the agent's process: whoever comes back has the same one. */
  instance: name.min(1),
  /** As `Host.kernel`. */
  kernel: name,
  /** The packages', with their build. */
  version: shown,
  /** `CAPACITY_HOSTS`. */
  hosts: index.positive(),
  /** `CAPACITY_HOST`. */
  index: index.optional(),
  /** What the scenario reads. */
  inputs: byName(name),
  /** This host's share, phase by phase. */
  arrivals: z.array(z.int().nonnegative()).max(10_000),
  cores: index.positive(),
  /** Limit of its container; null without one. */
  memoryLimitBytes: count.positive().nullable(),
  /** CPU model and kernel, like `MachineKind`. */
  machine: z.object({ model: shown, system: shown, cores: index.positive(), memoryBytes: count.positive() }),
});
export type Hello = z.infer<typeof helloSchema>;

/** `run`: of a host that has been in one. */
export const authSchema = z.object({ hello: helloSchema, run: name.optional() });

/** The conductor's clock, and which run it conducts. */
export const timeSchema = z.object({ monotonicUs: instant, kernel: name, run: name });
export type Time = z.infer<typeof timeSchema>;

/** Sums and means of them stay finite. */
const sharesSchema = machineSharesSchema.refine(({ seconds, cores, programs, pressure: _, ...others }) => {
  const all = [seconds, cores, ...Object.values(others), ...programs.map((one) => one.cores)];
  return seconds > 0 && cores > 0 && all.every((value) => value === null || Math.abs(value) <= MAX_SHARE);
}, 'out of range');

/** One second of a generator host. */
const machineRowSchema = z.object({
  /** A row can come late, after a break. */
  atUs: instant,
  /** All cores; null where the kernel does not tell. */
  cpuIdlePercent: count.nullable(),
  /** Who used its CPUs until then, in the last seconds. */
  shares: sharesSchema.optional(),
  /** How far the conductor's clock is ahead, and the largest possible error of a time that was converted so far. */
  clock: z.object({ offsetUs: instant, boundUs: instant }),
  /** Arrivals that Artillery has not started. */
  skippedUsers: count,
});
export type MachineRow = z.infer<typeof machineRowSchema>;

export const agentMessageSchema = z.discriminatedUnion('type', [
  /** From an engine of this host. */
  z.object({ type: z.literal('engine'), message: engineMessageSchema }),
  /** The doctor has passed this host for its share, and its clock is known. */
  z.object({ type: z.literal('fits') }),
  z.object({ type: z.literal('refused'), ...failureSchema.shape }),
  z.object({ type: z.literal('phase'), index, stage: z.enum(['started', 'completed']) }),
  z.object({ type: z.literal('machine'), row: machineRowSchema }),
  /** Artillery is about to end here: its virtual users have left, or somebody has stopped it. */
  z.object({
    type: z.literal('bye'),
    stopped: z.boolean(),
    skippedUsers: count,
    /** Artillery's own metrics; missing where Artillery was stopped. */
    totals: hostTotalsSchema.optional(),
  }),
]);
export type AgentMessage = z.infer<typeof agentMessageSchema>;

export const hubMessageSchema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('run'), message: runMessageSchema }),
  /** Ends Artillery on the host, with a line for whoever looks there. Its part of the run is not done, so that is no success. */
  z.object({ type: z.literal('end'), exitCode: z.int().min(1).max(255), why: sentence }),
]);
export type HubMessage = z.infer<typeof hubMessageSchema>;

/** What a refused host learns, as `data` of Socket.IO's `connect_error`. */
export type Refusal = z.infer<typeof failureSchema>;
export { failureSchema as refusalSchema };
