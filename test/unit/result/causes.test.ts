/** Tests that the run's counts can refute a cause of a finding. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { concludeFigures } from '../../../plugin/findings/conclude.ts';
import { addCauses } from '../../../plugin/findings/find.ts';
import type { Measurements } from '../../../plugin/run/measurements/measurements.ts';
import { SERVER_PROCESSES } from '../../../plugin/run/measurements/observations.ts';
import { newOwnEvent } from '../../../plugin/run/measurements/own-event-measured.ts';
import type { FindingCode } from '../../../protocol/codes/finding-codes.ts';
import type { Result } from '../../../protocol/result/result.ts';
import { standstillValue } from '../../../report/figures/stalls.ts';
import { finding } from '../../helpers/findings.ts';
import { measurements, sent } from '../../helpers/measurements.ts';
import { summaryOf } from '../../helpers/message-figures.ts';
import { perfectResult } from '../../helpers/results.ts';
import { assertNames, type Change, set, WORKER } from '../../helpers/verdict.ts';

const WHEN = { at: 'broadcasts' } as const;
const CUT = { 'transport close': 10 };

function found(...changes: Change[]) {
  const result = perfectResult();
  const measured = measurements({ workersAtStart: [WORKER], workersAtEnd: [WORKER], samplesBeganAtUs: 0 });
  for (const change of changes) change(result, measured);
  return concludeFigures(measured, result).findings;
}

const explains = (cause: FindingCode, effect: FindingCode, ...changes: Change[]) => {
  const findings = found(...changes);
  const codes = findings.map(({ code }) => code);
  assert.ok(codes.includes(cause) && codes.includes(effect), codes.join());
  return findings.find(({ code }) => code === cause)?.explains.includes(effect);
};

const lost =
  (causes: Record<string, number>): Change =>
  ({ connections }) =>
    Object.assign(connections, { lost: causes });
/** Returns a process that ends at this time of the run. Samples use the same clock. */
const ends =
  (seconds: number, layer = 'worker'): Change =>
  (_, measured) => {
    const process = { pid: 99, layer, command: 'node', atUs: seconds * 1e6, openFiles: 5, limit: 1024 };
    measured.endedProcesses = () => [process];
  };
const restarts =
  (t: number, connections: number): Change =>
  (_, { restarts: all }) =>
    all.set('w1', { evidence: 'process 11 became 12', t, connections });
const countedFewer =
  (difference: number): Change =>
  (_, { observations }) => {
    const counts = { counted: 100 - difference, held: 100, all: 101 - difference, own: 1, before: 0, ended: 0 };
    const others = { acceptedOthers: false, acceptedAll: false, servers: undefined, controlled: 1 };
    observations.note('countsDiffer', { when: WHEN, ...counts, ...others });
  };
const LAYERS: Record<string, string> = { Redis: 'redis', nginx: 'nginx' };
const changed =
  (names: string[], since = 0): Change =>
  (_, { observations }) => {
    const parts = names.map((name) => ({ name, layer: LAYERS[name] ?? 'worker' }));
    observations.note('partsChanged', { when: WHEN, parts, since });
  };
/** Returns a run whose broadcast 6, sent at 91.2 s, has missing copies. */
const missing =
  (open: number, closed = 0): Change =>
  ({ delivery }) => {
    const losses = { lostConnected: open, lostDisconnected: closed };
    const batch = delivery?.batches[5];
    if (!delivery || !batch) return;
    Object.assign(batch, losses, { received: batch.expected - open - closed });
    Object.assign(delivery, losses, { received: delivery.expected - open - closed });
  };
/** Returns a run of 5,000 connections, 2,500 on each worker. The given number of them lost copies. */
const lostBy = (losers: number): Change =>
  set('delivery', {
    losses: { members: 5000, losers, receivedNone: 0, ...{ fewest: 1, median: 1, most: 1, broadcasts: 12 } },
  });
const oldStatistics: Change = (_, { observations }) =>
  observations.note('statisticsRepeated', { when: WHEN, workers: ['w0'] });
const pagesShared: Change = (_, { observations }) => observations.note('pagesShared', { pairs: [['/a', '/b']] });
const silentHost: Change = (_, { observations }) => observations.note('hostLost', { host: 'b', why: 'no answer' });
const redisSilent: Change = (_, { observations }) =>
  observations.note('redisSilent', { when: WHEN, name: 'Redis', failure: 'gone' });

