/** Servers that close connections or delay them. */
import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import type { Socket } from 'socket.io';
import { eventually } from '../poll.ts';
import { assertNames } from '../verdict.ts';
import { BROADCASTS, CONNECTIONS, COPIES, type Member } from './member.ts';
import { sendTo } from './server.ts';

const FREEZE_MS = 1500;
const STAGES_MS = { upgrade: 50, open: 100, namespace: 150 };

/** Returns the figures after the server has closed `count` connections. */
function closedBy(count: number): Member['connections'] {
  return {
    held: CONNECTIONS - count,
    lost: { 'io server disconnect': count },
  };
}

export const connections: Member[] = [
  { name: 'keeps the contract', reasons: [] },
  {
    name: 'closes every fourth connection at once, and another fourth after 20 ms',
    habits: () => ({
      connected(socket, n) {
        if (n % 4 === 1) socket.disconnect(true);
        // Never closes the last connection. Its close would raise the peak if a sample falls into these 20 ms.
        if (n % 4 === 2) setTimeout(() => socket.disconnect(true), 20);
      },
    }),
    reasons: ['CONNECTIONS_DROPPED'],
    connections: { ...closedBy(10), peak: 10 },
    delivery: { expected: COPIES / 2, received: COPIES / 2, frames: COPIES / 2 },
    check: ({ delivery }) => assert.deepEqual([delivery?.coverage, delivery?.coverageOfTarget], [1, 0.5]),
  },
  {
    name: 'refuses every fifth connection',
    habits: () => ({ admit: (n) => n % 5 !== 0 }),
    reasons: ['CONNECTIONS_FAILED'],
    connections: { peak: 16, opened: 16, held: 16, failed: 4, failures: { http_400: 4 } },
    delivery: { expected: COPIES - 12, received: COPIES - 12, frames: COPIES - 12 },
  },
  {
    name: 'counts the members while four are disconnected, and sends when they are back',
    habits: () => {
      const load: Socket[] = [];
      return {
        connected: (socket) => void load.push(socket),
        async count(seq, members) {
          const before = members();
          if (seq !== 2 || load.length === 0) return before;
          for (const { conn } of load.splice(0, 4)) conn.close();
          await eventually('four are disconnected', () => members() === before - 4);
          await eventually('all are back', () => members() === before);
          return before - 4;
        },
      };
    },
    config: { engines: { 'socketio-capacity': { reconnection: { delay: 0.2 } } } },
    options: { broadcasts: { count: BROADCASTS, interval: 1 } },
    reasons: ['CONNECTIONS_DROPPED'],
    check({ connections, delivery }) {
      const { serverMembers, justJoined, justLeft } = delivery?.batches[1] ?? {};
      assert.deepEqual([serverMembers, justJoined, justLeft], [CONNECTIONS - 4, 4, 4]);
      const { awayMs, ...counts } = connections.reconnection ?? {};
      assert.deepEqual(counts, { dropped: 4, returned: 4, recovered: 0, gaveUp: 0, left: 0, away: 0 });
      assert.equal(awayMs?.count, 4);
      assert.equal(delivery?.coverageOfTarget, 1, 'they have joined again');
    },
  },
  {
    name: 'closes four connections while all are idle, and three more instead of sending them the second broadcast',
    habits: () => ({
      send(message, members) {
        const closedSockets = message.seq === 2 ? members.splice(0, 3) : [];
        for (const socket of closedSockets) socket.disconnect(true);
        sendTo(members, message);
      },
    }),
    options: { hold: 3 },
    async during(run, { load }) {
      await run.reached('hold');
      for (const socket of load.slice(0, 4)) socket.disconnect(true);
    },
    reasons: ['CONNECTIONS_DROPPED'],
    connections: closedBy(7),
    delivery: {
      expected: COPIES - 12 - 3,
      received: COPIES - 12 - 6,
      lostDisconnected: 3,
      frames: COPIES - 12 - 6,
    },
    check({ delivery, findings }) {
      assert.equal(delivery?.coverageOfTarget, (COPIES - 12 - 6) / COPIES);
      const dropped = findings.find(({ code }) => code === 'CONNECTIONS_DROPPED');
      assertNames(dropped?.message, [7, CONNECTIONS]);
    },
  },
  {
    name: 'delays the upgrade, Engine.IO’s open packet and the namespace by a time of their own',
    habits: () => ({
      admit: () => delay(STAGES_MS.upgrade),
      prepare(io) {
        let ids = 0;
        io.engine.generateId = () => delay(STAGES_MS.open, `${++ids}`) as unknown as string;
        io.use((_socket, next) => void setTimeout(next, STAGES_MS.namespace));
      },
    }),
    reasons: [],
    check({ connections: { connectMs, stagesMs } }) {
      const stages = Object.entries(stagesMs).filter(([stage]) => stage !== 'total');
      assert.deepEqual(
        stages.map(([stage, summary]) => [stage, summary?.count]),
        ['tcp', 'upgrade', 'open', 'namespace'].map((stage) => [stage, CONNECTIONS]),
      );
      for (const [stage, ms] of Object.entries(STAGES_MS)) {
        const { min = 0 } = Object.fromEntries(stages)[stage] ?? {};
        // On a slow machine, the end of the previous stage is noticed late.
        assert.ok(min >= ms / 2, `${stage}: ${min} ms`);
      }
      const together = stages.reduce((sum, [, summary]) => sum + (summary?.mean ?? 0), 0);
      // On a busy machine, the client can wait between two stages.
      const mean = connectMs?.mean ?? 0;
      assert.ok(together <= mean + 0.01 && together > mean * 0.95, `${together} ms in ${mean} ms`);
    },
  },
  {
    name: 'freezes for 1.5 s in the middle of a ramp',
    habits: () => {
      let thaw: Promise<void> | undefined;
      return {
        admit(n) {
          if (n === 3) thaw = delay(FREEZE_MS);
          return thaw;
        },
      };
    },
    config: {
      phases: [
        { duration: 3, arrivalRate: 5, rampTo: 5 },
        { pause: 0.1 },
        { duration: 1, arrivalRate: 5, rampTo: 5 },
        { pause: 0.1 },
      ],
    },
    reasons: [],
    check({ connections: { achievedRatePerSec, configuredRatePerSec, connectMs } }) {
      assert.equal(configuredRatePerSec, 5);
      assert.ok((achievedRatePerSec ?? 0) <= 5, `${achievedRatePerSec}/s of 5/s`);
      assert.ok((connectMs?.max ?? 0) >= FREEZE_MS * 0.9, 'the connect times show the freeze');
    },
  },
];
