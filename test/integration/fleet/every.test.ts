/** Tests repeated messages of connections, with real processes and a real server. */
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
let batches: unknown[] = [];

const { url } = await startChat({ after }, (io) => {
  io.on('connection', (socket) => {
    socket.on('batch', (data: unknown, reply: (answer: unknown) => void) => {
      batches.push(data);
      reply(REPLIES[batches.length % REPLIES.length]);
    });
  });
});

/** Replies of the server. Three of the four are errors. */
const REPLIES = [{ error: 'no', id: 1 }, { ok: false }, new Error('lost'), { received: 2 }];

beforeEach(() => {
  batches = [];
});

async function startSending(client: ClientKind, transports: Transport[]) {
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

/**
 * Stops sending.
 * @returns the counts when no acknowledgement is pending
 */
async function stopSending(fleet: Fleet) {
  await fleet.messages('stop');
  await eventually('the last acknowledgements', async () => (await fleet.messages('stop')).unanswered === 0);
  const { messages, acks, ackErrors } = await fleet.snapshot();
  await fleet.close();
  const { due, sent, notSent, ackNotRequested, acknowledged, unanswered, lost } = messages;
  assert.equal(due, sent + notSent.missed + notSent.disconnected, 'due = sent + not sent');
  assert.equal(sent, ackNotRequested + acknowledged + unanswered + lost, 'sent = acknowledged + unanswered + lost');
  return { ...messages, acks, ackErrors };
}

for (const [client, transports] of [
  ['light', ['websocket']],
  ['light', ['polling']],
  ['official', ['websocket']],
] as [ClientKind, Transport[]][]) {
  test(`the ${client} client over ${transports} sends messages repeatedly, and counts acknowledgements with errors`, async () => {
    const fleet = await startSending(client, transports);
    await eventually('60 messages', () => batches.length >= 60);
    const { connections, sent, acknowledged, measured, acks, ackErrors } = await stopSending(fleet);
    assert.deepEqual(
      [connections, sent, acknowledged, acks],
      [CONNECTIONS, batches.length, batches.length, batches.length],
    );
    for (const batch of batches) assert.deepEqual(batch, DATA);
    const ack = decodeHistogram(measured.ackUs);
    assert.equal(ack.totalCount, acknowledged);
    assert.ok(ack.minNonZeroValue > 100 && ack.maxValue < 1_000_000, `${ack.minNonZeroValue} to ${ack.maxValue} µs`);
    const countOf = (rest: number) => batches.filter((_, index) => (index + 1) % REPLIES.length === rest).length;
    assert.deepEqual(ackErrors, { '{"error":"no"}': countOf(0), '{"ok":false}': countOf(1), '{}': countOf(2) });
  });
}
