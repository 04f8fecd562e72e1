/** What virtual users do beside their connections: HTTP requests, functions, and users of other engines. */
import { z } from 'zod';
import { figure } from './figure.ts';
import { byName, count, objectOrNull } from './shared-schemas.ts';

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
