/**
 * Messages between a conductor and its hosts. A host sends `hello` in Socket.IO's `auth`. Clock readings are a separate
 * event; all other messages use reliable streams (stream.ts). Each side validates the messages that it receives. Times
 * are on the conductor's clock; the agent on the host converts them.
 */
import { z } from 'zod';
import { printableLine } from '../../../protocol/base/printable.ts';
import {
  boundedCount,
  boundedIndex,
  boundedInstant,
  boundedName,
  boundedRecord,
  boundedText,
} from '../../../protocol/link/bounded-schemas.ts';
import { engineMessageSchema, runMessageSchema, userErrorSchema } from '../../../protocol/link/link-messages.ts';
import { machineSharesSchema } from '../../../protocol/result/machine-schema.ts';
import { hostTotalsSchema } from './host-totals.ts';

/**
 * Longest interruption of the connection between a host and its conductor, in milliseconds. Both sides use the same
 * limit: after it, the conductor counts the host's connections as lost, and the host closes them.
 */
export const MAX_HOST_SILENCE_MS = 30_000;
/**
 * Time limit for the conductor and all hosts to start, in any order, in milliseconds. Containers in a cloud can take
 * minutes.
 */
export const JOIN_TIMEOUT_MS = 600_000;

/** Hosts up to which reports and clock readings keep their intervals. */
const HOSTS_AT_FULL_RATE = 250;

/**
 * Returns the interval at which a host sends reports. If there are more than 250 hosts, the interval grows with their
 * number, so that the conductor gets no more reports per second than from 250 hosts.
 */
export function reportIntervalMs(ms: number, hosts: number): number {
  return ms * Math.max(1, hosts / HOSTS_AT_FULL_RATE);
}

/** Maximum of each value in a machine's CPU report: seconds, cores, percent or MHz. */
const MAX_SHARE = 1e9;

/** Name that can be printed on a terminal, because control characters are removed. */
const printableName = boundedName.min(1).transform((text) => printableLine(text, 200));

const helloSchema = z.object({
  host: printableName,
  /** Random id of the agent's process. It stays the same when the host reconnects. */
  instance: boundedName.min(1),
  /** Identifies the host's kernel, like `Host.kernel`. */
  kernel: boundedName,
  /** Version and build of the packages that are installed on the host. */
  version: printableName,
  /** Value of the environment variable `CAPACITY_HOSTS`. */
  hosts: boundedIndex.positive(),
  /** Value of the environment variable `CAPACITY_HOST`. */
  index: boundedIndex.optional(),
  /** Hashes of all input files of the scenario, by file name. */
  inputs: boundedRecord(boundedName),
  /** Number of arrivals in this host's share, by phase. */
  arrivals: z.array(z.int().nonnegative()).max(10_000),
  cores: boundedIndex.positive(),
  /** Memory limit of the host's container; null without a limit. */
  memoryLimitBytes: boundedCount.positive().nullable(),
  /** CPU model and kernel version, like `MachineKind`. */
  machine: z.object({
    model: printableName,
    system: printableName,
    cores: boundedIndex.positive(),
    memoryBytes: boundedCount.positive(),
  }),
});
export type HostHello = z.infer<typeof helloSchema>;

/**
 * Data with which a host authenticates. `run`: id of the run in which the host took part; missing on its first
 * connection.
 */
export const hostAuthSchema = z.object({ hello: helloSchema, run: boundedName.optional() });

/** A reading of the conductor's clock, with the id of the conductor's run. */
export const conductorTimeSchema = z.object({ monotonicUs: boundedInstant, kernel: boundedName, run: boundedName });
export type ConductorTime = z.infer<typeof conductorTimeSchema>;

/** CPU use with limits for each value, so that sums and means stay finite. */
const sharesSchema = machineSharesSchema.refine(({ seconds, cores, programs, pressure: _, ...rest }) => {
  const all = [seconds, cores, ...Object.values(rest), ...programs.map((program) => program.cores)];
  return seconds > 0 && cores > 0 && all.every((value) => value === null || Math.abs(value) <= MAX_SHARE);
}, 'out of range');

/** Load of a generator host in one second. */
const machineRowSchema = z.object({
  /** Time of the row. If the connection was interrupted, the row arrives later. */
  atUs: boundedInstant,
  /** Mean CPU use of all cores; null if the kernel does not report it. */
  cpuIdlePercent: boundedCount.nullable(),
  /** CPU use by program, over the last few seconds. */
  shares: sharesSchema.optional(),
  /**
   * Offset of the conductor's clock from the host's clock, and the largest possible error of the times converted so
   * far.
   */
  clock: z.object({ offsetUs: boundedInstant, boundUs: boundedInstant }),
  /** Number of arrivals that Artillery has skipped so far. */
  skippedUsers: boundedCount,
});
export type MachineRow = z.infer<typeof machineRowSchema>;

export const agentMessageSchema = z.discriminatedUnion('type', [
  /** A message that an engine on this host sent. The agent forwards it. */
  z.object({ type: z.literal('engine'), message: engineMessageSchema }),
  /**
   * Reports that the doctor's checks show that this host can generate its share, and that its clock offset is known.
   */
  z.object({ type: z.literal('ready') }),
  z.object({ type: z.literal('refused'), ...userErrorSchema.shape }),
  z.object({ type: z.literal('phase'), index: boundedIndex, stage: z.enum(['started', 'completed']) }),
  z.object({ type: z.literal('machine'), row: machineRowSchema }),
  /** Artillery is about to end on this host, because its virtual users have left or the user stopped it. */
  z.object({
    type: z.literal('bye'),
    stopped: z.boolean(),
    skippedUsers: boundedCount,
    /** Artillery's own metrics; missing if Artillery was stopped. */
    totals: hostTotalsSchema.optional(),
  }),
]);
export type AgentMessage = z.infer<typeof agentMessageSchema>;

export const hubMessageSchema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('run'), message: runMessageSchema }),
  /**
   * Ends Artillery on the host. The host prints `why`. The exit code is never 0, because the host has not completed its
   * share.
   */
  z.object({ type: z.literal('end'), exitCode: z.int().min(1).max(255), why: boundedText }),
]);
export type HubMessage = z.infer<typeof hubMessageSchema>;

/** Reason of a refusal. The refused host receives it as `data` of Socket.IO's `connect_error`. */
export type HostRefusalReason = z.infer<typeof userErrorSchema>;
export { userErrorSchema as refusalSchema };
