/** By how much the server's count of the members may differ from the ledger's, to the last connection. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Batch } from '../../../protocol/result/delivery-schema.ts';
import { assertNames, verdictOf, WORKER } from '../../helpers/verdict.ts';

interface Ends {
  disconnects?: Record<string, number>;
  dropped?: number;
}

/** Ten are expected, and all is well unless the broadcast differs. @returns as in `1 of 2` broadcasts */
function disagreeing(batches: Partial<Batch>[], { disconnects = {}, dropped = 0 }: Ends): string | undefined {
  const { findings } = verdictOf(({ delivery, connections }) => {
    const [normal] = delivery?.batches ?? [];
    assert.ok(normal && delivery);
    delivery.batches = batches.map((batch, index) => ({
      ...{ ...normal, seq: index + 1, expected: 10, received: 10, serverMembers: 10 },
      ...batch,
    }));
    const returns = { returned: dropped, recovered: dropped, gaveUp: 0, left: 0, away: 0, awayMs: null };
    Object.assign(connections, { disconnects, reconnection: dropped > 0 ? { dropped, ...returns } : null });
  });
  const problem = findings.find(({ code }) => code === 'MEMBERS_DISAGREE');
  return problem?.message.match(/\d+ of \d+/)?.[0];
}

/** The last is how many disagree; undefined: none does. */
type Case = [what: string, batches: Partial<Batch>[], disagree?: string, ends?: Ends];

function testCases(cases: Case[]): void {
  for (const [what, batches, disagree, ends = {}] of cases) {
    it(`${what}: ${disagree ?? 'agrees'}`, () => assert.equal(disagreeing(batches, ends), disagree));
  }
}

describe('a server that knows of drops before we do', () => {
  const drop = { expected: 10, received: 6 };
  const away = { ...drop, received: 7, missed: 4, resent: 1, lostDisconnected: 3 };

  testCases([
    ['counts nobody who is lost', [{ ...drop, lostDisconnected: 4, serverMembers: 6 }]],
    ['counts one less', [{ ...drop, lostDisconnected: 4, serverMembers: 5 }], '1 of 1'],
    ['lacks one that was connected', [{ ...drop, lostConnected: 4, serverMembers: 9 }], '1 of 1'],
    ['counts nobody who gets the copy when it comes back', [{ missed: 4, resent: 4, serverMembers: 6 }]],
    ['counts one less than those', [{ missed: 4, resent: 4, serverMembers: 5 }], '1 of 1'],
    ['has each that was away once, with its copy or without', [{ ...away, serverMembers: 6 }]],
    ['has one less than that', [{ ...away, serverMembers: 5 }], '1 of 1'],
    ['is short of joins in flight', [{ unexpected: 2, serverMembers: 8 }]],
    ['is short of one more', [{ unexpected: 2, serverMembers: 7 }], '1 of 1'],
  ]);
});

describe('a server that counts some time before it sends', () => {
  const leaving = { justLeft: 3, serverMembers: 13 };
  const fourteen = { ...leaving, serverMembers: 14 };
  const turns = { justJoined: 3, justLeft: 3 };

  testCases([
    ['misses who joined or came back since', [{ justJoined: 3, serverMembers: 7 }]],
    ['misses one more', [{ justJoined: 3, serverMembers: 6 }], '1 of 1'],
    ['misses who joined long ago', [{ justJoined: 3 }, { serverMembers: 7 }], '1 of 2'],
    ['has who left since, each time', [leaving, leaving, leaving]],
    ['has one more', [leaving, fourteen], '1 of 2'],
    ['has one that it noticed late', [{}, fourteen, {}], undefined, { dropped: 4 }],
    ['has some that it never noticed', [leaving, { serverMembers: 13 }], '1 of 2', { dropped: 3 }],
    ['lacks those that took turns', [{ ...turns, serverMembers: 7 }]],
    ['has half of those that took turns', [{ ...turns, serverMembers: 10 }]],
    ['has those that took turns twice', [{ ...turns, serverMembers: 13 }]],
  ]);
});

describe('a server that notices drops later than we do', () => {
  const four = { serverMembers: 14 };
  const well = {};
  const closed = { disconnects: { 'transport close': 3, 'ping timeout': 1 } };
  const joining = (serverMembers: number) => [{ serverMembers, unexpected: 2 }, well];

  testCases([
    ['has them in one count, and not in the next one', [well, four, well], undefined, { dropped: 4 }],
    ['has closed ones, too', [four, well], undefined, closed],
    ['has others each time', [four, well, four, well], undefined, { dropped: 8 }],
    ['has more than dropped', [well, four, well], '1 of 3', { dropped: 3 }],
    ['has some although nobody dropped', [well, four, well], '1 of 3'],
    ['has them at the next broadcast, too', [well, four, four, well], '2 of 4', { dropped: 4 }],
    ['has fewer at the next broadcast', [four, { serverMembers: 11 }], '2 of 2', { dropped: 4 }],
    ['has them for good', [four, four, four], '3 of 3', { dropped: 4 }],
    ['has them at the last one, after which all connections are counted', [well, four], undefined, { dropped: 4 }],
    ['has more at the last one than dropped', [well, four], '1 of 2', { dropped: 3 }],
    ['has joins in flight besides', joining(16), undefined, { dropped: 4 }],
    ['has one more than those', joining(17), '1 of 2', { dropped: 4 }],
  ]);
});

describe('a server', () => {
  testCases([['that counts nobody', [{ serverMembers: null }, { serverMembers: null }]]]);

  it('gets the direction in which its counts differ, and no other cause is named', () => {
    const of = (serverMembers: number, workers = 2, index = 0, lostConnected = 10) =>
      verdictOf(({ delivery }, measured) => {
        const all = [WORKER, { worker: 'w1', pid: 11, instance: 'b' }].slice(0, workers);
        Object.assign(measured, { workersAtStart: all, workersAtEnd: all });
        const batch = { serverMembers, received: 5000 - lostConnected, lostConnected };
        Object.assign(delivery?.batches[index] ?? {}, batch);
      }).findings[0];
    assertNames(of(4990)?.message, ['fewer', 4990, 5000]);
    assert.match(of(4990)?.fix ?? '', /connect all workers by one adapter/);
    assert.match(of(4990, 2, 3)?.fix ?? '', /left the room.*adapter lost a worker/, 'once they had agreed');
    assert.doesNotMatch(of(4990, 1)?.fix ?? '', /adapter/, 'one worker needs none');
    assert.doesNotMatch(of(4990, 2, 0, 0)?.fix ?? '', /adapter|left the room/, 'all members received it');
    assertNames(of(5010)?.message, ['more', 5010, 5000]);
    assert.doesNotMatch(of(5010)?.fix ?? '', /adapter/);
  });
});
