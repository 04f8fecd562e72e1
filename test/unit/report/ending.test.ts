/** The lines that a run ends with. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { FindingCode } from '../../../protocol/codes/finding-codes.ts';
import type { Result } from '../../../protocol/result/result.ts';
import { finding } from '../../helpers/findings.ts';
import { check, outside, stormy } from '../../helpers/report-cases.ts';
import { endingText } from '../../helpers/report-text.ts';
import { generatorHost, perfectResult, resultWithMessages } from '../../helpers/results.ts';
import { set } from '../../helpers/verdict.ts';
import { drift, moment, waves } from '../../helpers/waves.ts';

function withHosts(...shares: number[]): Result {
  const generators = shares.map((share, index) => generatorHost(`load-${index}`, { share, p50: 10 + index }));
  return { ...perfectResult(), generators };
}

const perSecond = (bytes: number) => ({ bytes, low95: bytes - 5000, high95: bytes + 5000, noLeakAbove: bytes + 5000 });

const ofServer = (changes: object) => set('run', { profile: 'remote', ...changes });
const withServer = (kind: string) => set('environment', { server: { kind, tunings: {}, options: {} } });
const found =
  (...codes: FindingCode[]) =>
  (result: Result) =>
    result.findings.push(...codes.map((code) => finding(code)));

const half = ({ connections, delivery }: Result) => {
  Object.assign(connections, { peak: 5000, held: 2450 });
  Object.assign(delivery ?? {}, { coverageOfTarget: 0.49 });
};
const several = ({ connections }: Result) => void Object.assign(connections, { peak: 10_000, held: 10_000 });
const nobodyStays = ({ connections, delivery }: Result) => {
  Object.assign(connections, { held: null });
  Object.assign(delivery ?? {}, { coverageOfTarget: null });
};
const oneLost = ({ delivery, findings }: Result) => {
  findings.push(finding('COPIES_LOST', '99.99 % of the copies delivered'));
  Object.assign(delivery ?? {}, { received: 59_999, lostConnected: 1 });
  Object.assign(delivery?.batches[6] ?? {}, { received: 4999, lostConnected: 1 });
};
const missed = (result: Result) => {
  const measured = [{ metric: 'connections.connect_time.p99', value: 12.9, unit: 'ms' }];
  const expression = 'connections.connect_time.p99 < 0.1';
  result.thresholds = [{ expression, met: false, strict: true, found: measured }];
};
const doubted = ({ findings }: Result) =>
  findings.push(finding('MEMORY_GROWS', 'workers grew by 12 MB', { fix: 'look for a leak' }));
const invalid = found('RUN_INCOMPLETE');
const early = set('run', { complete: false, engine: 'socketio-v3' });
const gaveUp = { back: 490, notBack: { 'gave up': 10 }, backMs: { p50: 760, p99: null, all: null } };
const noDrop = { kind: 'restart-redis' as const, stayed: 1000, dropped: 0, back: 0, drops: 0, returns: 0, curve: [] };
const pages = drift(2500, 900);
const quietHeap = drift(10, 50);
const onlyPages = { workerRss: pages, workerHeapUsed: quietHeap };
const inTime = {
  workerRss: { ...pages, perSecond: perSecond(100_000) },
  workerHeapUsed: { ...quietHeap, leaks: true, perSecond: perSecond(98_000) },
};
const unseen = { ...drift(10, 83_558), leaks: null, wouldTell: { connections: 280, bytes: 11_937 } };
const layered = { workerRss: unseen, redisUsedMemory: drift(4345, 123), nginxPss: quietHeap, kernelTcp: unseen };
const messages = { ...resultWithMessages(), delivery: null };
const onlyTimers = structuredClone(messages);
Object.assign(onlyTimers.cpu.worker ?? {}, { clientMicrosecondsPerMessage: null, idlePercent: 10 });
const churn = {
  ...{ kind: 'churn' as const, peaks: [], warmUpReadings: 1 },
  readings: [moment(20, 500, 500), moment(40, 500, 1000), moment(60, 500, 1500)],
};

describe('the ending of a run', () => {
  check(endingText, [
    [
      'answers each question in a sentence',
      () => {},
      [
        ...[/^Passed$/m, /5,000 connections held \(bundled server, tuned; /, /all 12 .*60,000 copies$/m],
        ...[/90 % of copies .*25\.0 ms, half .*12\.5 ms$/m, / 17\.6 KB ± 2 % \(workers 15\.6, proxy 2\.0\)$/m],
        ...[/worker CPU: 0\.520 s .*11\.4 µs .*\(proxy: 0\.210, 3\.1\)$/m, /next limit: 40,000 /],
        ...[/kept up: .*4\.50 ms .*48 % idle$/m, /^Measurement: VALID/m],
      ],
    ],
    [
      'says that nginx and Redis were missing',
      set('run', { profile: 'embedded', missing: ['nginx', 'redis-server'] }),
      [
        /^\S+, embedded · one worker, no proxy: nginx and redis-server not installed · /,
        /held \(bundled server, tuned, one worker, no proxy: nginx and redis-server not installed; /,
      ],
    ],
    ['names the server', withServer('untuned'), [/\(bundled server, untuned; /]],
    ['names no server that nobody knows', set('environment', { server: null }), [/held \(WebSocket-only clients\)/]],
    ['knows the user’s own server here', ofServer({ target: 'http://localhost:3000' }), [/own server on this/]],
    ['and elsewhere', ofServer({ target: 'https://staging.example.com' }), [/own server(?! on this)/]],
    ['counts those that stayed', half, [/2,450 of 5,000 connections held/, /everybody still connected/]],
    ['counts all where a user opens two', several, [/^ *10,000 connections held/m]],
    ['counts the peak where nobody stays', nobodyStays, [/at most 5,000 connections/], /\bheld\b/],
    ['sees a loss, however small', oneLost, [/11 of 12 broadcasts .*\(99\.99 % /, /^Failed: 99\.99 % /m]],
    ['has what was found for a missed threshold', missed, [/^Failed: .*_time\.p99 < 0\.1, found 12\.9 ms$/m]],
    [
      'begins with the doubt and its fix',
      doubted,
      [/^SUSPECT: passed.*: workers grew by 12 MB\n +fix: .* \(MEMORY_GROWS\)$/m],
    ],
    ['has it beside the figure that it is about', doubted, [/KB .*; in doubt: MEMORY_GROWS$/m], /copies .*in doubt/],
    ['claims nothing of an INVALID run', invalid, [/^No result/m, /^Measurement: INVALID/m], /held|KB|limit|arrived/],
    ['says that a run ended early', early, [/INCOMPLETE: .* engine socketio-v3/]],
    ['says that the generator was late', found('GENERATOR_LATE'), [/generator did not keep up: /]],
    ['does not accuse it of a full machine', found('MACHINE_SATURATED'), [], /did not keep up|kept up/],
    [
      'names what was not measured',
      outside(),
      [/held for 20 s/, /: memory, CPU, delivery \(no/],
      /arrived|per conn| CPU:/,
    ],
    ['says where latencies count from', set('latency', { from: 'first receipt' }), [/25\.0 ms .*first copy/]],
    ['has no percentile of few broadcasts', set('delivery', { broadcasts: 6 }), [/half of .*12\.5 ms/]],
    ['has messages in the place of broadcasts', messages, [/all messages .*14\.0 ms/, /42\.5 µs per client message/]],
    ['charges messages with no timer', onlyTimers, [/worker CPU: .*10\.0 % while idle/], /µs per client message/],
    ['has what a planned fault cost', stormy(gaveUp), [/: 500 of 1,000 .* 98\.00 % back, 5\.00 % .*missed/], /memory/],
    ['has a fault that drops nobody', stormy(noDrop), [/Redis restarted: no connection dropped/]],
    ['names the program of a fault', stormy({ kind: 'command', command: 'systemctl' }), [/`systemctl`: 500 of/]],
    ['has waves that leak', waves(), [/3 waves of 5,000 /, /leaks 20\.0 KB per connection/], /memory per connection/],
    ['has growth without a collection', waves({ collected: false }), [/grows by 20\.0 KB .*garbage/], /leaks/],
    ['has waves after which only pages remain', waves({ drift: onlyPages }), [/grows by 2\.4 KB .*heap/], /leaks/],
    ['has a leak that the heap does not show', waves({ drift: inTime }), [/leaks 97\.7 KB\/s/], /per connection \(/],
    ['has a leak of a server without a heap', waves({ drift: { workerRss: pages } }), [/leaks 2\.4 KB per connection/]],
    [
      'says what waves could not show, in each layer',
      waves({ drift: layered, collected: false }),
      [
        /cannot tell below 81\.6 KB per connection that came and went; waves of 280 connections would show 11\.7 KB/,
        ...[
          /Redis used_memory leaks 4\.2 KB per connection/,
          /nginx PSS no leak above 60 B/,
          /TCP buffers cannot tell/,
        ],
      ],
      /no growth/,
    ],
    [
      'excludes no leak by external memory alone',
      waves({ drift: { workerRss: unseen, workerHeapUsed: unseen, workerExternal: quietHeap } }),
      [/cannot tell below 81\.6 KB/],
      /no leak/,
    ],
    [
      'claims no more than the heap shows',
      waves({ drift: { workerRss: unseen, workerHeapUsed: quietHeap } }),
      [/no leak above 60 B .*V8 heap\); Workers RSS cannot tell below 81\.6 KB/],
    ],
    ['has churn', waves(churn), [/5,000 .*at once, 5,000 came/]],
    ['has several hosts', withHosts(0.6, 0.4), [/2 hosts .* 100 .*load-1 .*11\.0 ms.*± 0\.210 ms.*3\.20 ms/]],
  ]);

  it('is at most fourteen lines of 80 columns', () => {
    const lines = endingText(perfectResult(), 80).split('\n');
    assert.ok(lines.length <= 14, lines.join('\n'));
    assert.ok(lines.every((line) => line.length <= 80));
  });
});
