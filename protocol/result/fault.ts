/** The section `fault` of the result document: what a planned fault did to the connections that were open then. */
import { z } from 'zod';
import { FAULT_KINDS } from '../fault.ts';
import { count, layers } from './parts.ts';

export const faultSchema = z
  .strictObject({
    kind: z.enum(FAULT_KINDS),
    /** The program, if the user's own command is the fault; its arguments can be secrets. */
    command: z.string().nullable(),
    /** On the time axis of the samples. All other times here count from it. */
    t: z.number(),
    /** Until whatever caused it was done; null if it failed. */
    tookMs: z.number().nullable(),
    /** Until all connections were back or given up, and all workers answered; null if the run ended before. */
    overMs: z.number().nullable(),
    /** Parts of the deployment that it replaced, as planned. */
    replaced: z.array(z.string()),
    /** Open then. `connections = stayed + dropped`. */
    connections: count,
    stayed: count,
    /** At least once. `dropped = back + Σ notBack`. */
    dropped: count,
    /** Open again when it was over. */
    back: count,
    /** By cause. */
    notBack: z.record(z.string(), count),
    /** Until that share of the dropped connections was back for good; null if it never was. */
    backMs: z.strictObject({ p50: z.number().nullable(), p99: z.number().nullable(), all: z.number().nullable() }),
    /** Each time that one of them dropped, and came back. */
    drops: count,
    returns: count,
    /** Returns whose session the server restored. */
    recovered: count,
    attempts: count,
    /** By cause. */
    failedAttempts: z.record(z.string(), count),
    /** Most in any second. */
    peakAttemptsPerSec: count,
    peakReturnsPerSec: count,
    /** How the clients wait before another attempt. */
    backoff: z.strictObject({ attempts: count, delayMs: z.number(), maxDelayMs: z.number(), jitter: z.number() }),
    /** Highest sample of each layer; 100 is one core, for `system` all of them. */
    peakCpuPercent: layers,
    /** Broadcasts between the fault and its end; null if none was sent before it. */
    broadcasts: z
      .strictObject({
        sent: count,
        /** Because no worker could. */
        notSent: count,
        /** Copies that as many members as before would have got. `due = received + lost + absent`. */
        due: count,
        received: count,
        /** Of these, how many a restored session brought later. */
        resent: count,
        /** Not received by members. */
        lost: count,
        /** Not received by those that were no members when it was sent, as they were away. */
        absent: count,
        /** lost + absent. */
        missed: count,
      })
      .nullable(),
    /** By the worker that their join or their session names; empty where restored sessions can be on any of several. */
    perWorker: z.strictObject({ before: z.record(z.string(), count), after: z.record(z.string(), count) }),
    /** In steps of 100 ms. */
    curve: z.array(
      z.strictObject({
        ms: count,
        /** Open at the end of the step. */
        connected: count,
        /** In the step. */
        attempts: count,
        returns: count,
      }),
    ),
  })
  .nullable();

export type Fault = NonNullable<z.infer<typeof faultSchema>>;
