/** What connections send again and again, with real processes and a real server. */
import assert from 'node:assert/strict';
import { after, beforeEach, test } from 'node:test';
import { Fleet } from '../../../plugin/fleet/fleet.ts';
import { decodeHistogram } from '../../../protocol/base/histogram.ts';
import type { ClientKind, Transport } from '../../../protocol/wire/connection.ts';
import { startChat } from '../../helpers/chat-server.ts';
import { fleetSettings } from '../../helpers/fleet.ts';
import { eventually } from '../../helpers/poll.ts';

const DATA = [{ type: 'click', text: 'grüße 🎉' }, { type: 'click' }];
const CONNECTIONS = 10;
let seen: unknown[] = [];

const { url } = await startChat({ after }, (io) => {
  io.on('connection', (socket) => {
    socket.on('batch', (data: unknown, reply: (answer: unknown) => void) => {
      seen.push(data);
      reply(REPLIES[seen.length % REPLIES.length]);
    });
  });
});

/** One in four is an answer without an error. */
const REPLIES = [{ error: 'no', id: 1 }, { ok: false }, new Error('lost'), { received: 2 }];

beforeEach(() => {
  seen = [];
});

async function sending(client: ClientKind, transports: Transport[]) {
  const fleet = await Fleet.start(fleetSettings(url, client, { transports }), 2);
  const message = { namespace: '/', event: 'batch', args: [DATA], periodUs: 200_000, count: 1, acknowledge: true };
  await fleet.messages('measure');
  for (let index = 0; index < CONNECTIONS; index++) {
    const connection = fleet.connection();
    await connection.open('/');
    connection.repeat(message);
  }
  return fleet;
}

/** @returns what there was at the end, when all is answered that ever will be */
async function end(fleet: Fleet) {
  await fleet.messages('stop');
  await eventually('the last acknowledgements', async () => (await fleet.messages('stop')).unanswered === 0);
  const { messages, acks, ackErrors } = await fleet.snapshot();
  await fleet.close();
  const { due, sent, notSent, unasked, acknowledged, unanswered, lost } = messages;
  assert.equal(due, sent + notSent.missed + notSent.disconnected, 'due = sent + not sent');
  assert.equal(sent, unasked + acknowledged + unanswered + lost, 'sent = acknowledged + unanswered + lost');
  return { ...messages, acks, ackErrors };
}

for (const [client, transports] of [
  ['light', ['websocket']],
  ['light', ['polling']],
  ['official', ['websocket']],
] as [ClientKind, Transport[]][]) {
  test(`the ${client} client over ${transports} sends from every connection, and counts every acknowledgement, errors apart`, async () => {
    const fleet = await sending(client, transports);
    await eventually('60 messages', () => seen.length >= 60);
    const { connections, sent, acknowledged, measured, acks, ackErrors } = await end(fleet);
    assert.deepEqual([connections, sent, acknowledged, acks], [CONNECTIONS, seen.length, seen.length, seen.length]);
    for (const one of seen) assert.deepEqual(one, DATA);
    const ack = decodeHistogram(measured.ackUs);
    assert.equal(ack.totalCount, acknowledged);
    assert.ok(ack.minNonZeroValue > 100 && ack.maxValue < 1_000_000, `${ack.minNonZeroValue} to ${ack.maxValue} µs`);
    const of = (rest: number) => seen.filter((_, index) => (index + 1) % REPLIES.length === rest).length;
    assert.deepEqual(ackErrors, { '{"error":"no"}': of(0), '{"ok":false}': of(1), '{}': of(2) });
  });
}
