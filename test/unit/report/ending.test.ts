/** The lines that a run ends with. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Result } from '../../../protocol/result/result.ts';
import { check, outside, stormy } from '../../helpers/report-cases.ts';
import { endingText } from '../../helpers/report-text.ts';
import { generatorHost, perfectResult, resultWithMessages } from '../../helpers/results.ts';
import { drift, moment, waves } from '../../helpers/waves.ts';

function withHosts(...shares: number[]): Result {
  const generators = shares.map((share, index) => generatorHost(`load-${index}`, { share, p50: 10 + index }));
  return { ...perfectResult(), generators };
}

const perSecond = (bytes: number) => ({ bytes, low95: bytes - 5000, high95: bytes + 5000, noLeakAbove: bytes + 5000 });

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
      'a full machine does not accuse the generator': {
        of: ({ verdict }) => verdict.reasons.push({ code: 'MACHINE_SATURATED', message: 'by others' }),
        not: [/did not keep up|kept up/],
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
      'waves after which only pages remain': {
        of: waves({ drift: { workerRss: drift(2500, 900), workerHeapUsed: drift(10, 50) } }),
        says: [/grows by 2\.4 KB .*heap and external memory do not/],
        not: [/leaks/],
      },
      'waves whose pages also grow by something that the heap does not show': {
        of: waves({
          drift: {
            workerRss: { ...drift(2500, 900), perSecond: perSecond(100_000) },
            workerHeapUsed: { ...drift(10, 50), leaks: true, perSecond: perSecond(98_000) },
          },
        }),
        says: [/leaks 97\.7 KB\/s/],
        not: [/per connection \(/],
      },
      'waves of a server of which only pages are known': {
        of: waves({ drift: { workerRss: drift(2500, 900) } }),
        says: [/leaks 2\.4 KB per connection/],
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
