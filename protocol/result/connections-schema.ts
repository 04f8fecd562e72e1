/** Sections of the result document on connections, and on other activities of virtual users. */
import { z } from 'zod';
import { TRANSPORTS, type TransportsName } from '../wire/connection.ts';
import { describeFigure } from './figure.ts';
import {
  listOfObjects,
  objectSchemaOrNull,
  recordOf,
  resultCount,
  schemaOrNull,
  strictObject,
  summaryOrNull,
  summarySchema,
} from './shared-schemas.ts';

const perSecond = z.number().nullable();
const byReason = recordOf(resultCount);
const connections = { quantity: 'count', noun: 'connections', answers: ['connections'] } as const;
/** Declaration of a figure that counts connections. Connections that are missing from the planned number are faults. */
const reached = {
  ...connections,
  better: 'higher',
  compared: 'secondary',
  follows: 'target',
  threshold: true,
} as const;
const range = strictObject({ low: z.number(), high: z.number() });

export const connectionsSchema = strictObject({
  target: describeFigure(resultCount, 'connections that the scenario asks for', {
    ...connections,
    live: { series: 'connections_target' },
  }),
  peak: describeFigure(resultCount, 'most connections at the same time', {
    ...reached,
    title: 'Peak connections',
    faults: ({ target, peak }: { target: number; peak: number }) => Math.max(0, target - peak),
  }),
  failed: describeFigure(resultCount, 'failed virtual users, without lost connections', {
    ...{ ...connections, noun: 'virtual users', title: 'Connections failed', compared: 'secondary', threshold: true },
  }),
  failures: describeFigure(byReason, 'the same by [code](./errors.md)', {
    ...{ ...connections, noun: 'virtual users' },
    live: { series: 'failed_total', label: 'cause', help: 'Virtual users that failed, but not by a lost connection' },
  }),
  failureExamples: recordOf(z.string()).describe('the server’s words at the first of each code'),
  asked: resultCount.describe('attempted; `asked = opened + Σ notOpened`'),
  notOpened: z._default(byReason, {}).describe('by code; `pending`: the run ended before'),
  opened: resultCount.describe('open at some time: at the end, `Σ lost` and `closed`'),
  closed: z._default(schemaOrNull(resultCount), null).describe('closed by their virtual users'),
  held: describeFigure(schemaOrNull(resultCount), 'open after the last broadcast; null where users leave', {
    ...reached,
    title: 'Connections held',
    faults: ({ target, held }: { target: number; held: number }) => Math.max(0, target - held),
  }),
  meanStaySeconds: z._default(schemaOrNull(z.number()), null).describe('mean time open, of ended connections'),
  lost: describeFigure(byReason, 'ended otherwise, by Socket.IO’s reason', {
    ...{ ...connections, title: 'Connections lost', compared: 'secondary', threshold: true },
    live: { series: 'lost_total', label: 'cause', help: 'Connections that ended before their release' },
  }),
  skipped: describeFigure(resultCount, 'virtual users not started, by `maxVusers`', {
    ...{ ...connections, noun: 'virtual users', threshold: true },
  }),
  unknownAcks: describeFigure(schemaOrNull(resultCount), 'acknowledgements repeated, or of no message', {
    ...{ ...connections, noun: 'acknowledgements', threshold: true },
  }),
  acks: z._default(schemaOrNull(resultCount), null).describe('acknowledgements of virtual users’ messages'),
  ackErrors: z
    ._default(recordOf(resultCount), {})
    .describe('those with an error object, by its text; further texts under an empty one'),
  retries: schemaOrNull(resultCount).describe('attempts after a failed one'),
  reconnection: objectSchemaOrNull({
    dropped: resultCount.describe('times that a connection dropped; `dropped = returned + gaveUp + left + away`'),
    returned: resultCount.describe('times that one reconnected'),
    recovered: resultCount.describe('with a restored session'),
    gaveUp: resultCount.describe('not reconnected within `reconnection.attempts`'),
    left: resultCount.describe('closed by their virtual users while disconnected'),
    away: resultCount.describe('disconnected at the end'),
    awayMs: summaryOrNull.describe('from the drop to the reconnect'),
  }).describe('effect of the option `reconnection`; null if none dropped'),
  ends: z
    ._default(
      listOfObjects({
        reason: z.string().describe('Socket.IO’s reason'),
        cause: z
          .string()
          .describe('cause known from the transport: `closed_<close code>`, `http_<status>`; empty if unknown'),
        closeText: z.string().describe('text of the close frame or the HTTP answer'),
        event: z.string().describe('the last event received before'),
        eventText: z.string().describe('its arguments, in an example'),
        count: resultCount,
        ageSeconds: range.describe('after the connection opened'),
        sent: range.describe('messages that the connection had sent'),
        received: range.describe('events that it had received'),
        largestSentBytes: range.describe('its largest message'),
        maxPayloadBytes: resultCount
          .nullable()
          .describe('the largest message that the server accepts, by its handshake'),
        pingIntervalMs: resultCount.nullable().describe('how often the server pings, by its handshake'),
        pingTimeoutMs: resultCount.nullable().describe('allowed delay of a ping or its answer, by the handshake'),
      }),
      [],
    )
    .describe('lost connections by kind of end; ranges cover 90 %'),
  disconnects: byReason.describe('all that ended before the run released them'),
  configuredRatePerSec: perSecond.describe('rate of the phases'),
  achievedRatePerSec: describeFigure(perSecond, 'rate while connections were made', {
    ...{
      title: 'Connect rate',
      quantity: 'perSecond',
      noun: 'connections',
      better: 'higher',
      answers: ['connections'],
    },
    ...{ threshold: 'connections.rate', live: { series: 'connect_rate', help: 'Connections made per second' } },
    ...{ compared: 'secondary', follows: 'rate' },
  }),
  rampSeconds: z.number().nullable().describe('without pauses'),
  connectMs: describeFigure(summaryOrNull, 'from the first attempt to the CONNECT answer', {
    // The connect time also depends on the clock and the event loops of the generator.
    ...{ title: 'Connect time', quantity: 'milliseconds', answers: ['connections', 'latency'], follows: 'load' },
    ...{ threshold: 'connections.connect_time', compared: { p50: 'secondary', p99: 'primary' } },
  }),
  stagesMs: recordOf(summarySchema).describe('the same by [stage](../method.md#connect-time)'),
  overTime: objectSchemaOrNull({
    intervalSeconds: z.number(),
    t: z.array(z.number()),
    opened: z.array(resultCount),
    meanMs: z.array(z.number().nullable()),
    slowestMs: z.array(z.number().nullable()),
    failed: z.array(resultCount),
    ended: z.array(resultCount),
  }).describe('by interval, from `t`'),
  tlsHandshakes: objectSchemaOrNull({
    full: resultCount,
    resumed: resultCount,
  }).describe('full and resumed; null without TLS, or with `client: official`'),
  transports: objectSchemaOrNull({
    configured: z.enum(Object.keys(TRANSPORTS) as TransportsName[]).describe('`default` is polling, then WebSocket'),
    websocket: resultCount.describe('WebSocket from the start'),
    upgraded: resultCount.describe('began with polling, and changed to WebSocket'),
    polling: resultCount.describe('stayed on polling; `opened` is the sum of the three'),
    upgradeFailures: byReason.describe('upgrades that failed, or that the server did not offer, by code'),
  }).describe('connections by transport'),
  compression: objectSchemaOrNull({
    asked: z.boolean().describe('the connections offered it'),
    granted: resultCount.describe('connections to which the server granted it'),
    byServer: z
      .boolean()
      .nullable()
      .describe('whether the server grants it to every client that offers it; null if not measured'),
  }).describe('permessage-deflate'),
  perWorker: byReason.describe('empty if restored sessions hide it'),
});

