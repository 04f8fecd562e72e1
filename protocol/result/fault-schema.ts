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
  command: z.string().nullable().describe('the program of the command, without its arguments'),
  t: moment,
  tookMs: ms.describe('duration of causing the fault; null if it failed'),
  overMs: ms.describe('until all connections were back or had given up, and all workers answered'),
  replaced: z.array(z.string()).describe('parts of the deployment that it replaced, as planned'),
  connections: count.describe('open just before; `connections = stayed + dropped`'),
  stayed: count.describe('never dropped'),
  dropped: figure(count, 'dropped at least once; `dropped = back + Σ notBack`', connections),
  back: count.describe('dropped, and reconnected when the fault was over'),
  notBack: figure(byCause, 'the others, by cause', connections),
  backMs: object({
    p50: figure(ms, 'half of them', { ...time, title: 'Half of the dropped connections back', compared: 'secondary' }),
    p99: figure(ms, '99 %', { ...time, title: '99 % of the dropped connections back', compared: 'primary' }),
    all: figure(ms, 'all', {
      ...{ ...time, title: 'All dropped connections back', compared: 'secondary', threshold: 'socketio.fault.back_ms' },
    }),
  }).describe('until that share of the dropped connections had finally reconnected; null if it never did'),
  drops: count.describe('how many times these connections dropped'),
  returns: count.describe('how many times they reconnected'),
  recovered: count.describe('returned with a restored session'),
  attempts: count.describe('attempts to reconnect'),
  failedAttempts: byCause.describe('failed attempts, by cause'),
  peakAttemptsPerSec: figure(count, 'most attempts in any second', {
    ...{ title: 'Peak attempts to come back', quantity: 'perSecond', noun: 'attempts', answers: ['connections'] },
    ...{ compared: 'secondary', follows: 'load' },
  }),
  peakReturnsPerSec: count.describe('most returns in any second'),
  backoff: object({ attempts: count, delayMs: z.number(), maxDelayMs: z.number(), jitter: z.number() }).describe(
    'the engine’s option `reconnection`',
  ),
  peakCpuPercent: layers.describe(
    'highest sample, by layer as in `samples`; 100 is one core, for `system` all of them',
  ),
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
    .describe('broadcasts from the fault until it was over; null if none was sent before it'),
  perWorker: object({ before: byCause, after: byCause }).describe(
    'connections by worker; empty where restored sessions hide it',
  ),
  curve: rowsOf({
    ms: count,
    connected: count,
    attempts: count,
    returns: count,
  }).describe('connections open at the fault, over time in steps of 100 ms; `ms` is the end of the step'),
}).nullable();

export type Fault = NonNullable<z.infer<typeof faultSchema>>;
