/** Tests the detection of a missing adapter: connections of two processes receive different broadcasts. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { batchRows, deliveryFigures } from '../../../plugin/result/delivery/assemble-delivery.ts';
import type { Measurements } from '../../../plugin/run/measurements/measurements.ts';
import { newOwnEvent } from '../../../plugin/run/measurements/own-event-measured.ts';
import { createHistogram, encodeHistogram, recordUs } from '../../../protocol/base/histogram.ts';
import {
  type FrozenBroadcast,
  type LossTotals,
  NO_LOSSES,
  type ReceiptTotals,
} from '../../../protocol/link/ledger-messages.ts';
import { frozenBroadcast, hookConfig, NO_RECEIPTS, sent, snapshot } from '../../helpers/measurements.ts';
import { assertNames, verdictOf } from '../../helpers/verdict.ts';

const part = (received: number, receivers: number): Partial<FrozenBroadcast> => ({
  ...{ expected: 5, received, lostConnected: 5 - received, receivers },
});
const BOTH = [part(3, 77), part(2, 88), part(3, 77), part(2, 88)];

const ONE = [part(3, 77), part(3, 77), part(3, 77)];

interface Known {
  losses?: LossTotals;
  /** Connections of each process, from the kernel's list. */
  held?: number[];
  change?: (measured: Measurements) => void;
  receipts?: Partial<ReceiptTotals>;
  /** Numbers of channels and patterns in Redis. */
  subscribed?: object;
}

/** @param processes number of server processes with connections */
function judged(
  rows: Partial<FrozenBroadcast>[],
  processes: number,
  { losses = NO_LOSSES, held, change, receipts, subscribed }: Known = {},
) {
  return verdictOf((result, measured) => {
    const holdings = held?.map((connections, index) => ({
      ...{ pid: index + 10, command: 'node app.mjs', connections, passesOn: false },
    }));
    const counts = { published: rows.length, seen: rows.length, publishers: 1, holdings };
    measured.ownEvent = { ...newOwnEvent('said', '$.0.id', 'run', true), ...counts };
    measured.sent = rows.map((_, index) => ({ ...sent(index + 1, 0), room: '', expected: null }));
    measured.frozen = rows.map((row, index) => frozenBroadcast(index + 1, [1000, 2000], row));
    const received = measured.frozen.reduce((sum, row) => sum + row.received, 0);
    measured.snapshots = [snapshot({ receipts: { ...NO_RECEIPTS, received, losses, ...receipts } })];
    measured.workersAtStart = measured.workersAtEnd = [];
    change?.(measured);
    result.delivery = deliveryFigures(measured, batchRows(measured), hookConfig());
    const one = { layer: 'worker', command: 'node app.mjs', ports: [3000], role: 'listens' as const, holds: true };
    const list = Array.from({ length: processes }, (_, index) => ({ ...one, pid: index + 10 }));
    result.connections.perWorker = {};
    if (subscribed) result.samples = [{ t: 0, connections: 5, redisServer: subscribed }];
    result.processes = { port: 3000, unseen: null, measured: list, omitted: 0, notCounted: [] };
  });
}

const histogramOf = (values: number[]) => {
  const histogram = createHistogram();
  for (const value of values) recordUs(histogram, value);
  return encodeHistogram(histogram);
};

/**
 * Returns losses of five connections over three broadcasts.
 * @param others lost copies of each connection that received some copies
 */
function spread(losers: number, receivedNone: number, others: number[]): LossTotals {
  const [lost, expected] = [others, Array(losers).fill(3)].map(histogramOf) as [string, string];
  return { ...NO_LOSSES, members: 5, losers, receivedNone, lost, expected };
}

function lostBy(losses: LossTotals) {
  const { findings } = judged([part(3, 77), part(2, 78), part(3, 79)], 1, { losses });
  return findings.find(({ code }) => code === 'COPIES_LOST');
}

describe('connections that start to receive after their join', () => {
  const rising = [part(1, 1), part(2, 2), part(3, 3), part(3, 3), part(3, 3), part(3, 3)];
  const started = (us: number[], unstartedUs: number[]) => ({
    losses: {
      ...spread(us.length + unstartedUs.length, unstartedUs.length, [1, 2]),
      ...{ startedUs: histogramOf(us), unstartedUs: histogramOf(unstartedUs) },
    },
  });

  it('connections that start to receive after their join are late joins, which explain their earlier losses', () => {
    const { findings, codes } = judged(rising, 1, started([12_000_000, 12_010_000], [11_000_000, 9_000_000]));
    assert.deepEqual(codes, ['JOINS_LATE']);
    assertNames(findings[0]?.message, ['2 of 5 connections', '12.0 s after', 'their join is late; 2 others']);
    assertNames(findings[0]?.fix, ['delivery.join']);
  });

  it('reports no late joins if a connection that received nothing had waited for longer', () => {
    const { codes } = judged(rising, 1, started([2_000_000, 2_010_000], [11_000_000, 9_000_000]));
    assert.ok(!codes.includes('JOINS_LATE'), codes.join());
  });

  it('reports no late joins if all connections started to receive at once', () => {
    const { codes } = judged([part(3, 3), part(3, 3), part(3, 3)], 1, started([2_000_000, 2_010_000], []));
    assert.ok(!codes.includes('JOINS_LATE'), codes.join());
  });
});

