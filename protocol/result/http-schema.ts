/** HTTP requests and other engines' virtual users of a run: load beside the connections. */
import { z } from 'zod';
import { figure } from './figure.ts';
import { byName, count, objectOrNull, rowsOf } from './shared-schemas.ts';

export const httpSchema = z
  ._default(
    objectOrNull({
      requests: count.describe('with each redirect; `requests = Σ responses + Σ failures + pending`'),
      responses: byName(count).describe('by status'),
      failures: byName(count).describe('without a response, by error'),
      pending: count.describe('without a response when the measurements ended'),
    }),
    null,
  )
  .describe('HTTP requests by Artillery’s engine, of all scenarios. Null without any.');

export const functionsSchema = z
  ._default(
    objectOrNull({
      received: count.describe('events that the step [`on`](./steps.md) handed to functions'),
      dropped: count.describe('events that came faster than functions could take them'),
      failures: figure(byName(count), 'failed calls of `on`, by function', {
        ...{ quantity: 'count', noun: 'calls', answers: ['connections'], threshold: true },
      }),
      counters: byName(z.number()).describe(
        'counters of the processor’s functions: `events.emit("counter", name, number)`',
      ),
    }),
    null,
  )
  .describe('Functions of `config.processor`. Null if they received no event and counted nothing.');

export const eventCountsSchema = z
  ._default(
    rowsOf({
      event: z.string().describe('its name'),
      seconds: z.number().describe('how long copies were counted'),
      receivers: count.describe('connections that were open all the time'),
      copies: count.describe('of all receivers'),
      most: count.describe('copies of the connection that got most, against which the others are compared'),
      fewest: count.describe('copies of the connection that got fewest'),
      missingAtLeast: count.describe('fewer than `most` by more than copies under way can explain'),
      missingAtMost: count.describe('fewer than `most`'),
    }),
    [],
  )
  .describe('Copies of the events in the option `counts`, which have no ids: which copies are missing is unknown.');

export const otherUsersSchema = z
  ._default(
    objectOrNull({
      started: count.describe('until the measurements ended'),
      ended: count.describe('the same'),
      failures: byName(count).describe('failed ones by error'),
    }),
    null,
  )
  .describe(
    'Virtual users of [other engines](../guide/writing-scenarios.md#other-engines) in the run. Null without any.',
  );
