/** What the report of a run says. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Result } from '../../../protocol/result/result.ts';
import { readResult } from '../../../report/read.ts';
import { summaryOf } from '../../helpers/message-figures.ts';
import { check, outside, stormy } from '../../helpers/report-cases.ts';
import { fullText } from '../../helpers/report-text.ts';
import { perfectBatch, resultWithMessages, resultWithPings } from '../../helpers/results.ts';
import { set } from '../../helpers/verdict.ts';
import { moment, waves } from '../../helpers/waves.ts';

const wrongBatches = ({ delivery }: Result) => {
  if (!delivery) return;
  delivery.batches = Array.from({ length: 120 }, (_, index) => perfectBatch(index + 1, 5000));
  Object.assign(delivery.batches[89] ?? {}, { duplicates: 1 });
  Object.assign(delivery.batches[99] ?? {}, { serverMembers: 5001 });
};
const ownEvent = ({ delivery, latency }: Result) => {
  Object.assign(delivery ?? {}, { source: 'own event', event: 'chat message', publisher: null, outside: 7 });
  latency.from = 'publisher';
};
const onlyMessages = (result: Result) => {
  Object.assign(result, { messages: resultWithMessages().messages });
  Object.assign(result.delivery ?? {}, { broadcasts: 0, expected: 0, received: 0, coverage: null, batches: [] });
};
const strayCopies = (result: Result) => {
  onlyMessages(result);
  Object.assign(result.delivery ?? {}, { unexpected: 3 });
};
const reconnected = ({ connections, delivery }: Result) => {
  const awayMs = { ...summaryOf(18, 120), max: 900 };
  connections.reconnection = { dropped: 20, returned: 18, recovered: 17, gaveUp: 2, left: 0, away: 0, awayMs };
  Object.assign(delivery ?? {}, { missed: 18, resent: 17 });
};
const wrongCopies = set('delivery', { wrongSize: 7, neverOrdered: 12_345 });
const fault = stormy({ back: 490, notBack: { 'gave up': 10 } });
const uncounted = { before: { w0: 500, w1: 500 }, after: {} };
const failures = set('connections', {
  failures: { timeout_open: 3, ECONNREFUSED: 12 },
  failureExamples: { timeout_open: 'nobody answered' },
});
const withInterval = ({ cpu }: Result) => {
  const none = { rampSecondsPerThousandConnects: null, idlePercent: null, idleConnectionsPercent: null };
  const interval = { low95: 10.26, high95: 12.54 };
  const intervals = { ...none, clientMicrosecondsPerMessage: null, broadcastMicrosecondsPerMessage: interval };
  Object.assign(cpu.worker ?? {}, { intervals });
};
const doubted = ({ memory: { perConnectionBytes } }: Result) => {
  Object.assign(perConnectionBytes.workerHeapUsed ?? {}, { low95: 5000, high95: 25_000 });
  Object.assign(perConnectionBytes.workerRss ?? {}, { doubt: 'grows' });
};
const slowFirst = ({ latency, delivery }: Result) => {
  latency.slowFirst = { seq: 1, lastMs: 60, othersP50Ms: 22, othersMaxMs: 24 };
  Object.assign(delivery ?? {}, { broadcasts: 6 });
};
const leftOut = set('delivery', { leftOut: { broadcasts: 19, connections: 10, workers: [], isLasting: true } });
const deaf = set('delivery', { leftOut: { broadcasts: 10, connections: 100, workers: ['w1'], isLasting: false } });
const inTurn = set('delivery', { leftOut: { broadcasts: 2, connections: 1, workers: [], isLasting: false } });
const inRooms = (lossy: (index: number) => boolean) => (result: Result) => {
  result.delivery?.batches.forEach((batch, index) => {
    Object.assign(batch, { room: `chat:${index % 4}`, ...(lossy(index) && { received: batch.expected - 3 }) });
  });
};
const slowAcross = set('latency', { crossWorkerMs: { ...summaryOf(30_000, 211), min: 190 } });
const readings = Array.from({ length: 500 }, (_, index) => moment(index, 100, index));
const beside =
  (...kilobytes: number[]) =>
  ({ memory }: Result) => {
    const parts = (['shared', 'programs', 'kernel'] as const).map((part, index) => {
      const high95 = (kilobytes[index] ?? 0) * 1024;
      return { part, bytes: 0, low95: -high95, high95, isSignificant: false };
    });
    memory.balance = { parts, holders: [] };
  };
const notMeasured = (title: string) => new RegExp(`^${title}\\n {2}Not measured: no control port\\.$`, 'm');

describe('the sections of a report', () => {
  check(fullText, [
    ['the reason for what was not measured', outside(), [notMeasured('Memory'), notMeasured('Latency')], /Limits, the/],
    ['only broadcasts that are wrong', wrongBatches, [/^ {2}Broadcast +Expected.*\n {2}90 .*\n {2}100 .*\n {2}\D/m]],
    ['copies that no correct server sends', wrongCopies, [/Wrong size +7 /, /Never ordered +12,345 /]],
    ['and not where there are none', () => {}, [], /Wrong size|Never ordered|Skipped|Generator hosts/],
    ['the only room with losses', inRooms((index) => index % 4 === 2), [/all losses in room `chat:2`/]],
    ['and no room where several have some', inRooms((index) => index % 2 === 0), [], /all losses in room/],
    ['the worker that missed them', deaf, [/100 connections, .* on worker w1, .*adapter/]],
    ['how many each connection lost, if it lost them in turn', inTurn, [/no connection that .* more than 2 of 12/]],
    ['who missed broadcasts each time', leftOut, [/19 broadcasts missed the same 10 connections/]],
    [
      'no broadcasts where messages were sent instead',
      onlyMessages,
      [/^Messages of clients$/m],
      /^(Delivery|Latency)$/m,
    ],
    ['copies that came nevertheless', strayCopies, [/^Messages of clients$/m, /Unexpected +3 /]],
    ['an event of the server’s own', ownEvent, [/`chat message`/, /Outside +7 /]],
    ['reconnections', reconnected, [/Returned +18 +17 [\s\S]* 120 ms .*900 ms[\s\S]*Gave up +2\b/]],
    ['copies that they missed, and got again', reconnected, [/Missed +18 /, /Sent again +17 /]],
    ['failures by cause, with what was said', failures, [/ECONNREFUSED +12\n +timeout_open +3 .*nobody answered/]],
    [
      'who is back after a fault',
      fault,
      [/Not back +10 +gave up 10/, / 0\.76 s/, /replaced w0/, /w0 500 → 65, w1 500 → 925/],
    ],
    ['what it cost', fault, [/Peak attempts +480 /, /CPU peak, Workers +81\.0 %/, /Copies missed +200 /]],
    ['no count of workers that nobody knows', stormy({ perWorker: uncounted }), [/replaced w0/], /w0 500/],
    ['messages of clients', resultWithMessages(), [/acknowledgement +3\.50/, /`event_batch` of 150/, /Due +120,000/]],
    ['CPU with its interval', withInterval, [/11\.4 ± 10 %/], /have no interval/],
    ['a slow first broadcast', slowFirst, [/ 54\.0 to 57\.0 ms/, /\(6; p90 needs/, / 60\.0 ms .*22\.0 ms .*24\.0 ms/]],
    ['how long the way to other workers is', slowAcross, [/adapter took at least 98\.0 ms to reach/]],
    ['and not where it is short', () => {}, [], /the adapter took/],
    ['CPU of few broadcasts', set('delivery', { broadcasts: 4 }), [/no interval .* 5 broadcasts/]],
    ['a slope in doubt, and one that is not known well', doubted, [/V8 heap +4\.9 to 24\.4 /, /Workers RSS: growth/]],
    [
      'how much memory beside the layers could be there, as far as it is less than a connection costs',
      beside(0.5, 1000, 2),
      [/no layer includes, per connection: at most 0\.5 KB in shared memory, 2\.0 KB in the kernel\./],
    ],
    ['and nothing of it where it could be more', beside(900, 1000, 2000), [], /no layer includes/],
    ['how many readings an answer is from', waves({ kind: 'churn', peaks: [], readings }), [/500 readings/]],
    ['an answer that needs more readings', waves({ drift: {} }), [/too few readings/]],
    ['a limit of pings', resultWithPings(), [/pings .*400,000 .*every 25 s/]],
  ]);

  it('proxy and kernel have one number each, in the headline and among all layers', () => {
    const text = fullText(readResult('docs/reports/32k/result.json'));
    for (const row of [/^ +kernel +([\d.]+)/gm, /^ +(?:proxy|nginx RSS) +([\d.]+) .*[\d.]$/gm]) {
      const numbers = [...text.matchAll(row)].map(([, number]) => number).slice(0, 2);
      assert.deepEqual([numbers.length, new Set(numbers).size], [2, 1], String(numbers));
    }
  });
});
