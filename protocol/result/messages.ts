/** The section `messages` of the result document: what connections send again and again, by the step `every`. */
import { z } from 'zod';
import { count, summary } from './parts.ts';

/** Of one worker's handler; its parts are in milliseconds. */
const handlerSchema = z.strictObject({ p50: z.number(), p95: z.number(), max: z.number() });

const workerSchema = z.strictObject({
  worker: z.string(),
  /** Handled by the wire contract's own handler of `event_batch`. */
  batches: count,
  events: count,
  /** From the call of the handler until it has acknowledged; null without any batch. */
  handlerMs: handlerSchema.nullable(),
  /** Delay of the worker's event loop, for which whatever arrives has to wait. */
  queueMs: z.strictObject({ p50: z.number(), p99: z.number(), max: z.number() }),
});

/** Null where the flows have no such step, and in results of older versions. */
export const messagesSchema = z
  .strictObject({
    /** The steps of the flows. */
    steps: z.array(
      z.strictObject({
        event: z.string(),
        seconds: z.number(),
        /** Messages each time. */
        count,
        /** In each message. */
        events: count,
        acknowledge: z.boolean(),
      }),
    ),
    /** Connections that have begun to send, once for each of their steps. */
    connections: count,
    /** As the schedule has it: `due = sent + Σ notSent`. */
    due: count,
    /** `sent = unasked + acknowledged + unansweredConnected + unansweredDisconnected`. */
    sent: count,
    notSent: z.strictObject({
      /** The generator was behind by a whole period. */
      missed: count,
      /** The connection had ended, or not come back yet. */
      disconnected: count,
    }),
    /** Sent without asking for an acknowledgement. */
    unasked: count,
    acknowledged: count,
    /** On a connection that was still there after the drain. */
    unansweredConnected: count,
    /** The connection ended first. */
    unansweredDisconnected: count,
    /** acknowledged ÷ (sent − unasked); null where none was asked for. */
    answered: z.number().nullable(),
    /** The hold, in which the times below are measured; null without one. */
    window: z
      .strictObject({
        seconds: z.number(),
        sent: count,
        acknowledged: count,
        sentPerSec: z.number(),
        /** Events of the messages acknowledged, or sent where none asks for that. Null where the steps differ in their events. */
        eventsPerSec: z.number().nullable(),
      })
      .nullable(),
    /** From the intended send to the acknowledgement, of what was due in the window. */
    ackMs: summary,
    /** Actual less intended send; part of `ackMs`. */
    sendDelayMs: summary,
    /** As `ackMs`, outside of the window: while others connect, memory is read, and broadcasts are sent. */
    outsideAckMs: summary,
    /** In the window; empty where the workers do not report it. */
    workers: z.array(workerSchema),
    /** Mergeable HDR encodings (compressed base64, microseconds). */
    histograms: z.record(z.string(), z.string()),
  })
  .nullable()
  .default(null);

export type Messages = NonNullable<z.infer<typeof messagesSchema>>;
