/** What a report says of a run: cases of a result, and what stands in its report, or does not. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Fault } from '../../../protocol/result/fault.ts';
import type { Result } from '../../../protocol/result/result.ts';
import { noPingLimit } from '../../../report/sections/capacity.ts';
import { plannedFault } from '../../helpers/planned-fault.ts';
import { endingText, fullText } from '../../helpers/report-text.ts';
import {
  generatorHost,
  perfectBatch,
  perfectResult,
  resultWithMessages,
  resultWithPings,
  summaryOf,
} from '../../helpers/results.ts';
import { moment, waves } from '../../helpers/waves.ts';

interface Case {
  /** A change of a perfect run, or a run of another kind. */
  of: ((result: Result) => unknown) | Result;
  says?: RegExp[];
  not?: RegExp[];
}

function check(cases: Record<string, Case>, textOf: (result: Result) => string): void {
  for (const [name, { of, says = [], not = [] }] of Object.entries(cases)) {
    it(name, () => {
      const result = typeof of === 'function' ? perfectResult() : of;
      if (typeof of === 'function') of(result);
      const text = textOf(result);
      for (const pattern of says) assert.match(text, pattern);
      for (const pattern of [...not, /NaN|undefined|\bnull\b|Infinity|\[object/]) assert.doesNotMatch(text, pattern);
    });
  }
}

const WHY = 'no control port';

/** A server that nobody can ask. */
function outside(): Result {
  const result = perfectResult();
  const { latency, memory, environment } = result;
  return {
    ...result,
    absent: { memory: WHY, cpu: WHY, delivery: WHY, latency: WHY, roundTrip: WHY },
    delivery: null,
    environment: { ...environment, server: null },
    latency: { ...latency, oneWayMs: null, localMs: null, crossWorkerMs: null, completionMs: null, sendDelayMs: null },
    memory: { ...memory, inService: null, perConnectionBytes: {}, peakBytes: {}, plateaus: [{ connections: 0 }] },
    capacity: { memoryLimited: null, pings: null, limits: [], unknown: [], lowest: null },
    stages: ['ramp', 'plateau', 'hold', 'disconnect'].map((name, index) => ({ name, t: 10 * index + 1 })),
  };
}

function stormy(changes: Partial<Fault> = {}): Result {
  return { ...perfectResult(), fault: plannedFault(changes) };
}

function withHosts(...shares: number[]): Result {
  const generators = shares.map((share, index) => generatorHost(`load-${index}`, { share, p50: 10 + index }));
  return { ...perfectResult(), generators };
}

/** Broadcasts with fewer and fewer connections. */
function byConnections(result: Result): void {
  result.latency.byConnections = [5000, 3750].map((connections, index) => ({
    ...{ connections, broadcasts: 6, expected: 6 * connections, received: 6 * connections - index, lost: index },
    oneWayMs: summaryOf(6 * connections, connections / 100),
    completionMs: summaryOf(6, connections / 50),
  }));
}

describe('the ending of a run', () => {
  const setServer = (kind: NonNullable<Result['environment']['server']>['kind']) => (result: Result) => {
    result.environment.server = { kind, tunings: {}, options: {} };
  };
  check(
    {
      'answers each question in a sentence': {
        of: () => {},
        says: [
          /^Passed$/m,
          /5,000 connections held \(bundled server, tuned; WebSocket-only clients\)$/m,
          /all 12 broadcasts delivered to everybody: 60,000 copies$/m,
          /90 % of copies arrived within 25\.0 ms, half within 12\.5 ms$/m,
          /memory per connection: 17\.6 KB ± 2 % \(workers 15\.6, proxy 2\.0\)$/m,
          /worker CPU: 0\.520 s per 1,000 connects, 11\.4 µs per copy \(proxy: 0\.210, 3\.1\)$/m,
          /next limit: 40,000 open files in the workers$/m,
          /the generator kept up: at most 4\.50 ms late \(99 %\), machine 48 % idle$/m,
          /^Measurement: VALID/m,
        ],
      },
      'names the server': { of: setServer('untuned'), says: [/\(bundled server, untuned; /] },
      'names no server that nobody knows': {
        of: ({ environment }) => Object.assign(environment, { server: null }),
        says: [/held \(WebSocket-only clients\)/],
      },
      'calls the user’s own server that, and says where it is': {
        of: ({ run }) => Object.assign(run, { profile: 'remote', target: 'http://localhost:3000' }),
        says: [/your own server on this machine/],
      },
      'of a server elsewhere': {
        of: ({ run }) => Object.assign(run, { profile: 'remote', target: 'https://staging.example.com' }),
        says: [/your own server(?! on this machine)/],
      },
      'counts those that stayed, and those that were gone': {
        of: ({ connections, delivery }) => {
          Object.assign(connections, { peak: 5000, held: 2450 });
          Object.assign(delivery ?? {}, { coverageOfTarget: 0.49 });
        },
        says: [/2,450 of 5,000 connections held/, /delivered to everybody still connected/],
      },
      'counts the peak where nobody stays': {
        of: ({ connections, delivery }) => {
          Object.assign(connections, { held: null });
          Object.assign(delivery ?? {}, { coverageOfTarget: null });
        },
        says: [/at most 5,000 connections at the same time/],
        not: [/\bheld\b/],
      },
      'a loss is seen, however small': {
        of: ({ delivery }) => {
          Object.assign(delivery ?? {}, { received: 59_999, lostConnected: 1 });
          Object.assign(delivery?.batches[6] ?? {}, { received: 4999, lostConnected: 1 });
        },
        says: [/11 of 12 broadcasts delivered to everybody \(99\.99 % of the copies\)/, /^Failed: 99\.99 % of/m],
      },
      'a missed threshold shows what was found': {
        of: (result) => {
          const found = [{ metric: 'connections.connect_time.p99', value: 12.9, unit: 'ms' }];
          const expression = 'connections.connect_time.p99 < 0.1';
          result.thresholds = [{ expression, met: false, strict: true, found }];
        },
        says: [/^Failed: connections\.connect_time\.p99 < 0\.1, found 12\.9 ms$/m],
      },
      'a doubt comes before what seems to be so, and stands beside the figure that it is about': {
        of: ({ verdict }) => {
          verdict.status = 'SUSPECT';
          verdict.reasons = [{ code: 'MEMORY_GROWS', message: 'by 12 MB', fix: 'look for a leak' }];
        },
        says: [
          /^MEMORY_GROWS: by 12 MB\n {2}fix: look for a leak\n\nSUSPECT: passed, but/m,
          /memory per connection: .*; in doubt: MEMORY_GROWS$/m,
          /^Measurement: SUSPECT/m,
        ],
        not: [/copies arrived.*in doubt/],
      },
      'nothing is claimed of an INVALID run': {
        of: ({ verdict }) =>
          Object.assign(verdict, { status: 'INVALID', reasons: [{ code: 'ABORTED', message: 'interrupted' }] }),
        says: [/^No result: this measurement cannot be trusted\nMeasurement: INVALID/m],
        not: [/held|KB|limit|arrived/],
      },
      'a run that ended early says so': {
        of: ({ run }) => Object.assign(run, { complete: false, engine: 'socketio-v3' }),
        says: [/INCOMPLETE: the run ended early .* engine socketio-v3/],
      },
      'a generator that was late did not keep up': {
        of: ({ verdict }) => verdict.reasons.push({ code: 'GENERATOR_LATE', message: 'by a second' }),
        says: [/the generator did not keep up: /],
      },
      'what was not measured is named with its reason': {
        of: outside(),
        says: [/5,000 connections held for 20 s/, /not measured: memory, CPU, delivery \(no control port\)/],
        not: [/arrived within|memory per connection|worker CPU/],
      },
      'latencies that do not count from the server say so': {
        of: ({ latency }) => Object.assign(latency, { from: 'first receipt' }),
        says: [/copies arrived within 25\.0 ms of the first copy/],
      },
      'few broadcasts carry no percentile, also in older results': {
        of: ({ delivery }) => Object.assign(delivery ?? {}, { broadcasts: 6 }),
        says: [/half of the copies arrived within 12\.5 ms/],
      },
      'messages of clients in the place of broadcasts': {
        of: Object.assign(resultWithMessages(), { delivery: null }),
        says: [/all messages of clients acknowledged, 99 % within 14\.0 ms/, /42\.5 µs per client message/],
      },
      'a planned fault': {
        of: stormy({ back: 490, notBack: { 'gave up': 10 }, backMs: { p50: 760, p99: null, all: null } }),
        says: [
          /a worker killed: 500 of 1,000 connections dropped, 98\.00 % back, 5\.00 % of the copies meanwhile missed/,
        ],
        not: [/memory per connection/],
      },
      'a fault that drops nobody': {
        of: stormy({ kind: 'restart-redis', stayed: 1000, dropped: 0, back: 0, drops: 0, returns: 0, curve: [] }),
        says: [/Redis restarted: no connection dropped/],
      },
      'a command that is the fault is named by its program': {
        of: stormy({ kind: 'command', command: 'systemctl' }),
        says: [/command `systemctl`: 500 of/],
      },
      'waves that leak': {
        of: waves(),
        says: [/3 waves of 5,000 connections/, /leaks 20\.0 KB per connection that came and went/],
        not: [/memory per connection/],
      },
      'waves without a collection only grow': {
        of: waves({ collected: false }),
        says: [/grows by 20\.0 KB .*garbage included/],
        not: [/leaks/],
      },
      churn: {
        of: waves({
          ...{ kind: 'churn', peaks: [], warmUpReadings: 1 },
          readings: [moment(20, 500, 500), moment(40, 500, 1000), moment(60, 500, 1500)],
        }),
        says: [/5,000 connections at once, 5,000 came and went/],
      },
      'several generator hosts': {
        of: withHosts(0.6, 0.4),
        says: [
          /2 hosts with 100 connections each, slowest load-1 \(half of its copies within 11\.0 ms\), clocks known to ± 0\.210 ms, all began within 3\.20 ms/,
        ],
      },
    },
    endingText,
  );

  it('is at most fourteen lines of 80 columns', () => {
    const lines = endingText(perfectResult(), 80).split('\n');
    assert.ok(lines.length <= 14, lines.join('\n'));
    assert.ok(lines.every((line) => line.length <= 80));
  });
});

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
      'latency against connections': {
        of: byConnections,
        says: [/^ {2}5,000 +6 +all +50\.0 +100 +800$/m, /^ {2}3,750 +6 +22,499 of 22,500 +37\.5 +75\.0 +600$/m],
      },
      reconnections: {
        of: (result) => {
          const awayMs = { ...summaryOf(18, 120), max: 900 };
          const counts = { dropped: 20, returned: 18, recovered: 17, gaveUp: 2, left: 0, away: 0 };
          result.connections.reconnection = { ...counts, awayMs };
          Object.assign(result.delivery ?? {}, { missed: 18, resent: 17 });
        },
        says: [
          /20 drops: 18 returned after 120 ms \(median; longest 900 ms\), 17 of them with a restored session; 2 gave up/,
          /Missed +18 /,
          /Sent again +17 /,
        ],
      },
      'failures by cause, the most frequent first, with what the server said': {
        of: ({ connections }) => {
          connections.failures = { timeout_open: 3, ECONNREFUSED: 12 };
          connections.failureExamples = { timeout_open: 'nobody answered' };
        },
        says: [/ECONNREFUSED +12\n +timeout_open +3/, /First `timeout_open`: nobody answered/],
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
        says: [/Workers PSS +4\.9 to 24\.4 /, /Workers RSS +– .*growth at an unchanged/],
      },
      'collections that nobody counts': {
        of: ({ memory }) => Object.assign(memory, { collectionsCounted: false }),
        says: [/collected their garbage is not checked/],
      },
      'and no note where each was counted': { of: () => {}, not: [/garbage is not checked/] },
      'a result that does not describe its layers': {
        of: ({ memory }) => Object.assign(memory, { layers: [] }),
        says: [/worker heap used/],
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
