/** The option `delivery`: counts an event of the user's own server in place of the tool's broadcast. */
import { z } from 'zod';
import { parseArgumentPath } from '../../../protocol/base/json-path.ts';

const PATH_HINT = 'expected a path into the arguments such as $.0.id, or: first argument';

const jsonPath = z.string().transform((text, context) => {
  const path = parseArgumentPath(text);
  if (path) return path;
  context.addIssue({ code: 'custom', message: PATH_HINT });
  return z.NEVER;
});

/** Schema of an event with its arguments, `[event, ...arguments]`. */
export const emissionSchema = z
  .array(z.unknown())
  .min(1)
  .refine(([event]) => typeof event === 'string' && event !== '', 'expected [event, ...arguments]')
  .transform(([event, ...args]) => ({ event: event as string, args }));

/** Schema of the setting that says where a connection's rooms come from: the name of a variable, or a path. */
const roomsOfClient = z
  .string({ error: 'expected the name of a variable, without {{ }}, or a path into the join' })
  .transform((text, context) => {
    const path = parseArgumentPath(text);
    if (path) return path;
    if (/^[\w.-]+$/.test(text)) return text;
    context.addIssue({ code: 'custom', message: `the name of a variable, or: ${PATH_HINT}` });
    return z.NEVER;
  });

export const deliveryOptionsSchema = z.strictObject({
  event: z.string().min(1).describe('event of the server whose copies are counted'),
  id: jsonPath.describe(
    'path of the id of a broadcast (text or number), such as `$.0.id`; `$.0.*.id` for several in one event',
  ),
  sentAt: jsonPath.optional().describe('path of the time at which the server sent it'),
  bytes: z.number().int().positive().optional().describe('bytes of the event’s JSON, if all copies have the same'),
  join: z
    .string()
    .min(1)
    .optional()
    .describe('event whose acknowledgement makes a connection a receiver; default: all are'),
  audience: z
    .strictObject({
      event: jsonPath.describe('path of the room in `event`'),
      client: roomsOfClient.describe(
        'rooms of a connection: a variable with one or a list, or a path into its `join` or the acknowledgement',
      ),
    })
    .optional()
    .describe('rooms, such as documents or users, whose connections alone must receive a broadcast'),
  publish: z
    .strictObject({
      emit: emissionSchema.describe(
        '`[event, ...arguments]`; the broadcast’s values replace `$id`, `$sentAt` and `$room`',
      ),
      acknowledge: z.boolean().optional().describe('requests an acknowledgement; default: as in the flow, else true'),
      every: z.number().positive().default(1).describe('seconds between two intended send times'),
      count: z.number().int().nonnegative().default(20).describe('number of broadcasts'),
      users: z.number().int().positive().default(1).describe('publishers, which take turns'),
    })
    .optional()
    .describe('clients that make the server send the event; default: it sends by itself'),
});

export type EmissionOption = z.infer<typeof emissionSchema>;
export type DeliveryOptions = z.infer<typeof deliveryOptionsSchema>;
export type PublishOptions = NonNullable<DeliveryOptions['publish']>;