/** Returns a run on a saturated machine in which ten connections wait six seconds for a free slot. */
const limited =
  (slowestMs: number, others: number): Change =>
  (result, measured) => {
    machineFull(result, measured);
    const overTime = { intervalSeconds: 1, t: [0, 1, 2, 3, 4, 5, 6, 7], opened: [10, 0, others, others, 0, 0, 0, 10] };
    const quiet = {
      meanMs: overTime.t.map(() => null),
      failed: overTime.t.map(() => 0),
      ended: overTime.t.map(() => 0),
    };
    const slowest = overTime.t.map((t) => (t === 7 ? slowestMs : null));
    Object.assign(result.connections, { overTime: { ...overTime, ...quiet, slowestMs: slowest } });
    Object.assign(result.connections, { achievedRatePerSec: 4, configuredRatePerSec: 7 });
  };
/** Sets the server's response times to the WebSocket upgrade and to the namespace connect, in milliseconds. */
const stages = (upgrade: number, namespace: number) =>
  set('connections', { stagesMs: { upgrade: summaryOf(60, upgrade), namespace: summaryOf(60, namespace) } });
const machineFull: Change = ({ machine, generator }) => {
  Object.assign(machine?.cpuIdlePercent ?? {}, { ramp: 0 });
  for (const loop of generator) Object.assign(loop, { cpuWaitShare: 0.9, delayMaxMs: 10 });
};
const unpublished =
  (publisherEnd: string): Change =>
  (_, measured) => {
    measured.unsent = [{ seq: 1, message: 'its publisher had ended', publisherEnd }];
  };

/** Returns a run in which some connections time out while others succeed within 100 ms. */
const timedOut =
  (cause: string, delayMaxMs = 10): Change =>
  (result, measured) => {
    machineFull(result, measured);
    for (const loop of result.generator) Object.assign(loop, { delayMaxMs, delayP99Ms: 60 });
    Object.assign(result.connections, { failed: 10, failures: { [cause]: 10 }, connectMs: summaryOf(590, 100) });
  };
const redisWaits =
  (t: number): Change =>
  ({ samples }) =>
    void samples.push({ t, connections: 0, redisServer: { outputBufferBytes: 1e8 } });
/** Run with full ledgers that dropped some broadcasts completely. */
const ledgerFull: Change = (_, measured) => {
  measured.ownEvent = { ...newOwnEvent('said', '$.0', 'server', false), published: 20, seen: 20, skipped: 3 };
};

/** Returns a run with ten failed connections, after the server had refused the run's own clients. */
const refusedWith =
  (cause: string, words: string): Change =>
  ({ connections }, { observations }) => {
    const failureExamples = { http_503: 'in maintenance, Retry-After: 7' };
    Object.assign(connections, { failed: 10, failures: { http_503: 10 }, failureExamples });
    observations.note('clientsRefused', { error: words, fix: '', lost: ['warm-up'], cause, words });
  };
const mostFailed: Change = (result, measured) => {
  Object.assign(result.connections, { peak: 2000, failed: 3000, failures: { timeout_namespace: 3000 } });
  measured.observations.note('plateauMoved', { from: 2000, to: 1999 });
};

/** Returns a run whose server stalled, so that all copies arrived together. One broadcast was never confirmed. */
const stalledFor =
  (seconds: number): Change =>
  ({ delivery }, measured) => {
    for (const [index, batch] of (delivery?.batches ?? []).entries()) {
      const [t, firstMs] = [90 + index / 5, 1000 * seconds - 200 * index];
      Object.assign(batch, { t, firstMs, lastMs: firstMs + 1, broadcasts: 1 });
    }
    delivery?.batches.splice(5);
    const order = { room: 'capacity', via: 0, intendedAtUs: 1000, orderedAtUs: 900 };
    measured.unknown.push({ ...order, seq: 6, message: 'no confirmation within 15.0 s' });
    measured.samplesBeganAtUs = 0;
  };
/** Returns a run whose application closed all 60 connections with a code before the broadcasts. */
const nobodyLeft =
  (count: number): Change =>
  (result, measured) => {
    Object.assign(result.connections, { opened: 60, peak: 5, held: 60 - count, lost: { 'transport close': count } });
    Object.assign(result.delivery ?? {}, { received: 0, frames: 0, batches: [] });
    measured.ownEvent = { ...newOwnEvent('said', '$.0', 'run', true), published: 20, seen: 0 };
    measured.sent = [sent(1, 0)];
    measured.observations.note('clientsRefused', { error: 'lost', fix: '', lost: ['warm-up'] });
  };

