/** Servers that do not send exactly one complete copy to each member in time. */
import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { CONTENT_CHECK_EVERY } from '../../../plugin/fleet/process/ledger/ledger.ts';
import { BROADCASTS, CONNECTIONS, COPIES, type Member } from './member.ts';
import { type Habits, sendTo } from './server.ts';

/** @returns habits that send broadcast `seq` in another way; each member gets the other broadcasts once */
function only(seq: number, send: NonNullable<Habits['send']>): Habits {
  return {
    send: (message, members, others) =>
      message.seq === seq ? send(message, members, others) : sendTo(members, message),
  };
}

/** Holds copies back until the ledger is final. At that time, the run requests a collection. */
function sendAfterFinalizing(count: number): Habits {
  const held: (() => void)[] = [];
  return {
    ...only(BROADCASTS, (message, members) => {
      held.push(() => sendTo(members.slice(0, count), message));
      sendTo(members.slice(count), message);
    }),
    gc: () => held.splice(0).forEach((send) => void send()),
  };
}

const SPREAD_MS = 400;
const AHEAD_US = 1_000_000;
/**
 * A server that needs more time for a broadcast than the interval. It confirms the last broadcasts after the timeout of
 * control requests.
 */
const TOO_SLOW = { needsMs: 160, broadcasts: { count: 120, interval: 0.1 } };

function sendInTurn(): Habits {
  let turn: Promise<unknown> = Promise.resolve();
  return {
    count(_, members) {
      const counted = turn.then(() => delay(TOO_SLOW.needsMs)).then(members);
      turn = counted;
      return counted;
    },
  };
}