describe('ids that the server changes', () => {
  const rows = [{ ...part(5, 1), duplicates: 4 }, part(5, 1), part(1, 2), part(5, 1), part(0, 0)];

  it('ids that the server changes are the only cause of missing, duplicate and unknown copies', () => {
    const { findings, codes } = judged(rows, 1, { receipts: { received: 25, unknownBroadcast: 5 } });
    assert.deepEqual(codes, ['IDS_CHANGED']);
    assertNames(findings[0]?.message, ['9 copies are missing', '(4 + 5 = 9)']);
  });

  it('changed ids are not the cause of missing copies if the numbers of missing and unknown copies differ', () => {
    const { codes } = judged(rows, 1, { receipts: { received: 24, unknownBroadcast: 4 } });
    assert.deepEqual(codes, ['COPIES_LOST', 'COPIES_DUPLICATED']);
  });
});

describe('broadcasts that reach separate groups of connections', () => {
  it('broadcasts that reach one of two processes point to a missing adapter, which explains the lost copies', () => {
    const { findings, codes, status } = judged(BOTH, 2);
    assert.deepEqual(codes, ['ADAPTER_MISSING']);
    assertNames(findings[0]?.message, ['each message reaches only the process of its sender', '(3, 2)']);
    assertNames(findings[0]?.fix, ['give the 2 processes an adapter']);
    assert.notEqual(status, 'INVALID');
  });

  it('broadcasts that reach one of two processes point to different adapter settings if Redis has subscribers', () => {
    const { findings } = judged(BOTH, 2, { subscribed: { channels: 4, patterns: 2 } });
    assertNames(findings[0]?.message, ['Redis has 4 channels and 2 patterns with subscribers']);
    assertNames(findings[0]?.fix, ['if each has one, let all use the same Redis, the same key or prefix']);
  });

  it("recognises a missing adapter by the connections of the only publisher's process", () => {
    const { findings, codes } = judged(ONE, 0, { held: [1 + 3, 2] });
    assert.deepEqual(codes, ['ADAPTER_MISSING']);
    assertNames(findings[0]?.message, [
      '3 of 3 broadcasts',
      'the same 3 of 5 connections',
      'process 10 (node app.mjs)',
    ]);
    assertNames(findings[0]?.fix, ['give the 2 processes an adapter']);
  });

  it("recognises a missing adapter by a process's share of the connections if their workers are unknown", () => {
    const [pair, five] = [part(2, 77), { ...part(1, 77), expected: 5, lostConnected: 4 }];
    assert.deepEqual(judged([five, five, five], 5).codes, ['ADAPTER_MISSING']);
    assert.deepEqual(judged([pair, pair, pair], 2).codes, ['ADAPTER_MISSING']);
    assert.deepEqual(judged([pair, pair, pair], 4).codes, ['AUDIENCE_DIFFERS']);
  });

  it('the end of Redis explains broadcasts that reach one process only, and its other consequences', () => {
    const halves = [part(5, 55), part(3, 77), part(3, 77), part(3, 77)];
    const { findings, codes, outcome } = judged(halves, 2, {
      losses: spread(2, 0, [3, 3]),
      change: (measured) => {
        const redis = { pid: 8, layer: 'redis', command: 'redis-server', openFiles: 9, limit: 1024 };
        measured.samplesBeganAtUs = 0;
        measured.endedProcesses = () => [{ ...redis, atUs: 1_500 }];
        const when = { at: 'broadcasts' } as const;
        measured.observations.note('partsChanged', { when, parts: [{ name: 'Redis', layer: 'redis' }], since: 0 });
        measured.observations.note('redisSilent', { when, name: 'Redis', failure: 'refused' });
      },
    });
    assert.deepEqual(codes, ['PROCESS_ENDED']);
    assert.equal(findings[0]?.message, 'Redis (process 8, redis-server) ended at 0.0 s');
    assert.equal(outcome.status, 'FAILED');
  });

  it('reports an interrupted adapter as the cause if earlier broadcasts reached every connection', () => {
    const all = part(5, 99);
    for (const [name, rows, servers, expected] of [
      ['broadcasts incomplete until the end', [all, all, ...ONE], 2, 'ADAPTER_INTERRUPTED'],
      ['broadcasts incomplete for a time', [all, ...ONE, all], 2, 'ADAPTER_INTERRUPTED'],
      ['broadcasts incomplete with publishers at both processes', [all, all, ...BOTH], 2, 'ADAPTER_INTERRUPTED'],
      ['broadcasts incomplete with an unknown number of processes', [all, ...ONE], 0, 'ADAPTER_INTERRUPTED'],
      ['broadcasts incomplete with one process, which needs no adapter', [all, ...ONE], 1, 'COPIES_LOST'],
      ['broadcasts incomplete from the start, when joins may be pending', [...ONE, all], 2, 'COPIES_LOST'],
      ['broadcasts incomplete alternately', [all, ...ONE, all, ...ONE, all], 2, 'COPIES_LOST'],
    ] as const) {
      const { codes, status } = judged([...rows], servers);
      assert.deepEqual(codes, [expected], name);
      assert.notEqual(status, 'INVALID', name);
    }
    const change = (measured: Measurements) => Object.assign(measured, { samplesBeganAtUs: 0 });
    const { findings } = judged([all, ...ONE, all], 0, { held: [4, 2], change });
    assertNames(findings[0]?.message, ['from 0.0 to 0.0 s', '3 of 3 broadcasts', '3 of 5 connections', 'process 10']);
    assertNames(findings[0]?.message, ['2 other broadcasts']);
    assert.doesNotMatch(findings[0]?.fix ?? '', /room/);
    const single = judged([all, ...ONE], 1, { change }).findings[0];
    assertNames(single?.message, ['3 of 4 broadcasts are incomplete (all from 0.0 to 0.0 s)']);
  });

  it('reports different audiences as the cause if groups of receivers match no process', () => {
    const half = { ...part(30, 77), expected: 60, lostConnected: 30 };
    for (const held of [[41, 20], [61], [31]]) {
      const { codes, findings } = judged([half, half, half], 0, { held });
      assert.deepEqual(codes, ['AUDIENCE_DIFFERS'], held.join());
      assert.doesNotMatch(findings[0]?.fix ?? '', /adapter/);
    }
  });

  it('reports which groups receive which broadcasts, without blaming the adapter if there is a single process', () => {
    const found = lostBy(spread(5, 0, [1, 1, 1, 2, 2]));
    assertNames(found?.message, ['3 of 3 broadcasts are incomplete', '40 to 60 %']);
    assertNames(found?.message, ['each of 5 connections lost 1 to 2 (median 1) of 3']);
    assert.match(found?.fix ?? '', /one process/);
    assert.doesNotMatch(found?.fix ?? '', /Redis|nothing/);
  });

  it('reports the connections that receive no broadcast, with a fix for their join', () => {
    const deaf = lostBy(spread(2, 2, []));
    assert.match(deaf?.message ?? '', /; 2 of 5 connections received none of 3$/);
    assertNames(deaf?.fix, ['one process', 'in the room', 'a join that fails']);
    const deafAndLosers = lostBy(spread(4, 1, [1, 1, 1]));
    assertNames(deafAndLosers?.message, ['1 of 5 connections received none of 3, 3 of 5 connections lost 1 of 3']);
    assert.doesNotMatch(deafAndLosers?.fix ?? '', /nothing/);
    assert.partialDeepStrictEqual(
      Object.fromEntries(deafAndLosers?.values?.map(({ name, value }) => [name, value]) ?? []),
      {
        'connections that lost copies': 4,
        'connections that received none': 1,
        'copies lost per other connection (median)': 1,
      },
    );
  });

  it('copies that only some clients receive twice are duplicates if the server emits twice', () => {
    const twice = { expected: 5, received: 5, lostConnected: 0, duplicates: 2 };
    const { findings } = judged([twice, twice, twice], 1);
    const [found] = findings.filter(({ code }) => code === 'COPIES_DUPLICATED');
    assertNames(found?.message, ['2 of 5 clients got every copy twice']);
    assert.doesNotMatch(found?.fix ?? '', /own room/);
  });

  it('reports rooms instead of a missing adapter as the cause if one process holds all connections', () => {
    const { findings, codes } = judged(BOTH, 1);
    assert.deepEqual(codes, ['AUDIENCE_DIFFERS']);
    assertNames(findings[0]?.message, ['2 separate groups of connections (3, 2)']);
    assertNames(findings[0]?.fix, ['delivery.audience']);
  });

  it('reports no missing adapter if groups of receivers overlap, or a broadcast reached every connection', () => {
    const overlapping = [part(3, 77), part(3, 88), part(3, 77), part(3, 88)];
    for (const rows of [overlapping, [...BOTH, part(5, 99)]])
      assert.ok(!judged(rows, 2).codes.includes('ADAPTER_MISSING'));
  });
});
