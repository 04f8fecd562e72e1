/** Sums that are correct in every result, whatever the server does. */
import assert from 'node:assert/strict';
import type { Result } from '../../protocol/result/result.ts';

/** Columns of the ledger. Each frame is counted in exactly one of them. */
export const COLUMNS = [
  'received',
  'duplicates',
  'unexpected',
  'notMember',
  'wrongSize',
  'wrongContent',
  'late',
  'unknownBroadcast',
  'unreadable',
] as const satisfies (keyof NonNullable<Result['delivery']>)[];

export const sum = (values: number[]) => values.reduce((total, value) => total + value, 0);

/** Asserts that every sum of connections, messages, broadcasts and hosts is equal to the sum of its parts. */
export function assertFoots({ connections, delivery, messages, generators }: Result, why?: string): void {
  const { asked, opened, held, lost, notOpened, closed } = connections;
  const failedOfHosts = generators.map((host) => host.failed);
  const never = sum(Object.values(notOpened));
  if (generators.length > 0) assert.equal(sum(failedOfHosts), never, why);
  assert.equal(asked, opened + never, why ?? 'asked = opened + never opened');
  if (held !== null)
    assert.equal(opened, held + sum(Object.values(lost)) + (closed ?? 0), why ?? 'opened = held + lost + closed');
  if (generators.length > 0) {
    assert.equal(sum(generators.map((host) => host.connections)), opened, why);
    assert.equal(sum(generators.map((host) => host.held)), held, why);
  }
  if (messages) {
    const { due, sent, notSent, ackNotRequested, acknowledged, unansweredConnected, unansweredDisconnected } = messages;
    assert.equal(due, sent + notSent.missed + notSent.disconnected, 'due = sent + not sent');
    assert.equal(
      sent,
      ackNotRequested + acknowledged + unansweredConnected + unansweredDisconnected,
      'sent = answered or not',
    );
  }
  if (delivery?.source === 'contract') {
    assert.equal(delivery.frames, sum(COLUMNS.map((column) => delivery[column] ?? 0)), 'every frame is in one column');
  }
  for (const { seq, expected, received, lostConnected, lostDisconnected } of delivery?.batches ?? []) {
    assert.equal(expected, received + lostConnected + lostDisconnected, why ?? `broadcast ${seq}`);
  }
}
