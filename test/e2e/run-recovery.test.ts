/** All connections drop at once between two broadcasts, and come back to a server that has kept their sessions. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Socket } from 'socket.io';
import { EVENTS } from '../../protocol/events.ts';
import { startApp, TOKEN } from '../helpers/app.ts';
import { startInProcess } from '../helpers/in-process-run.ts';
import { quickScript } from '../helpers/run.ts';

/** The probe and the reference receiver connect before any virtual user. */
const RECEIVERS = 2;
const CONNECTIONS = 10;

describe('a run whose connections drop at once', () => {
  it('has every drop, every return and every copy in its counts', async (t) => {
    const app = await startApp({ CAPACITY_RECOVERY_SECONDS: '60' });
    t.after(() => app.close());
    const load: Socket[] = [];
    let connected = 0;
    app.io.on('connection', (socket) => {
      if (++connected > RECEIVERS) load.push(socket);
      if (load.length > CONNECTIONS || socket.recovered || connected <= RECEIVERS) return;
      if (load.length < CONNECTIONS) return;
      // The last one: it sees the first broadcast after all others.
      socket.onAnyOutgoing((event, message) => {
        if (event !== EVENTS.broadcast || message.seq !== 1) return;
        setImmediate(() => {
          for (const { conn } of load.splice(0)) conn.close();
        });
      });
    });
    const script = quickScript(
      { target: app.url },
      {
        control: { urls: [app.controlUrl], token: TOKEN },
        warmUp: 0,
        singleRoundTrips: 1,
        // They drop at the first, are away at the second, and back at the third.
        broadcasts: { count: 3, interval: 2 },
      },
      { reconnection: { delay: 3, jitter: 0.1 } },
    );
    const { result, output } = await startInProcess(script).ended;
    assert.ok(result.delivery, output);
    const { connections, delivery, latency, absent, verdict } = result;
    const { awayMs, ...counts } = connections.reconnection ?? {};
    assert.deepEqual(counts, { dropped: 10, returned: 10, recovered: 10, gaveUp: 0, left: 0, away: 0 });
    assert.ok((awayMs?.p50 ?? 0) >= 2500 && (awayMs?.p50 ?? 0) < 8000, String(awayMs?.p50));
    assert.deepEqual([connections.opened, connections.held, connections.lost], [10, 10, {}]);
    assert.deepEqual(connections.failures, {});
    const { expected, received, missed, resent, frames, duplicates } = delivery;
    assert.deepEqual([expected, received, missed, resent, frames, duplicates], [30, 30, 10, 10, 30, 0]);
    assert.deepEqual(
      delivery.batches.map(({ serverMembers, resent }) => [serverMembers, resent]),
      [
        [10, 0],
        [0, 10],
        [10, 0],
      ],
    );
    // The stack's session ids name the worker, also those of restored sessions.
    assert.deepEqual([connections.perWorker, latency.localMs?.count, absent], [{ w0: CONNECTIONS }, 30, {}]);
    const codes = verdict.reasons.map(({ code }) => code);
    assert.ok(codes.includes('CONNECTIONS_DROPPED'), output);
    assert.deepEqual(connections.lost, {});
    for (const code of ['MEMBERS_DISAGREE', 'ACCOUNTS_MISMATCH']) assert.ok(!codes.includes(code), code);
  });
});