/** HTTP requests, functions, and virtual users of other engines. */
export const httpSchema = z
  ._default(
    objectSchemaOrNull({
      requests: resultCount.describe('with redirects; `requests = Σ responses + Σ failures + pending`'),
      responses: recordOf(resultCount).describe('by status'),
      failures: recordOf(resultCount).describe('no response, by error'),
      pending: resultCount.describe('no response yet at the end'),
    }),
    null,
  )
  .describe('HTTP requests of all scenarios. Null without any.');

export const functionsSchema = z
  ._default(
    objectSchemaOrNull({
      received: resultCount.describe('events of the step [`on`](./steps.md)'),
      dropped: resultCount.describe('events that came too fast'),
      failures: describeFigure(recordOf(resultCount), 'failed calls of `on`, by function', {
        ...{ quantity: 'count', noun: 'calls', answers: ['connections'], threshold: true },
      }),
      counters: recordOf(z.number()).describe('of `events.emit("counter", name, number)`'),
    }),
    null,
  )
  .describe('Functions of `config.processor`. Null without any.');

export const otherUsersSchema = z
  ._default(
    objectSchemaOrNull({
      started: resultCount.describe('until the measurements ended'),
      ended: resultCount.describe('the same'),
      failures: recordOf(resultCount).describe('by error'),
    }),
    null,
  )
  .describe('Virtual users of [other engines](../guide/writing-scenarios.md#other-engines). Null without any.');
