/** The option `delivery`: which event of the server's own is counted in place of the contract's broadcast. */
import { z } from 'zod';
import { parseJsonPath } from '../../../protocol/json-path.ts';

const PATH_HINT = 'expected a path into the arguments such as $.0.id, or: first argument';

const jsonPath = z.string().transform((text, context) => {
  const path = parseJsonPath(text);
  if (path) return path;
  context.addIssue({ code: 'custom', message: PATH_HINT });
  return z.NEVER;
});

/** `[event, ...arguments]` */
export const emissionSchema = z
  .array(z.unknown())
  .min(1)
  .refine(([event]) => typeof event === 'string' && event !== '', 'expected [event, ...arguments]')
  .transform(([event, ...args]) => ({ event: event as string, args }));

export const deliverySchema = z.strictObject({
  /** Event of the server whose copies are counted. */
  event: z.string().min(1),
  /** What tells one broadcast from another: a string or a number. */
  id: jsonPath,
  /** When the server sent it, since the Unix epoch or as ISO 8601. */
  sentAt: jsonPath.optional(),
  /** Bytes of the event's JSON, if all copies have the same. */
  bytes: z.number().int().positive().optional(),
  /** Event of the flow whose acknowledgement makes a connection a receiver; by default all connections are. */
  join: z.string().min(1).optional(),
  /** Connections of the run that make the server broadcast. */
  publish: z
    .strictObject({
      /** Event and arguments; `$id` and `$sentAt` in them stand for those of the broadcast. */
      emit: emissionSchema,
      /** Emitted once by each publisher, before anything else. */
      before: z.array(emissionSchema).default([]),
      /** Seconds between two intended send times. */
      every: z.number().positive().default(1),
      count: z.number().int().nonnegative().default(20),
      /** Connections that take turns. */
      users: z.number().int().positive().default(1),
    })
    .optional(),
});

export type Emission = z.infer<typeof emissionSchema>;
export type DeliveryOptions = z.infer<typeof deliverySchema>;
export type PublishOptions = NonNullable<DeliveryOptions['publish']>;
