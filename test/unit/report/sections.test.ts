/** What the report of a run says. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { readResult } from '../../../report/read.ts';
import { noPingLimit } from '../../../report/sections/capacity.ts';
import { summaryOf } from '../../helpers/message-figures.ts';
import { check, outside, stormy } from '../../helpers/report-cases.ts';
import { fullText } from '../../helpers/report-text.ts';
import { perfectBatch, perfectResult, resultWithMessages, resultWithPings } from '../../helpers/results.ts';
import { moment, waves } from '../../helpers/waves.ts';

describe('the sections of a report', () => {
  check(
    {
      'the reason in the place of what was not measured': {
        of: outside(),
        says: [/^Memory\n {2}Not measured: no control port\.$/m, /^Latency\n {2}Not measured: no control port\.$/m],
        not: [/layer that was read|Limits, the next/],
      },
      'only broadcasts that did not reach everybody once': {
        of: ({ delivery }) => {
          if (!delivery) return;
          delivery.batches = Array.from({ length: 120 }, (_, index) => perfectBatch(index + 1, 5000));
          Object.assign(delivery.batches[89] ?? {}, { duplicates: 1 });
          Object.assign(delivery.batches[99] ?? {}, { serverMembers: 5001 });
        },
        says: [/^ {2}Broadcast +Expected.*\n {2}90 .*\n {2}100 .*\n {2}Redis/m],
      },
      'copies that no correct server sends': {
        of: ({ delivery }) => Object.assign(delivery ?? {}, { wrongSize: 7, neverOrdered: 12_345 }),
        says: [/Wrong size +7 +the payload/, /Never ordered +12,345 /],
      },
      'and not where there are none': { of: () => {}, not: [/Wrong size|Never ordered|Skipped|Generator hosts/] },
      'an event of the server’s own': {
        of: ({ delivery, latency }) => {
          Object.assign(delivery ?? {}, { source: 'own event', event: 'chat message', publisher: null, outside: 7 });
          latency.from = 'publisher';
        },
        says: [/Counted: `chat message`, published by the server itself/, /Outside +7 /, /share the generator’s clock/],
      },
      reconnections: {
        of: (result) => {
          const awayMs = { ...summaryOf(18, 120), max: 900 };
          const counts = { dropped: 20, returned: 18, recovered: 17, gaveUp: 2, left: 0, away: 0 };
          result.connections.reconnection = { ...counts, awayMs };
          Object.assign(result.delivery ?? {}, { missed: 18, resent: 17 });
        },
        says: [
          /Returned +18 +17 of them[\s\S]*Returned after +120 ms +median; longest 900 ms[\s\S]*Gave up +2\b/,
          /Missed +18 /,
          /Sent again +17 /,
        ],
      },
      'failures by cause, the most frequent first, with what the server said': {
        of: ({ connections }) => {
          connections.failures = { timeout_open: 3, ECONNREFUSED: 12 };
          connections.failureExamples = { timeout_open: 'nobody answered' };
        },
        says: [/ECONNREFUSED +12\n +timeout_open +3 +first: nobody answered/],
      },
      'what a fault cost': {
        of: stormy({ back: 490, notBack: { 'gave up': 10 } }),
        says: [
          /Not back +10 +gave up 10/,
          /Half of the dropped back after +0\.76 s/,
          /Peak attempts +480 /,
          /CPU peak, Workers +81\.0 %/,
          /Copies missed +200 /,
          /it replaced w0/,
          /w0 500 → 65, w1 500 → 925/,
        ],
      },
      'workers of which nobody knows how many they hold are not said to hold none': {
        of: stormy({ perWorker: { before: { w0: 500, w1: 500 }, after: {} } }),
        says: [/it replaced w0/],
        not: [/w0 500/],
      },
      'messages of clients': {
        of: resultWithMessages(),
        says: [
          /To acknowledgement +3\.50/,
          /Every 1 s, each connection sends `event_batch` of 150 events/,
          /Due +120,000/,
        ],
      },
      'CPU with its interval': {
        of: ({ cpu }) => {
          const none = { rampSecondsPerThousandConnects: null, idlePercent: null, idleConnectionsPercent: null };
          const interval = { low95: 10.26, high95: 12.54 };
          const intervals = { ...none, clientMicrosecondsPerMessage: null, broadcastMicrosecondsPerMessage: interval };
          Object.assign(cpu.worker ?? {}, { intervals });
        },
        says: [/11\.4 ± 10 %/],
        not: [/have no interval/],
      },
      'few broadcasts give no interval of the CPU': {
        of: ({ delivery }) => Object.assign(delivery ?? {}, { broadcasts: 4 }),
        says: [/µs per copy have no interval: it takes 5 broadcasts or more/],
      },
      'a slope in doubt has its reason, and one that is not known well its interval': {
        of: ({ memory }) => {
          Object.assign(memory.perConnectionBytes.workerPss ?? {}, { low95: 5000, high95: 25_000 });
          Object.assign(memory.perConnectionBytes.workerRss ?? {}, { doubt: 'grows' });
        },
        says: [/Workers PSS +4\.9 to 24\.4 /, /Workers RSS: growth at an unchanged/],
      },
      'how many readings an answer is from': {
        of: waves({
          ...{ kind: 'churn', peaks: [] },
          readings: Array.from({ length: 500 }, (_, index) => moment(index, 100, index)),
        }),
        says: [/The line goes through 500 readings/],
      },
      'a kind of answer that needs more readings': {
        of: waves({ drift: {} }),
        says: [/too few readings of the workers’ memory/],
      },
    },
    fullText,
  );

  it('the kernel has one number, in the headline and among all layers', () => {
    const text = fullText(readResult('docs/reports/32k/result.json'));
    const numbers = [...text.matchAll(/^ +kernel +([\d.]+)/gm)].map(([, number]) => number);
    assert.deepEqual([numbers.length, new Set(numbers).size], [2, 1], String(numbers));
  });

  it('a limit of pings, or why there is none', () => {
    assert.match(fullText(resultWithPings()), /by the CPU that their pings take +400,000 +with a ping every 25 s/);
    const short = resultWithPings();
    short.stages = [
      { name: 'hold', t: 60 },
      { name: 'broadcasts', t: 80 },
    ];
    assert.match(noPingLimit(short) ?? '', /the hold of 20 s is shorter than the 25 s/);
    assert.equal(noPingLimit(perfectResult()), null, 'there was no hold');
  });
});
