/** What workers answer, parsed: anybody's server can be at a control address, and figures of it become those of a result. */
import { z } from 'zod';
import type { ControlReply, ControlToServerEvents } from '../../../protocol/events.ts';
import { byName, list, name, sentence } from '../../../protocol/link/bounds.ts';
import { serverSchema } from '../../../protocol/result/server.ts';
import { LARGEST_FIGURE } from '../answers.ts';

export type Requests = ControlToServerEvents;
export type Answer<E extends keyof Requests> =
  Parameters<Requests[E]> extends [...unknown[], (reply: ControlReply<infer T>) => void] ? T : never;

const figure = z.number().nonnegative().lte(LARGEST_FIGURE);
const total = z.int().nonnegative();
const worker = name.min(1);
const host = z.object({ kernel: name, pidNamespace: name });
const eventLoop = z.object({ utilization: figure, delayP50Ms: figure, delayP99Ms: figure, delayMaxMs: figure });
const limits = list(z.object({ max: figure, used: figure, group: sentence }));
const cpu = z.object({ busyUs: figure, idleUs: figure, stealUs: figure, interruptUs: figure });
const quota = z.object({
  ...{ cores: figure.gt(0), periods: figure, throttledPeriods: figure, throttledUs: figure, group: sentence },
});

/** The value of each request. */
const VALUES: { [E in keyof Requests]: z.ZodType<Answer<E>> } = {
  broadcast: z.object({
    ...{ seq: total, sentAtUs: figure, worker, expected: total.nullable(), otherWorkers: total.optional() },
  }),
  members: z.object({ worker, members: total }),
  servers: z.object({ worker, servers: total }),
  gc: z.object({ worker, durationMs: figure }),
  stats: z.object({
    ...{ worker, instance: name, version: name, pid: total, host, uptimeSeconds: figure },
    ...{ connections: total, accepted: total, rooms: total, broadcasts: total, collections: total },
    ...{ rssBytes: figure, heapUsedBytes: figure, externalBytes: figure, cpuUserUs: figure, cpuSystemUs: figure },
    eventLoop,
    versions: z.object({ node: name, socketIo: name, adapter: name, webSocketEngine: name }),
    server: serverSchema.extend({ tunings: byName(name), options: byName(sentence) }),
    stream: name.optional(),
  }),
  resources: z
    .object({
      worker,
      ...{ pssBytes: figure.optional(), openFiles: total.optional(), openFilesLimit: figure.nullable() },
      cgroup: z.object({ cpu: list(quota), memory: limits, tasks: limits }),
      usableCores: figure.gt(0),
      machine: z.object({
        ...{ hostname: name, kernel: name, cores: total, memoryBytes: figure },
        ...{ usedBytes: figure.optional(), tcpBytes: figure.optional(), cpu: cpu.optional() },
      }),
    })
    .refine(({ usableCores, machine }) => usableCores <= Math.max(1, machine.cores), 'more cores than there are'),
  batches: z.object({
    ...{ worker, batches: total, ownHandler: total, events: total, eventLoop },
    handlerMs: z.object({ p50: figure, p95: figure, max: figure }).nullable(),
  }),
  eventLoop: z.object({ worker, seconds: list(figure), delayP99Ms: list(figure), delayMaxMs: list(figure) }),
  time: z.object({ monotonicUs: figure }),
};

/** A server of another version can refuse with codes that are unknown here. */
const refusal = z.object({ ok: z.literal(false), code: name, message: sentence });

/** @returns undefined if it is no reply to that request */
export function replyTo<E extends keyof Requests>(request: E, given: unknown): ControlReply<Answer<E>> | undefined {
  const reply = z.discriminatedUnion('ok', [z.object({ ok: z.literal(true), value: VALUES[request] }), refusal]);
  return reply.safeParse(given).data as ControlReply<Answer<E>> | undefined;
}
