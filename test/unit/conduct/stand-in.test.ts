/** Tests the stand-ins for the engines of a lost host. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { LostEngineStandIn } from '../../../plugin/conduct/hosts/stand-in.ts';
import { ENGINE_1, snapshot } from '../../helpers/measurements.ts';

const STATUS = {
  ...{ others: 0, started: 0, connecting: 0, connected: 0, joined: 0, holding: 0, failed: 0, failures: {}, ended: {} },
  ...{ opened: 0, failedAttempts: 0 },
  ...{ received: 0, reached: 0, joining: 0, upgrading: 0, away: 0, loopLateMs: 0 },
};

/**
 * Cases after a snapshot with 10 open and 3 pending connections. Columns: open connections in the newer status, if any;
 * then expected counts of asked, failed and ended connections.
 */
const CASES: [what: string, connected: number | undefined, ...accounts: number[]][] = [
  ['nothing changed since the snapshot', 10, 13, 3, 10],
  ['some pending connections opened', 12, 13, 1, 12],
  ['more connections opened than were pending', 15, 15, 0, 15],
  ['some connections closed', 8, 13, 3, 10],
  ['the host had never sent its status', undefined, 13, 3, 10],
];

for (const [what, connected, asked, failed = 0, ended = 0] of CASES) {
  it(`the conductor counts each connection of a lost host once if ${what}`, () => {
    const standIn = new LostEngineStandIn(ENGINE_1);
    const { from: _, ...last } = snapshot();
    const accounts = { ...last.accounts, asked: 13, alive: 10, pending: 3 };
    standIn.noteReport({ type: 'snapshot', requestId: 1, snapshot: { ...last, accounts } });
    if (connected !== undefined) standIn.noteReport({ type: 'status', status: { ...STATUS, connected } });
    const [answer] = standIn.answer({ type: 'snapshot', requestId: 2 }, 'host lost');
    const left = answer?.type === 'snapshot' ? answer.snapshot.accounts : assert.fail();
    assert.deepEqual([left.asked, left.alive, left.pending], [asked, 0, 0]);
    assert.deepEqual([left.failed['host lost'] ?? 0, left.ended['host lost'] ?? 0], [failed, ended]);
  });
}
