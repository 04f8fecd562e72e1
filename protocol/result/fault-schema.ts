/** Section `fault` of the result document: effect of a planned fault on the connections that were open at its start. */
import { z } from 'zod';
import { FAULT_KINDS } from '../wire/fault-kinds.ts';
import { describeFigure } from './figure.ts';
import {
  listOfObjects,
  secondsSchema as moment,
  numbersByLayer,
  recordOf,
  resultCount,
  strictObject,
} from './shared-schemas.ts';

const byCause = recordOf(resultCount);
const connections = { quantity: 'count', noun: 'connections', answers: ['connections'], threshold: true } as const;
/** The time also depends on the clock and event loops of the generator. */
const time = { quantity: 'milliseconds', answers: ['connections', 'latency'], follows: 'load' } as const;
const ms = z.number().nullable();

export const faultResultSchema = strictObject({
  kind: z.enum(FAULT_KINDS).describe('what happened'),
  command: z.string().nullable().describe('its program'),
  t: moment,
  tookMs: ms.describe('null if it failed'),
  overMs: ms.describe('until all had reconnected or given up, and all workers answered'),
  replaced: z.array(z.string()).describe('parts of the deployment that it replaced'),
  connections: resultCount.describe('open just before; `connections = stayed + dropped`'),
  stayed: resultCount.describe('never dropped'),
  dropped: describeFigure(
    resultCount,
    'dropped at least once; `dropped = reconnected + Σ notReconnected`',
    connections,
  ),
  reconnected: resultCount.describe('of these, open again'),
  notReconnected: describeFigure(byCause, 'the others, by cause', connections),
  reconnectMs: strictObject({
    p50: describeFigure(ms, 'half of them', {
      ...time,
      title: 'Half of the dropped connections reconnected',
      compared: 'secondary',
    }),
    p99: describeFigure(ms, '99 %', {
      ...time,
      title: '99 % of the dropped connections reconnected',
      compared: 'primary',
    }),
    all: describeFigure(ms, 'all', {
      ...{
        ...time,
        title: 'All dropped connections reconnected',
        compared: 'secondary',
        threshold: 'socketio.fault.reconnect_ms',
      },
    }),
  }).describe('until that share had finally reconnected; null if never'),
  drops: resultCount.describe('how often these dropped'),
  returns: resultCount.describe('how often they reconnected'),
  recovered: resultCount.describe('with a restored session'),
  attempts: resultCount.describe('to reconnect'),
  failedAttempts: byCause.describe('by cause'),
  peakAttemptsPerSec: describeFigure(resultCount, 'most in any second', {
    ...{ title: 'Peak reconnect attempts', quantity: 'perSecond', noun: 'attempts', answers: ['connections'] },
    ...{ compared: 'secondary', follows: 'load' },
  }),
  peakReturnsPerSec: resultCount.describe('most in any second'),
  backoff: strictObject({
    attempts: resultCount,
    delayMs: z.number(),
    maxDelayMs: z.number(),
    jitter: z.number(),
  }).describe('the engine’s option `reconnection`'),
  peakCpuPercent: numbersByLayer.describe('highest sample, by layer; 100 is one core, for `system` all'),
  broadcasts: strictObject({
    sent: resultCount.describe('broadcasts sent'),
    notSent: resultCount.describe('broadcasts that no worker could send'),
    unknown: resultCount.describe(
      'broadcasts that no worker confirmed and without any copy: whether they were sent is unknown',
    ),
    due: resultCount.describe('expected copies, for as many members as before; `due = received + lost + absent`'),
    received: resultCount.describe('copies that arrived'),
    resent: resultCount.describe('received later, by a restored session'),
    lost: resultCount.describe('not received by members'),
    absent: resultCount.describe('not received by connections that were disconnected at the send'),
    missed: describeFigure(resultCount, 'lost + absent', {
      ...{ title: 'Copies missed after the fault', quantity: 'count', noun: 'receipts', answers: ['delivery'] },
      ...{ compared: 'secondary', threshold: 'socketio.fault.missed' },
    }),
  })
    .nullable()
    .describe('broadcasts during the fault'),
  perWorker: strictObject({ before: byCause, after: byCause }).describe('empty if restored sessions hide it'),
  curve: listOfObjects({
    ms: resultCount,
    connected: resultCount,
    attempts: resultCount,
    returns: resultCount,
  }).describe('connections open at the fault, in steps of 100 ms'),
}).nullable();

export type FaultResult = NonNullable<z.infer<typeof faultResultSchema>>;
