/** By how much the server's count of the members may differ from the ledger's, to the last connection. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Batch } from '../../../protocol/result/delivery.ts';
import { assertNames, verdictOf } from '../../helpers/verdict.ts';

/** Ten are expected, and all is well unless the broadcast differs. */
function disagreeing(batches: Partial<Batch>[], { disconnects = {}, dropped = 0 } = {}): string | undefined {
  const { reasons } = verdictOf(({ delivery, connections }) => {
    const [normal] = delivery?.batches ?? [];
    assert.ok(normal && delivery);
    delivery.batches = batches.map((batch, index) => ({
      ...{ ...normal, seq: index + 1, expected: 10, received: 10, serverMembers: 10 },
      ...batch,
    }));
    const returns = { returned: dropped, recovered: dropped, gaveUp: 0, left: 0, away: 0, awayMs: null };
    Object.assign(connections, { disconnects, reconnection: dropped > 0 ? { dropped, ...returns } : null });
  });
  const problem = reasons.find(({ code }) => code === 'MEMBERS_DISAGREE');
  return problem?.message.match(/\d+ of \d+/)?.[0];
}

describe('a server that knows of drops before we do', () => {
  const drop = { expected: 10, received: 6 };

  it('counts nobody who is lost, and nobody more than that less', () => {
    assert.equal(disagreeing([{ ...drop, lostDisconnected: 4, serverMembers: 6 }]), undefined);
    assert.equal(disagreeing([{ ...drop, lostDisconnected: 4, serverMembers: 5 }]), '1 of 1');
    assert.equal(disagreeing([{ ...drop, lostConnected: 4, serverMembers: 9 }]), '1 of 1', 'they were connected');
  });

  it('counts nobody who gets the copy when it comes back', () => {
    assert.equal(disagreeing([{ missed: 4, resent: 4, serverMembers: 6 }]), undefined);
    assert.equal(disagreeing([{ missed: 4, resent: 4, serverMembers: 5 }]), '1 of 1');
  });

  it('has each of those who were away once, whether it got its copy or not', () => {
    const away = { ...drop, received: 7, missed: 4, resent: 1, lostDisconnected: 3 };
    assert.equal(disagreeing([{ ...away, serverMembers: 6 }]), undefined);
    assert.equal(disagreeing([{ ...away, serverMembers: 5 }]), '1 of 1');
  });

  it('may be short of joins in flight', () => {
    assert.equal(disagreeing([{ unexpected: 2, serverMembers: 8 }]), undefined);
    assert.equal(disagreeing([{ unexpected: 2, serverMembers: 7 }]), '1 of 1');
  });
});

describe('a server that counts some time before it sends', () => {
  it('misses who joined or came back since, and nobody else', () => {
    assert.equal(disagreeing([{ justJoined: 3, serverMembers: 7 }]), undefined);
    assert.equal(disagreeing([{ justJoined: 3, serverMembers: 6 }]), '1 of 1');
    assert.equal(disagreeing([{ justJoined: 3 }, { serverMembers: 7 }]), '1 of 2', 'long ago');
  });

  it('has who left since, each time', () => {
    const leaving = { justLeft: 3, serverMembers: 13 };
    assert.equal(disagreeing([leaving, leaving, leaving]), undefined);
    assert.equal(disagreeing([leaving, { ...leaving, serverMembers: 14 }]), '1 of 2');
    assert.equal(disagreeing([{}, { ...leaving, serverMembers: 14 }, {}], { dropped: 4 }), undefined, 'noticed late');
    assert.equal(disagreeing([leaving, { serverMembers: 13 }], { dropped: 3 }), '1 of 2', 'never noticed');
  });

  it('may have either of those that took turns', () => {
    for (const serverMembers of [7, 10, 13]) {
      assert.equal(disagreeing([{ justJoined: 3, justLeft: 3, serverMembers }]), undefined);
    }
  });
});

describe('a server that notices drops later than we do', () => {
  const four = { serverMembers: 14 };
  const well = {};

  it('has them in one count, and not in the next one', () => {
    assert.equal(disagreeing([well, four, well], { dropped: 4 }), undefined);
    assert.equal(disagreeing([four, well], { disconnects: { 'transport close': 3, 'ping timeout': 1 } }), undefined);
    assert.equal(disagreeing([four, well, four, well], { dropped: 8 }), undefined, 'each time others');
  });

  it('counts too many if there were fewer drops', () => {
    assert.equal(disagreeing([well, four, well], { dropped: 3 }), '1 of 3');
    assert.equal(disagreeing([well, four, well]), '1 of 3', 'nobody has dropped');
  });

  it('counts too many if they are still there at the next broadcast', () => {
    assert.equal(disagreeing([well, four, four, well], { dropped: 4 }), '2 of 4');
    assert.equal(disagreeing([four, { serverMembers: 11 }], { dropped: 4 }), '2 of 2', 'even if they are fewer');
    assert.equal(disagreeing([four, four, four], { dropped: 4 }), '3 of 3');
  });

  it('is asked once more after the last broadcast, by the count of all connections', () => {
    assert.equal(disagreeing([well, four], { dropped: 4 }), undefined);
    assert.equal(disagreeing([well, four], { dropped: 3 }), '1 of 2');
  });

  it('has joins in flight besides', () => {
    assert.equal(disagreeing([{ serverMembers: 16, unexpected: 2 }, well], { dropped: 4 }), undefined);
    assert.equal(disagreeing([{ serverMembers: 17, unexpected: 2 }, well], { dropped: 4 }), '1 of 2');
  });
});

it('a server that counts nobody disagrees with nobody', () => {
  assert.equal(disagreeing([{ serverMembers: null }, { serverMembers: null }]), undefined);
});

it('says in which direction the counts differ, and accuses nobody else', () => {
  const of = (serverMembers: number) =>
    verdictOf(({ delivery }) => Object.assign(delivery?.batches[0] ?? {}, { serverMembers })).reasons[0];
  assertNames(of(4990)?.message, ['fewer', 4990, 5000]);
  assert.match(of(4990)?.fix ?? '', /adapter/);
  assertNames(of(5010)?.message, ['more', 5010, 5000]);
  assert.doesNotMatch(of(5010)?.fix ?? '', /adapter/);
});
