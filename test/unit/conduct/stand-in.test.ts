/** What stands for the engines of a host that has gone. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { StandIn } from '../../../plugin/conduct/hosts/stand-in.ts';
import type { EngineMessage } from '../../../protocol/link/messages.ts';
import { ENGINE_1, snapshot } from '../../helpers/measurements.ts';

const STATUS = {
  ...{ started: 0, connecting: 0, connected: 0, joined: 0, holding: 0, failed: 0, failures: {}, ended: {} },
  ...{ received: 0, reached: 0, joining: 0, upgrading: 0, away: 0, loopLateMs: 0 },
};

/** @returns the accounts of the host's connections, when its last snapshot and its newer status were these */
function accountsOf(alive: number, pending: number, connected: number | undefined) {
  const standIn = new StandIn(ENGINE_1);
  const { from: _, ...last } = snapshot();
  const accounts = { ...last.accounts, asked: alive + pending, alive, pending };
  standIn.noteReport({ type: 'snapshot', requestId: 1, snapshot: { ...last, accounts } });
  if (connected !== undefined) standIn.noteReport({ type: 'status', status: { ...STATUS, connected } });
  const [answer] = standIn.answer({ type: 'snapshot', requestId: 2 }, 'host lost') as Extract<
    EngineMessage,
    { type: 'snapshot' }
  >[];
  const { asked, failed, ended, ...others } = answer?.snapshot.accounts ?? snapshot().accounts;
  assert.deepEqual([others.alive, others.pending], [0, 0]);
  return [asked, failed['host lost'] ?? 0, ended['host lost'] ?? 0];
}

/** Alive and pending by the snapshot, connected by the status; asked, failed and ended in the end. */
const CASES: Record<string, [Parameters<typeof accountsOf>, number[]]> = {
  'nobody came since': [
    [10, 3, 10],
    [13, 3, 10],
  ],
  'some of the pending came': [
    [10, 3, 12],
    [13, 1, 12],
  ],
  'more came than were pending': [
    [10, 3, 15],
    [15, 0, 15],
  ],
  'some had left': [
    [10, 3, 8],
    [13, 3, 10],
  ],
  'no status came': [
    [10, 3, undefined],
    [13, 3, 10],
  ],
};

for (const [name, [known, expected]] of Object.entries(CASES)) {
  it(`accounts for each connection once where ${name}`, () => {
    const found = accountsOf(...known);
    assert.deepEqual(found, expected);
    assert.equal(found[0], (found[1] ?? 0) + (found[2] ?? 0));
  });
}
