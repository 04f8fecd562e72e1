import { z } from 'zod';
import { addToOwnCounter } from '../../../protocol/base/sum-counts.ts';
import { isTemplate } from '../../script/is-template.ts';
import { namespaceSchema } from '../../script/options/connect-options.ts';
import { toFlowError } from '../flow-error.ts';
import { keepErrorExample } from '../tally.ts';
import { compileCall } from './function.ts';
import { defineStep } from './step.ts';

/** Largest number of calls to async functions that are pending in an Artillery worker. Further events are dropped. */
const MAX_PENDING = 1000;
const WAIT = 'to wait for one event, write waitFor: {event: <event>}';

/**
 * `on: {event: price, function: check}`: calls a function of `config.processor` with each event of that name, while the
 * namespace is open. A failed call is counted, and the flow continues.
 */
export const onStep = defineStep({
  schema: z.strictObject({
    on: z
      .strictObject(
        {
          event: z.string().describe('its name'),
          function: z
            .string({ error: `expected a function of config.processor; ${WAIT}` })
            .describe('called with each: `(args, context, events)`, or async; `args` is the list of its arguments'),
          namespace: namespaceSchema.default('').describe('default: the main namespace'),
        },
        { error: `expected {event: <event>, function: <function>}; ${WAIT}` },
      )
      .refine((spec) => !isTemplate(spec), {
        error: 'the same event for all virtual users: write it without templates',
      })
      .describe('calls a function with each event of a connection, for its whole stay'),
  }),
  functionKeys: ['on.function'],
  compile({ on: spec }, build) {
    const { tally } = build.shared;
    const { functions } = tally;
    const namespace = build.namespace(spec.namespace);
    const call = compileCall(spec.function, build.shared);
    let pending = 0;
    build.uses.watched.push({
      namespace,
      event: spec.event,
      receive(args, context, events) {
        functions.received++;
        if (pending >= MAX_PENDING) {
          functions.dropped++;
          return;
        }
        pending++;
        call(context, [args, context, events])
          .catch((error) => {
            addToOwnCounter(functions.failures, spec.function, 1);
            keepErrorExample(tally, toFlowError(error), context);
          })
          .finally(() => pending--);
      },
    });
    return async (user) => void (await build.use(user, namespace));
  },
});