const CASES: [cause: FindingCode, effect: FindingCode, holds: boolean, what: string, changes: Change[]][] = [
  ['PROCESS_ENDED', 'DEPLOYMENT_CHANGED', false, 'nginx was reloaded', [ends(70), changed(['nginx'])]],
  ['PROCESS_ENDED', 'DEPLOYMENT_CHANGED', false, 'Redis is gone', [ends(70), redisSilent]],
  ['PROCESS_ENDED', 'CONNECTIONS_DROPPED', false, 'only Redis ended', [ends(70, 'redis'), lost(CUT)]],
  [
    'PROCESS_ENDED',
    'WORKERS_DISAGREE',
    true,
    'as many connections were cut off as are missing',
    [ends(70), lost(CUT), countedFewer(10)],
  ],
  [
    'PROCESS_ENDED',
    'WORKERS_DISAGREE',
    false,
    'more connections are missing than were cut off',
    [ends(70), lost(CUT), countedFewer(11)],
  ],
  [
    'PROCESS_ENDED',
    'WORKERS_DISAGREE',
    true,
    'the connections of the process are half-open',
    [restarts(70, 20), countedFewer(20)],
  ],
  [
    'PROCESS_ENDED',
    'WORKERS_DISAGREE',
    false,
    'the process held fewer connections than are missing',
    [restarts(70, 19), countedFewer(20)],
  ],
  ['PROCESS_ENDED', 'COPIES_LOST', true, 'the copies were sent after the process ended', [ends(91), missing(3)]],
  ['PROCESS_ENDED', 'COPIES_LOST', false, 'the copies were sent long before the process ended', [ends(99), missing(3)]],
  [
    'PROCESS_ENDED',
    'COPIES_LOST',
    true,
    'the members that lack copies were cut off',
    [ends(99), lost(CUT), missing(0, 3)],
  ],
  [
    ...(['CONNECTIONS_DROPPED', 'BROADCASTS_NOT_SENT', true, 'the publisher was lost for the same reason'] as const),
    [lost(CUT), unpublished('transport close')],
  ],
  [
    ...(['CONNECTIONS_DROPPED', 'BROADCASTS_NOT_SENT', false, 'the publisher was lost for another reason'] as const),
    [lost(CUT), unpublished('io server disconnect')],
  ],
  ['MACHINE_SATURATED', 'CONNECTIONS_FAILED', true, 'no attempt was answered', [timedOut('timeout_open')]],
  [
    ...(['MACHINE_SATURATED', 'CONNECTIONS_FAILED', false, 'only the answer for the namespace is missing'] as const),
    [timedOut('timeout_namespace')],
  ],
  [
    ...(['MACHINE_SATURATED', 'CONNECTIONS_FAILED', false, 'only an acknowledgement is missing'] as const),
    [timedOut('ack_timeout')],
  ],
  ['MACHINE_SATURATED', 'CONNECTIONS_FAILED', false, 'the server answered', [timedOut('http_503')]],
  ['GENERATOR_LATE', 'CONNECTIONS_FAILED', true, 'no attempt was answered', [timedOut('timeout_open', 5000)]],
  [
    ...(['GENERATOR_LATE', 'CONNECTIONS_FAILED', false, 'only the answer for the namespace is missing'] as const),
    [timedOut('timeout_namespace', 5000)],
  ],
  [
    'CONNECTIONS_DROPPED',
    'DELIVERY_EVENT_MISSING',
    true,
    'no connection was left to receive the event',
    [nobodyLeft(60)],
  ],
  ['CONNECTIONS_DROPPED', 'DELIVERY_EVENT_MISSING', false, 'a connection was left', [nobodyLeft(59)]],
  [
    'CONNECTIONS_DROPPED',
    'CLIENTS_REFUSED',
    true,
    "the run's own clients were lost like all other connections",
    [nobodyLeft(60)],
  ],
  [
    ...([
      'CONNECTIONS_FAILED',
      'CLIENTS_REFUSED',
      true,
      'the server gave the same reason to clients and virtual users',
    ] as const),
    [refusedWith('http_503', 'in maintenance, Retry-After: 20')],
  ],
  [
    ...(['CONNECTIONS_FAILED', 'CLIENTS_REFUSED', false, 'the server gave another reason to virtual users'] as const),
    [refusedWith('http_503', 'no tenant')],
  ],
  ['CONNECTIONS_FAILED', 'PLATEAUS_UNUSABLE', true, 'as many connections failed as are missing', [mostFailed]],
  ['WORKER_STALLED', 'BROADCASTS_UNCONFIRMED', false, 'the worker stalled for a moment', [stalledFor(2)]],
  [
    'REDIS_BEHIND',
    'COPIES_LOST',
    true,
    'output of Redis waited before the copies were sent',
    [redisWaits(90), missing(3)],
  ],
  [
    'REDIS_BEHIND',
    'COPIES_LOST',
    false,
    'output of Redis waited only after the copies were sent',
    [redisWaits(99), missing(3)],
  ],
  [
    ...(['REDIS_BEHIND', 'COPIES_LOST', false, 'fewer connections lack the copies than a worker holds'] as const),
    [redisWaits(90), missing(3), lostBy(2499)],
  ],
  [
    ...(['REDIS_BEHIND', 'COPIES_LOST', true, 'as many connections lack the copies as a worker holds'] as const),
    [redisWaits(90), missing(3), lostBy(2500)],
  ],
  [
    ...(['DEPLOYMENT_CHANGED', 'COPIES_LOST', false, 'only Redis changed, and few connections lack copies'] as const),
    [changed(['Redis'], 90), missing(3), lostBy(3)],
  ],
  [
    ...(['DEPLOYMENT_CHANGED', 'COPIES_LOST', true, 'nginx changed, and few connections lack copies'] as const),
    [changed(['nginx'], 90), missing(3), lostBy(3)],
  ],
  ['IDS_NOT_COUNTED', 'COPIES_LOST', false, 'other connections received the broadcast', [ledgerFull, missing(3)]],
  ['MACHINE_SATURATED', 'RATE_NOT_REACHED', false, 'connects waited for a slot', [limited(6000, 0)]],
  ['MACHINE_SATURATED', 'RATE_NOT_REACHED', true, 'other connections opened meanwhile', [limited(6000, 2)]],
  [
    ...(['MACHINE_SATURATED', 'RATE_NOT_REACHED', false, 'only the answer of the namespace took long'] as const),
    [limited(6000, 2), stages(1, 3400)],
  ],
  ['MACHINE_SATURATED', 'RATE_NOT_REACHED', true, 'all answers took long', [limited(6000, 2), stages(900, 3400)]],
  ['WORKER_STALLED', 'RATE_NOT_REACHED', true, 'connects waited for the same moment', [limited(6000, 0)]],
  ['DEPLOYMENT_CHANGED', 'CONNECTIONS_DROPPED', true, 'nginx closed the connections', [changed(['nginx']), lost(CUT)]],
  ['DEPLOYMENT_CHANGED', 'CONNECTIONS_DROPPED', false, 'only Redis changed', [changed(['Redis']), lost(CUT)]],
  [
    ...(['DEPLOYMENT_CHANGED', 'CONNECTIONS_DROPPED', false, 'the server closed the connections'] as const),
    [changed(['nginx']), lost({ 'io server disconnect': 10 })],
  ],
  [
    'DEPLOYMENT_CHANGED',
    'COPIES_LOST',
    true,
    'the copies were sent after the change',
    [changed(['Redis'], 90), missing(3)],
  ],
  [
    'DEPLOYMENT_CHANGED',
    'COPIES_LOST',
    false,
    'the copies were sent before the change',
    [changed(['Redis'], 99), missing(3)],
  ],
  ['WORKER_URLS_WRONG', 'WORKERS_DISAGREE', true, 'a worker repeats old statistics', [oldStatistics, countedFewer(10)]],
  [
    'WORKER_URLS_WRONG',
    'WORKERS_DISAGREE',
    false,
    'only metrics pages are shared, which count no connections',
    [pagesShared, countedFewer(10)],
  ],
  [
    'GENERATOR_SILENT',
    'COPIES_LOST',
    true,
    'only connections of the silent process lack copies',
    [silentHost, missing(0, 3)],
  ],
  ['GENERATOR_SILENT', 'COPIES_LOST', false, 'clients of other processes lack copies', [silentHost, missing(3)]],
];

