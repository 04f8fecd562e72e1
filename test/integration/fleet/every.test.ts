/** What connections send again and again, with real processes and a real server. */
import assert from 'node:assert/strict';
import { after, beforeEach, suite, test } from 'node:test';
import type { RepeatedMessage } from '../../../plugin/fleet/client/repeated-message.ts';
import { Fleet } from '../../../plugin/fleet/fleet.ts';
import { decodeHistogram } from '../../../protocol/base/histogram.ts';
import type { ClientKind, Transport } from '../../../protocol/wire/connection.ts';
import { startChat } from '../../helpers/chat-server.ts';
import { fleetSettings } from '../../helpers/fleet.ts';
import { eventually } from '../../helpers/poll.ts';

type Answer = (...args: unknown[]) => void;

const DATA = [{ type: 'click', text: 'grüße 🎉' }, { type: 'click' }];
let seen: { namespace: string; args: unknown[] }[] = [];

const { url } = await startChat({ after }, (io) => {
  for (const namespace of ['/', '/chat']) {
    io.of(namespace).on('connection', (socket) => {
      socket.onAny((_event, ...args) => {
        const reply = typeof args.at(-1) === 'function' ? (args.pop() as Answer) : () => {};
        seen.push({ namespace, args });
        reply(replyTo(seen.length));
      });
    });
  }
});

let replyTo: (message: number) => unknown;

beforeEach(() => {
  seen = [];
  replyTo = () => ({ received: 2 });
});

async function sending(
  client: ClientKind,
  transports: Transport[],
  changes: Partial<RepeatedMessage> = {},
  connections = 10,
) {
  const fleet = await Fleet.start(fleetSettings(url, client, { transports }), 2);
  const message = { namespace: '/', event: 'batch', args: [DATA], periodUs: 200_000, count: 1, acknowledge: true };
  const repeated = { ...message, ...changes };
  await fleet.messages('measure');
  for (let index = 0; index < connections; index++) {
    const connection = fleet.connection();
    await connection.open(repeated.namespace);
    connection.repeat(repeated);
  }
  return fleet;
}

/** @returns what there was at the end, when all is answered that ever will be */
async function end(fleet: Fleet) {
  await fleet.messages('stop');
  await eventually('the last acknowledgements', async () => (await fleet.messages('stop')).unanswered === 0);
  const { messages, unknownAcks } = await fleet.snapshot();
  await fleet.close();
  const { due, sent, notSent, unasked, acknowledged, lost } = messages;
  assert.equal(due, sent + notSent.missed + notSent.disconnected, 'due = sent + not sent');
  assert.equal(sent, unasked + acknowledged + messages.unanswered + lost, 'sent = acknowledged + unanswered + lost');
  return { ...messages, unknownAcks };
}

for (const [client, transports] of [
  ['light', ['websocket']],
  ['light', ['polling']],
  ['official', ['websocket']],
] as [ClientKind, Transport[]][]) {
  suite(`the ${client} client over ${transports}`, () => {
    test('sends the message from every connection, and times every acknowledgement', async () => {
      const fleet = await sending(client, transports);
      await eventually('60 messages', () => seen.length >= 60);
      const { connections, sent, acknowledged, measured } = await end(fleet);
      assert.equal(connections, 10);
      assert.deepEqual([sent, acknowledged], [seen.length, seen.length]);
      for (const one of seen) assert.deepEqual(one, { namespace: '/', args: [DATA] });
      const ack = decodeHistogram(measured.ackUs);
      assert.equal(ack.totalCount, acknowledged);
      assert.ok(ack.minNonZeroValue > 100 && ack.maxValue < 1_000_000, `${ack.minNonZeroValue} to ${ack.maxValue} µs`);
    });

    test('counts acknowledgements that carry an error, by its words', async () => {
      const errors = [{ error: 'no', id: 1 }, { ok: false }, new Error('lost')];
      replyTo = (message) => errors[message % 4] ?? { ok: true };
      const fleet = await sending(client, transports);
      await eventually('60 messages', () => seen.length >= 60);
      await fleet.messages('stop');
      await eventually('the last acknowledgements', async () => (await fleet.messages('stop')).unanswered === 0);
      const { acks, ackErrors } = await fleet.snapshot();
      await fleet.close();
      const of = (rest: number) => seen.filter((_, index) => (index + 1) % 4 === rest).length;
      assert.equal(acks, seen.length);
      assert.deepEqual(ackErrors, { '{"error":"no"}': of(0), '{"ok":false}': of(1), '{}': of(2) });
    });
  });
}
