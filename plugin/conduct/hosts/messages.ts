/**
 * What a conductor and the hosts of its run exchange, in namespace `/agent`. A host says hello when it connects (in Socket.IO's
 * `auth`); all else travels in streams (stream.ts) but the readings of the clock. Points in time are on the conductor's clock: only
 * the agent converts.
 */
import { z } from 'zod';
import type { ErrorCode } from '../../../protocol/codes/error-codes.ts';
import type { EngineMessage, RunMessage } from '../../../protocol/link/messages.ts';

export const AGENT_NAMESPACE = '/agent';

/**
 * How long the connection between a host and its conductor may be away. Both sides give up after the same time: nobody would
 * release the host's connections, and the conductor counts them as lost.
 */
export const SILENT_AFTER_MS = 30_000;

export const helloSchema = z.object({
  /** Host name. */
  host: z.string().min(1),
  /** Random, of the agent's process: whoever comes back has the same one. */
  instance: z.string().min(1),
  /** As `Host.kernel`. */
  kernel: z.string(),
  /** Of the packages, with their build. */
  version: z.string(),
  /** `CAPACITY_HOSTS`. */
  hosts: z.number().int().positive(),
  /** `CAPACITY_HOST`. */
  index: z.number().int().nonnegative().optional(),
  /** What the scenario reads. */
  inputs: z.record(z.string().max(1000), z.string().max(100)),
  /** Of this host's share, phase by phase. */
  arrivals: z.array(z.number().int().nonnegative()),
  cores: z.number().int().positive(),
});

export type Hello = z.infer<typeof helloSchema>;

/** One second of a generator host. */
export interface MachineRow {
  /** A row can come late, after a break. */
  atUs: number;
  /** Of all cores; null where the kernel does not tell. */
  cpuIdlePercent: number | null;
  memoryUsedBytes: number | null;
  /** Layers of the generator: bytes resident, and per cent of a core. */
  fleet: { rssBytes: number; cpuPercent: number };
  artillery: { rssBytes: number; cpuPercent: number };
  /** How far the conductor's clock is ahead, and the largest possible error of a converted time. */
  clock: { offsetUs: number; boundUs: number };
  /** Arrivals that Artillery has not started. */
  skippedUsers: number;
}

export type AgentMessage =
  /** Of an engine of this host. */
  | { type: 'engine'; message: EngineMessage }
  /** The doctor has passed this host for its share, and its clock is known. */
  | { type: 'fits' }
  | { type: 'refused'; code: ErrorCode; message: string; fix: string }
  | { type: 'phase'; index: number; stage: 'started' | 'completed' }
  | { type: 'machine'; row: MachineRow }
  /** Artillery is about to end here: its virtual users have left, or somebody has stopped it. */
  | { type: 'bye'; stopped: boolean; skippedUsers: number };

export type HubMessage =
  | { type: 'run'; message: RunMessage }
  /** Ends Artillery on the host, with a line for whoever looks there. */
  | { type: 'end'; exitCode: number; why: string };

/** What a refused host learns, as `data` of Socket.IO's `connect_error`. */
export interface Refusal {
  code: ErrorCode;
  message: string;
  fix: string;
}
