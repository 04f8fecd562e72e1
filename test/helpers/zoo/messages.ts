/** Servers that acknowledge messages of clients late, never, or too often. */
import assert from 'node:assert/strict';
import type { Socket } from 'socket.io';
import { PacketType } from 'socket.io-parser';
import { FIRST_REPEATED_ACK_ID } from '../../../plugin/fleet/client/client.ts';
import { wasLate } from '../run.ts';
import { CONNECTIONS, type Member } from './member.ts';

const LATE_MS = 300;
const step = {
  every: { seconds: 0.5, emit: { channel: 'event_batch', data: 1 }, acknowledge: true },
};
const options = { hold: 2, drain: { quiet: 0.1, deadline: 1 } };

/** Sends an acknowledgement for a message that the client never sent. */
function acknowledgeNothing(socket: Socket): void {
  const client = socket as unknown as { packet(packet: object): void };
  client.packet({ type: PacketType.ACK, nsp: '/', id: FIRST_REPEATED_ACK_ID + 1e12, data: [] });
}

/** Number of connections to close when they send next. */
let toClose = 0;

export const messages: Member[] = [
  {
    name: 'acknowledges messages of clients after 300 ms, and every fifth of each never',
    habits: () => {
      const counts = new Map<string, number>();
      return {
        batch(ack, _, { id }) {
          const n = (counts.get(id) ?? 0) + 1;
          counts.set(id, n);
          if (n % 5 > 0) setTimeout(ack, LATE_MS);
        },
      };
    },
    ...{ step, options },
    reasons: ['MESSAGES_UNACKNOWLEDGED'],
    check(result) {
      const { messages: found } = result;
      assert.ok(found?.ackMs && found.ackMs.min >= LATE_MS, `${found?.ackMs?.min} ms`);
      const distance = found.sent / 5 - found.unansweredConnected;
      assert.ok(distance >= 0 && distance < CONNECTIONS, `${found.unansweredConnected} of ${found.sent}`);
      assert.equal(found.unansweredDisconnected, 0);
      // The acknowledgement of a connection's last message can still be pending.
      const never = found.skippedByServer.event_batch ?? 0;
      assert.ok(found.unansweredConnected - never <= CONNECTIONS, `${never} of ${found.unansweredConnected}`);
      assert.ok(!result.findings.some(({ code }) => code === 'QUEUE_GROWS'));
      assert.equal(found.notSent.disconnected, 0);
      if (wasLate(result)) return;
      assert.equal(found.notSent.missed, 0);
      // Each connection sends two messages per second, although each acknowledgement arrives after the next message is
      // due.
      const { sent, seconds } = found.window ?? { sent: 0, seconds: 0 };
      assert.ok(Math.abs(sent - 2 * seconds * CONNECTIONS) <= CONNECTIONS, `${sent} messages in ${seconds} s`);
    },
  },
  {
    name: 'acknowledges three messages of clients that were never sent',
    habits: () => ({
      batch(ack, n, socket) {
        ack();
        if (n <= 3) acknowledgeNothing(socket);
      },
    }),
    ...{ step, options },
    reasons: ['MESSAGES_DISAGREE'],
    connections: { unknownAcks: 3 },
    check: ({ messages: found }) => assert.equal(found?.acknowledged, found?.sent),
  },
  {
    name: 'closes three connections instead of acknowledging their messages',
    habits: () => ({
      batch(ack, _n, socket) {
        if (toClose-- > 0) socket.disconnect(true);
        else ack();
      },
    }),
    during: async (run) => {
      await run.reached('hold');
      toClose = 3;
    },
    ...{ step, options: { ...options, hold: 4 } },
    reasons: ['CONNECTIONS_DROPPED'],
    connections: {
      held: CONNECTIONS - 3,
      lost: { 'io server disconnect': 3 },
    },
    delivery: {
      expected: (CONNECTIONS - 3) * 3,
      received: (CONNECTIONS - 3) * 3,
      frames: (CONNECTIONS - 3) * 3,
    },
    check({ messages: found }) {
      assert.equal(found?.unansweredDisconnected, 3);
      assert.ok((found?.notSent.disconnected ?? 0) > 0);
    },
  },
];
