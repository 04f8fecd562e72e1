/** Two processes without an adapter: their connections get separate broadcasts. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { batchRows, deliveryFigures } from '../../../plugin/result/delivery/delivery.ts';
import { newOwnEvent } from '../../../plugin/run/measurements/own-event.ts';
import type { FrozenBroadcast } from '../../../protocol/link/ledger.ts';
import { frozenBroadcast, hookConfig, NO_RECEIPTS, sent, snapshot } from '../../helpers/measurements.ts';
import { assertNames, verdictOf } from '../../helpers/verdict.ts';

const part = (received: number, receivers: number): Partial<FrozenBroadcast> => ({
  ...{ expected: 5, received, lostConnected: 5 - received, receivers },
});
const BOTH = [part(3, 77), part(2, 88), part(3, 77), part(2, 88)];

/** @param processes of the server, that hold connections */
function judged(rows: Partial<FrozenBroadcast>[], processes: number) {
  return verdictOf((result, measured) => {
    measured.ownEvent = { ...newOwnEvent('said', '$.0.id', 'run', true), published: rows.length, seen: rows.length };
    measured.sent = rows.map((_, index) => ({ ...sent(index + 1, 0), room: '', expected: null }));
    measured.frozen = rows.map((row, index) => frozenBroadcast(index + 1, [1000, 2000], row));
    const received = measured.frozen.reduce((sum, row) => sum + row.received, 0);
    measured.snapshots = [snapshot({ receipts: { ...NO_RECEIPTS, received } })];
    measured.workersAtStart = measured.workersAtEnd = [];
    result.delivery = deliveryFigures(measured, batchRows(measured), hookConfig());
    const one = { layer: 'worker', command: 'node app.mjs', ports: [3000], role: 'listens' as const, holds: true };
    const list = Array.from({ length: processes }, (_, index) => ({ ...one, pid: index + 10 }));
    result.processes = { port: 3000, unseen: null, measured: list, omitted: 0, notCounted: [] };
  });
}

describe('broadcasts that reach separate groups of connections', () => {
  it('show two processes without an adapter, which explains the lost copies', () => {
    const { findings, codes, status } = judged(BOTH, 2);
    assert.deepEqual(codes, ['ADAPTER_MISSING']);
    assertNames(findings[0]?.message, ['each message reaches only the process of its sender', '(3, 2)']);
    assertNames(findings[0]?.fix, ['give the 2 processes an adapter']);
    assert.notEqual(status, 'INVALID');
  });

  it('name the pattern and the single process where copies are missing', () => {
    const { findings } = judged([part(3, 77), part(2, 78), part(3, 79)], 1);
    const [found] = findings.filter(({ code }) => code === 'COPIES_LOST');
    assertNames(found?.message, ['3 of 3 broadcasts are incomplete', '40 to 60 %', 'missed by other connections']);
    assert.match(found?.fix ?? '', /one process/);
    assert.doesNotMatch(found?.fix ?? '', /Redis/);
  });

  it('show a server that emits twice to some of its clients', () => {
    const twice = { expected: 5, received: 5, lostConnected: 0, duplicates: 2 };
    const { findings } = judged([twice, twice, twice], 1);
    const [found] = findings.filter(({ code }) => code === 'COPIES_DUPLICATED');
    assertNames(found?.message, ['2 of 5 clients got every copy twice']);
    assert.doesNotMatch(found?.fix ?? '', /own room/);
  });

  it('show rooms, where a single process holds all connections', () => {
    const { findings, codes } = judged(BOTH, 1);
    assert.deepEqual(codes, ['AUDIENCE_DIFFERS']);
    assertNames(findings[0]?.message, ['2 separate groups of connections (3, 2)']);
    assertNames(findings[0]?.fix, ['delivery.audience']);
  });

  it('show nothing of the kind where groups overlap, or where a broadcast reached everybody', () => {
    const overlapping = [part(3, 77), part(3, 88), part(3, 77), part(3, 88)];
    for (const rows of [overlapping, [...BOTH, part(5, 99)]])
      assert.ok(!judged(rows, 2).codes.includes('ADAPTER_MISSING'));
  });
});
