/** Tests virtual users that disconnect by themselves. The run measures while users connect and disconnect. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { startApp } from '../helpers/app.ts';
import { startChat } from '../helpers/chat-server.ts';
import { goodInProcess, inProcessScript, startInProcess } from '../helpers/in-process-run.ts';
import { assertGood } from '../helpers/run.ts';

const USERS = 60;
const PHASES = [{ duration: 3, arrivalRate: USERS / 3 }];
const DELIVERY = { event: 'said', id: '$.0.id', join: 'enter' };
const BATCHES = { every: { seconds: 0.5, emit: { channel: 'event_batch', data: { type: 'a' } }, acknowledge: true } };
/** Variables of each virtual user. */
const VARIABLES = Array.from({ length: USERS }, (_, index) => ({ me: `user-${index}` }));
const FLOW = [
  { emit: ['enter', 'hall'], acknowledge: {} },
  { think: 1.5 },
  { emit: ['say', { id: '{{ me }}' }] },
  { think: 1.5 },
];

function script(target: string, options: object, flow: object[] = FLOW) {
  return inProcessScript(
    { target, phases: PHASES, variables: { me: ['a user'] } },
    { warmUp: 0, ...options },
    {},
    flow,
  );
}

/**
 * Starts a server that sends each message to all users, except copies that `skips` selects.
 * @returns the number of copies sent
 */
async function startHall(t: Parameters<typeof startChat>[0], skips = (_copy: number) => false) {
  const counts = { sent: 0, skipped: 0 };
  const { url } = await startChat(t, (io) => {
    io.on('connection', (socket) => {
      socket.on('enter', (room, done) => {
        void socket.join(room);
        done('entered');
      });
      socket.on('say', (message) => {
        for (const id of io.of('/').adapter.rooms.get('hall') ?? []) {
          const isSkipped = skips(counts.sent + counts.skipped);
          if (!isSkipped) io.to(id).emit('said', message);
          counts[isSkipped ? 'skipped' : 'sent']++;
        }
      });
    });
  });
  return { url, counts };
}

describe('a run whose users leave by themselves', { concurrency: 3 }, () => {
  it('a run whose users leave counts connections, how long they stay open, and each copy of a message', async (t) => {
    const { url, counts } = await startHall(t);
    const { result, output, exitCode } = await startInProcess(script(url, { delivery: DELIVERY }), VARIABLES).ended;
    assertGood(result, exitCode, output);
    const { connections, delivery, memory } = result;
    assert.deepEqual([connections.opened, connections.closed, connections.failed], [USERS, USERS, 0], output);
    const { meanStaySeconds } = connections;
    assert.ok(meanStaySeconds !== null && meanStaySeconds >= 3 && meanStaySeconds < 6, output);
    assert.equal(memory.overTime?.kind, 'load');
    assert.ok(delivery?.frames, output);
    assert.deepEqual([delivery.broadcasts, delivery.coverage], [USERS, 1], output);
    // A copy to a user that is disconnecting may be lost, so the run does not expect it.
    assert.ok(delivery.frames <= counts.sent && delivery.frames > 0.9 * counts.sent, output);
    assert.equal(delivery.received + delivery.unexpected, delivery.frames, output);
    assert.match(output, /60 in all, open for \d\.\d s on average/);
    assert.match(output, /all 60 broadcasts delivered/);
  });

  it('a run expects no copy at a user that has connected, but may not have joined its room', async (t) => {
    const { url } = await startHall(t);
    const { join: _, ...delivery } = DELIVERY;
    const flow = [{ connect: {} }, { think: 0.5 }, ...FLOW];
    const { result, output } = await startInProcess(script(url, { delivery }, flow), VARIABLES).ended;
    assert.deepEqual([result.delivery?.coverage, result.outcome.status], [1, 'PASSED'], output);
    assert.ok((result.delivery?.unexpected ?? 0) > 0, output);
  });

  it('a run whose users leave fails if the server sends no copies to users that stay', async (t) => {
    const { url, counts } = await startHall(t, (copy) => copy % 7 === 0);
    const { result, output } = await startInProcess(script(url, { delivery: DELIVERY }), VARIABLES).ended;
    assert.equal(result.outcome.status, 'FAILED', output);
    const lost = result.delivery?.lostConnected ?? 0;
    // Skipped copies to users that disconnected within a second do not count as lost, because they may have been in
    // flight.
    assert.ok(lost > 0.3 * counts.skipped && lost <= counts.skipped, `${lost} of ${counts.skipped}\n${output}`);
  });

  it('a run whose users leave sends its own broadcasts to the current members of the room', async (t) => {
    const { url, control } = await startApp(t);
    const flow = [{ emit: ['join_room', { clientKey: 'capacity' }] }, BATCHES, { think: 3 }];
    const options = { control, broadcasts: { count: 8, interval: 0.2 } };
    const { result, output } = await goodInProcess(script(url, options, flow));
    assert.deepEqual([result.delivery?.broadcasts, result.delivery?.coverage], [8, 1], output);
    assert.ok((result.delivery?.expected ?? 0) > 8, output);
    assert.deepEqual(result.connections.lost, {}, output);
    assert.match(output.replace(/\s+/g, ' '), /(all|% of) \d+ client messages acknowledged: p50/);
  });
});