describe('a finding and its possible cause', () => {
  for (const [cause, effect, holds, what, changes] of CASES) {
    it(`${cause} ${holds ? 'explains' : 'does not explain'} ${effect} if ${what}`, () => {
      assert.equal(explains(cause, effect, ...changes), holds);
    });
  }
});

it('reports a process that ended once, with the consequences that it explains', () => {
  const findings = found(ends(70), changed([SERVER_PROCESSES]), lost(CUT));
  assert.deepEqual(
    findings.map(({ code, explains }) => [code, explains]),
    [
      ['PROCESS_ENDED', ['CONNECTIONS_DROPPED']],
      ['CONNECTIONS_DROPPED', []],
    ],
  );
  assert.deepEqual(
    found(ends(70, 'redis'), redisSilent).map(({ code }) => code),
    ['PROCESS_ENDED'],
  );
});

it('a run with failed connections is not also SUSPECT for the missing memory', () => {
  const withoutMemory: Change = ({ memory }) => Object.assign(memory, { perConnection: null });
  const codes = found(mostFailed, withoutMemory).map(({ code }) => code);
  assert.deepEqual(
    codes.filter((code) => code === 'PLATEAUS_UNUSABLE'),
    [],
  );
  assert.ok(codes.includes('CONNECTIONS_FAILED'));
});