export const copies: Member[] = [
  {
    name: 'takes longer for each broadcast than the interval, and delivers all of them',
    habits: sendInTurn,
    options: { broadcasts: TOO_SLOW.broadcasts, drain: { quiet: 0.1 } },
    reasons: ['BROADCASTS_LATE'],
    delivery: {
      expected: CONNECTIONS * TOO_SLOW.broadcasts.count,
      received: CONNECTIONS * TOO_SLOW.broadcasts.count,
      frames: CONNECTIONS * TOO_SLOW.broadcasts.count,
    },
    check({ latency, delivery }) {
      const behindMs = TOO_SLOW.needsMs - TOO_SLOW.broadcasts.interval * 1000;
      const medianMs = (behindMs * TOO_SLOW.broadcasts.count) / 2;
      assert.ok((latency.oneWayMs?.p50 ?? 0) > medianMs * 0.95, `${latency.oneWayMs?.p50} ms`);
      assert.deepEqual([delivery?.broadcasts, delivery?.unconfirmed, delivery?.unknown], [120, 0, 0]);
    },
  },
  {
    name: 'neither sends nor refuses a broadcast',
    habits: () => ({ count: (seq, members) => (seq === 2 ? new Promise(() => {}) : Promise.resolve(members())) }),
    options: { drain: { quiet: 0.1, deadline: 1 } },
    reasons: ['BROADCASTS_UNCONFIRMED'],
    delivery: { expected: COPIES - CONNECTIONS, received: COPIES - CONNECTIONS, frames: COPIES - CONNECTIONS },
    check: ({ delivery }) => assert.deepEqual([delivery?.broadcasts, delivery?.unknown], [BROADCASTS - 1, 1]),
  },
  {
    name: 'sends eight copies before their broadcast is ordered',
    habits: () => ({
      send(message, members) {
        if (message.seq === 1) sendTo(members.slice(0, 8), { ...message, seq: 2 });
        sendTo(message.seq === 2 ? members.slice(8) : members, message);
      },
    }),
    reasons: ['IMPOSSIBLE_REPORT'],
    delivery: { early: 8, reordered: 8 },
  },
  {
    name: 'sends copies twice, to another room, of broadcasts that it invents, unreadable ones, and some too late',
    habits: () => {
      const late = sendAfterFinalizing(4);
      return {
        ...late,
        send(message, members, others) {
          if (message.seq !== 2) return late.send?.(message, members, others);
          sendTo([...members, ...members.slice(0, 4), ...others.slice(0, 6)], message);
          for (const seq of [0, BROADCASTS + 1, 1e9, 2.5]) sendTo(members.slice(0, 3), { ...message, seq });
          const { seq: _, ...unnumbered } = message;
          for (const odd of ['?', null, unnumbered, { ...message, seq: 'two' }]) sendTo(members.slice(0, 2), odd);
        },
      };
    },
    options: { drain: { quiet: 0.1, deadline: 1 } },
    room: '{{ room }}',
    variables: [{ room: 'capacity' }, { room: 'lobby' }],
    reasons: ['COPIES_LOST', 'COPIES_DUPLICATED', 'WRONG_COPIES'],
    delivery: {
      expected: COPIES / 2,
      received: COPIES / 2 - 4,
      lostConnected: 4,
      duplicates: 4,
      notMember: 6,
      unknownBroadcast: 12,
      unreadable: 8,
      late: 4,
      frames: COPIES / 2 + 30,
    },
    check({ delivery }) {
      const each = { fewest: 1, median: 1, most: 1, broadcasts: BROADCASTS };
      assert.partialDeepStrictEqual(delivery?.losses, {
        members: CONNECTIONS / 2,
        losers: 4,
        receivedNone: 0,
        ...each,
      });
    },
  },
  {
    name: 'sends four copies a character too long, and one member alone a copy and then others with another character',
    habits: () => ({
      send(message, members) {
        const { seq, data } = message;
        if (seq === 1) sendTo(members.splice(0, 4), { ...message, data: `${data}x` });
        if (seq !== 2) return sendTo(members, message);
        const [member] = members as [(typeof members)[0]];
        const changed = { ...message, data: `${String(data).slice(0, -1)}?` };
        sendTo([member], message);
        sendTo(Array(CONTENT_CHECK_EVERY).fill(member), changed);
      },
    }),
    options: { drain: { quiet: 0.1, deadline: 1 } },
    reasons: ['COPIES_LOST', 'COPIES_DUPLICATED', 'WRONG_COPIES'],
    delivery: {
      received: COPIES - 4 - (CONNECTIONS - 1),
      lostConnected: 4 + CONNECTIONS - 1,
      wrongSize: 4,
      wrongContent: 1,
      duplicates: CONTENT_CHECK_EVERY - 1,
      frames: COPIES - (CONNECTIONS - 1) + CONTENT_CHECK_EVERY,
    },
  },
  {
    name: 'emits each broadcast twice',
    habits: () => ({
      send(message, members) {
        sendTo(members, message);
        sendTo(members, message);
      },
    }),
    reasons: ['COPIES_DUPLICATED'],
    delivery: { duplicates: COPIES, frames: 2 * COPIES },
    check({ findings }) {
      const [first] = findings.filter(({ about }) => about === 'application' || about === 'deployment');
      assert.match(
        first?.message ?? '',
        /^every copy of 3 broadcasts arrived twice at every connection: the server emits twice$/,
      );
      assert.doesNotMatch(first?.fix ?? '', /own room/);
    },
  },
  {
    name: 'sends parts of the last broadcast after 1.6 s and after 3.5 s',
    habits: () =>
      only(BROADCASTS, (message, members) => {
        sendTo(members.slice(8), message);
        setTimeout(sendTo, 1600, members.slice(0, 4), message);
        setTimeout(sendTo, 3500, members.slice(4, 8), message);
      }),
    reasons: [],
    check: ({ delivery }) => assert.ok((delivery?.batches.at(-1)?.lastMs ?? 0) >= 3490, 'the last copy counts'),
  },
  {
    name: 'takes 400 ms for an uneven fan-out, in which the reference receiver is the first',
    habits: () => ({
      send: (message, members) =>
        members.forEach(
          (member, index) => void setTimeout(sendTo, (index * SPREAD_MS) / (CONNECTIONS - 1), [member], message),
        ),
    }),
    options: { broadcasts: { count: BROADCASTS, interval: 0.6 } },
    reasons: [],
    check({ delivery, latency, findings }) {
      const found = findings.map(({ code }) => code);
      const [late] = findings.filter(({ code }) => code === 'GENERATOR_LATE');
      const isFull = found.includes('MACHINE_SATURATED') || /event loop/.test(late?.message ?? '');
      assert.ok(isFull || !/reference receiver/.test(late?.message ?? ''), 'the generator was not the cause');
      for (const { lastMs } of delivery?.batches ?? []) assert.ok((lastMs ?? 0) >= SPREAD_MS - 5, `last: ${lastMs} ms`);
      assert.ok((latency.oneWayMs?.p50 ?? 0) > SPREAD_MS / 4, 'half of the members wait half of the time');
    },
  },
  {
    name: 'stamps broadcasts with a past time',
    habits: () => ({ stamp: (nowUs) => nowUs - AHEAD_US }),
    reasons: ['IMPOSSIBLE_REPORT'],
    check: ({ findings }) => assert.equal(findings[0]?.code, 'IMPOSSIBLE_REPORT', 'its consequences are explained'),
  },
  {
    name: 'stamps broadcasts with a future time',
    habits: () => ({ stamp: (nowUs) => nowUs + AHEAD_US }),
    reasons: ['IMPOSSIBLE_REPORT'],
    delivery: { early: COPIES },
  },
];
