/** Section `fault` of the result document: effect of a planned fault on the connections that were open at its start. */
import { z } from 'zod';
import { FAULT_KINDS } from '../wire/fault-kinds.ts';
import { figure } from './figure.ts';
import { byName, count, layers, time as moment, object, rowsOf } from './shared-schemas.ts';

const byCause = byName(count);
const connections = { quantity: 'count', noun: 'connections', answers: ['connections'], threshold: true } as const;
/** The time also depends on the clock and event loops of the generator. */
const time = { quantity: 'milliseconds', answers: ['connections', 'latency'], follows: 'load' } as const;
const ms = z.number().nullable();

export const faultSchema = object({
  kind: z.enum(FAULT_KINDS).describe('what happened'),
  command: z.string().nullable().describe('its program'),
  t: moment,
  tookMs: ms.describe('null if it failed'),
  overMs: ms.describe('until all were back or had given up, and all workers answered'),
  replaced: z.array(z.string()).describe('parts of the deployment that it replaced'),
  connections: count.describe('open just before; `connections = stayed + dropped`'),
  stayed: count.describe('never dropped'),
  dropped: figure(count, 'dropped at least once; `dropped = back + Σ notBack`', connections),
  back: count.describe('of these, reconnected'),
  notBack: figure(byCause, 'the others, by cause', connections),
  backMs: object({
    p50: figure(ms, 'half of them', { ...time, title: 'Half of the dropped connections back', compared: 'secondary' }),
    p99: figure(ms, '99 %', { ...time, title: '99 % of the dropped connections back', compared: 'primary' }),
    all: figure(ms, 'all', {
      ...{ ...time, title: 'All dropped connections back', compared: 'secondary', threshold: 'socketio.fault.back_ms' },
    }),
  }).describe('until that share had finally reconnected; null if never'),
  drops: count.describe('how often these dropped'),
  returns: count.describe('how often they reconnected'),
  recovered: count.describe('with a restored session'),
  attempts: count.describe('to reconnect'),
  failedAttempts: byCause.describe('by cause'),
  peakAttemptsPerSec: figure(count, 'most in any second', {
    ...{ title: 'Peak attempts to come back', quantity: 'perSecond', noun: 'attempts', answers: ['connections'] },
    ...{ compared: 'secondary', follows: 'load' },
  }),
  peakReturnsPerSec: count.describe('most in any second'),
  backoff: object({ attempts: count, delayMs: z.number(), maxDelayMs: z.number(), jitter: z.number() }).describe(
    'the engine’s option `reconnection`',
  ),
  peakCpuPercent: layers.describe('highest sample, by layer; 100 is one core, for `system` all'),
  broadcasts: object({
    sent: count.describe('broadcasts sent'),
    notSent: count.describe('broadcasts that no worker could send'),
    unknown: count.describe(
      'broadcasts that no worker confirmed and without any copy: whether they were sent is unknown',
    ),
    due: count.describe('expected copies, for as many members as before; `due = received + lost + absent`'),
    received: count.describe('copies that arrived'),
    resent: count.describe('received later, by a restored session'),
    lost: count.describe('not received by members'),
    absent: count.describe('not received by connections that were disconnected at the send'),
    missed: figure(count, 'lost + absent', {
      ...{ title: 'Copies missed after the fault', quantity: 'count', noun: 'receipts', answers: ['delivery'] },
      ...{ compared: 'secondary', threshold: 'socketio.fault.missed' },
    }),
  })
    .nullable()
    .describe('broadcasts during the fault'),
  perWorker: object({ before: byCause, after: byCause }).describe('empty if restored sessions hide it'),
  curve: rowsOf({
    ms: count,
    connected: count,
    attempts: count,
    returns: count,
  }).describe('connections open at the fault, in steps of 100 ms'),
}).nullable();

export type Fault = NonNullable<z.infer<typeof faultSchema>>;
