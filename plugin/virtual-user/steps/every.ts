import { z } from 'zod';
import type { RepeatedMessage } from '../../fleet/client/client.ts';
import { isTemplate } from '../../script/is-template.ts';
import { namespaceSchema } from '../../script/options/connect-options.ts';
import { emitSchema } from './emit.ts';
import { defineStep } from './step.ts';

const DAY_SECONDS = 86_400;
const STATIC = 'every connection sends the same bytes: write the values; templates are for `emit`';

const everySchema = z
  .strictObject({
    seconds: z.number().min(0.01).max(DAY_SECONDS).describe('the period'),
    emit: emitSchema.describe('the event, as in the step `emit`, without templates'),
    events: z.int().positive().optional().describe('makes the argument a list of that many copies of `data`'),
    count: z.int().positive().default(1).describe('messages each time, back to back'),
    acknowledge: z.boolean().default(false).describe('asks for an acknowledgement of each, and measures its time'),
  })
  .refine(({ emit: [, ...args], events }) => events === undefined || args.length === 1, {
    path: ['events'],
    error: 'repeats the one argument of the event: write it as `data`',
  });

/**
 * `every: {seconds: 10, emit: {channel: batch, data: …}, acknowledge: true}`: starts to send the message once per
 * period, until the connection closes. The fleet process sends the messages, so the flow continues with later steps.
 */
export const everyStep = defineStep({
  schema: z
    .strictObject({
      every: everySchema.describe('sends a message in each period from now on; only the plugin counts them'),
      namespace: namespaceSchema.default('').describe('default: the main namespace'),
    })
    .refine((step) => !isTemplate(step), { path: ['every'], error: STATIC }),
  repeated: ({ every: { emit, seconds, count, events = 1, acknowledge }, namespace }) => ({
    ...(namespace !== '' && { namespace }),
    event: String(emit[0]),
    ...{ seconds, count, events, acknowledge },
  }),
  compile({ every: spec, namespace: name }, build) {
    const message = messageOf(spec, build.namespace(name));
    return async (user) => (await build.use(user, message.namespace)).repeat(message);
  },
});

function messageOf(spec: z.output<typeof everySchema>, namespace: string): RepeatedMessage {
  const { seconds, emit, events, count, acknowledge } = spec;
  const [event, ...args] = emit;
  const sent = events === undefined ? args : [Array<unknown>(events).fill(args[0])];
  return { namespace, event: String(event), args: sent, periodUs: Math.round(seconds * 1e6), count, acknowledge };
}
