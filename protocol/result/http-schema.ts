/** HTTP requests and other engines' virtual users of a run: load beside the connections. */
import { z } from 'zod';
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
