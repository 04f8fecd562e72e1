/**
 * Tests the allowed difference between the server's count of members and the ledger's count, exactly to a connection.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { BroadcastBatch } from '../../../protocol/result/delivery-schema.ts';
import { assertNames, verdictOf, WORKER } from '../../helpers/verdict.ts';

interface Ends {
  disconnects?: Record<string, number>;
  dropped?: number;
}

/**
 * Returns how many broadcasts disagree, such as `1 of 2`. Ten members are expected, and counts agree unless given
 * otherwise.
 */
function disagreeing(batches: Partial<BroadcastBatch>[], { disconnects = {}, dropped = 0 }: Ends): string | undefined {
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

/** Case of a disagreement. `disagree` is the number of broadcasts that disagree; undefined for none. */
type Case = [what: string, batches: Partial<BroadcastBatch>[], disagree?: string, ends?: Ends];

function testCases(cases: Case[]): void {
  for (const [what, batches, disagree, ends = {}] of cases) {
    it(`the server's member count ${what}: ${disagree ?? 'agrees'}`, () =>
      assert.equal(disagreeing(batches, ends), disagree));
  }
}

describe('a server that notices drops before the clients do', () => {
  const drop = { expected: 10, received: 6 };
  const reconnected = { ...drop, received: 7, missed: 4, resent: 1, lostDisconnected: 3 };

  testCases([
    ['excludes all connections that are lost', [{ ...drop, lostDisconnected: 4, serverMembers: 6 }]],
    ['counts one connection less than are connected', [{ ...drop, lostDisconnected: 4, serverMembers: 5 }], '1 of 1'],
    ['lacks one connection that was connected', [{ ...drop, lostConnected: 4, serverMembers: 9 }], '1 of 1'],
    ['excludes members that get the copy when they reconnect', [{ missed: 4, resent: 4, serverMembers: 6 }]],
    ['lacks one member more than reconnect', [{ missed: 4, resent: 4, serverMembers: 5 }], '1 of 1'],
    ['includes each member that was away once, with or without its copy', [{ ...reconnected, serverMembers: 6 }]],
    ['lacks one of the members that were away', [{ ...reconnected, serverMembers: 5 }], '1 of 1'],
    ['lacks the joins in flight', [{ unexpected: 2, serverMembers: 8 }]],
    ['lacks one member more than the joins in flight', [{ unexpected: 2, serverMembers: 7 }], '1 of 1'],
  ]);
});

describe('a server that counts some time before it sends', () => {
  const leaving = { justLeft: 3, serverMembers: 13 };
  const fourteen = { ...leaving, serverMembers: 14 };
  const turns = { justJoined: 3, justLeft: 3 };

  testCases([
    ['lacks members that joined or reconnected since', [{ justJoined: 3, serverMembers: 7 }]],
    ['lacks one member more than joined or reconnected', [{ justJoined: 3, serverMembers: 6 }], '1 of 1'],
    ['lacks members that joined long ago', [{ justJoined: 3 }, { serverMembers: 7 }], '1 of 2'],
    ['includes members that left since, each time', [leaving, leaving, leaving]],
    ['includes one member more than left', [leaving, fourteen], '1 of 2'],
    ['includes one member that it noticed late', [{}, fourteen, {}], undefined, { dropped: 4 }],
    ['includes some members whose drop it never noticed', [leaving, { serverMembers: 13 }], '1 of 2', { dropped: 3 }],
    ['lacks members that joined and left alternately', [{ ...turns, serverMembers: 7 }]],
    ['includes half of the members that joined and left alternately', [{ ...turns, serverMembers: 10 }]],
    ['counts members twice that joined and left alternately', [{ ...turns, serverMembers: 13 }]],
  ]);
});

describe('a server that notices drops later than the clients do', () => {
  const four = { serverMembers: 14 };
  const well = {};
  const closed = { disconnects: { 'transport close': 3, 'ping timeout': 1 } };
  const joining = (serverMembers: number) => [{ serverMembers, unexpected: 2 }, well];

  testCases([
    ['includes dropped connections once, but not at the next broadcast', [well, four, well], undefined, { dropped: 4 }],
    ['includes closed connections once', [four, well], undefined, closed],
    ['includes different dropped connections each time', [four, well, four, well], undefined, { dropped: 8 }],
    ['includes more connections than dropped', [well, four, well], '1 of 3', { dropped: 3 }],
    ['includes more connections although none dropped', [well, four, well], '1 of 3'],
    ['includes dropped connections at two broadcasts in a row', [well, four, four, well], '2 of 4', { dropped: 4 }],
    ['lacks connections at the next broadcast', [four, { serverMembers: 11 }], '2 of 2', { dropped: 4 }],
    ['includes dropped connections for good', [four, four, four], '3 of 3', { dropped: 4 }],
    ['includes dropped connections at the last broadcast', [well, four], undefined, { dropped: 4 }],
    ['includes more connections at the last broadcast than dropped', [well, four], '1 of 2', { dropped: 3 }],
    ['includes joins in flight and dropped connections', joining(16), undefined, { dropped: 4 }],
    ['includes one more than joins in flight and dropped connections', joining(17), '1 of 2', { dropped: 4 }],
  ]);
});

describe('a server', () => {
  testCases([['is missing', [{ serverMembers: null }, { serverMembers: null }]]]);

  it("reports whether a server's wrong member count is too high or too low", () => {
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