it('a finding that another finding explains has the same fix as its cause', () => {
  const findings = found(ends(91), missing(3));
  const fixes = ['PROCESS_ENDED', 'COPIES_LOST'].map((code) => findings.find((one) => one.code === code)?.fix);
  assert.match(fixes[0] ?? '', /see its log for what ended it/);
  assert.equal(fixes[1], fixes[0]);
});

it('copies lost in a process that ended are not blamed on the connections or the adapter', () => {
  const [result, measured] = [perfectResult(), measurements()];
  for (const change of [ends(91), missing(3)]) change(result, measured);
  const invalidatedBy = (...codes: FindingCode[]) =>
    addCauses(
      codes.map((code) => finding(code)),
      result,
      measured,
    ).find(({ code }) => code === 'AUDIENCE_DIFFERS')?.invalidates;
  assert.deepEqual(invalidatedBy('AUDIENCE_DIFFERS'), ['delivery']);
  assert.deepEqual(invalidatedBy('PROCESS_ENDED', 'AUDIENCE_DIFFERS'), []);
});

it('a stalled worker explains unconfirmed broadcasts during its stall', () => {
  const stall = { window: 'broadcasts', values: standstillValue(41) };
  const effects = [finding('BROADCASTS_UNCONFIRMED', '', { window: 'broadcasts' }), finding('PROBE_INCOMPLETE')];
  const [cause] = addCauses([finding('WORKER_STALLED', '', stall), ...effects], perfectResult(), measurements());
  assert.deepEqual(cause?.explains, ['BROADCASTS_UNCONFIRMED'], 'not a probe of another time');
});

describe('a worker on another host', () => {
  const silent =
    (isRefused: boolean): Change =>
    (_: Result, measured: Measurements) => {
      measured.silentWorkers = [{ worker: 'w1', isRefused, connections: 10 }];
    };

  it('reports a worker on another host as restarted if its counters reset, with time and connections', () => {
    const [first] = found(restarts(70, 20), lost(CUT));
    assert.deepEqual([first?.code, first?.subject], ['PROCESS_ENDED', 'w1']);
    assertNames(first?.message, ['w1 restarted at 70.0 s', '20 connections', 'process 11 became 12']);
    assert.ok(first?.explains.includes('CONNECTIONS_DROPPED'));
  });

  it('reports a worker on another host as ended if its control port refuses and its clients were cut off', () => {
    const [first] = found(silent(true), lost(CUT));
    assert.equal(first?.code, 'PROCESS_ENDED');
    assertNames(first.message, ['w1 ended', '10 connections']);
  });

  it('does not report a worker on another host as ended if only its control port is unreachable', () => {
    const codes = (...changes: Change[]) => found(...changes).map(({ code }) => code);
    assert.deepEqual(codes(silent(true)), ['DEPLOYMENT_CHANGED']);
    assert.deepEqual(codes(silent(false), lost(CUT)), ['DEPLOYMENT_CHANGED', 'CONNECTIONS_DROPPED']);
  });
});
