/** Tests runs without Artillery, several at once. Settings, engine, fleet processes and result are real. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Server, Socket } from 'socket.io';
import { CONTRACT_EVENTS } from '../../protocol/wire/events.ts';
import { startApp } from '../helpers/app.ts';
import { startInstrumented } from '../helpers/chat-server.ts';
import { goodInProcess, inProcessScript as script, startInProcess } from '../helpers/in-process-run.ts';
import { PEM } from '../helpers/pem.ts';
import { lacks, startNginx, UPGRADE } from '../helpers/proxies.ts';

const CONNECTIONS = 10;
/**
 * Number of connections of the run itself before the virtual users: the probe, the compression test, and the reference
 * receiver.
 */
const OF_RUN = 3;
const EVENTS_AT_ONCE = 3;
const PATH = '/private/';
const FLOW = [{ emit: ['join_room', { clientKey: 'capacity' }] }, { hold: true }];
// TLS options for an address that differs from the name in the certificate.
const TLS = { ca: PEM.cert, servername: 'localhost' };

describe('a run', { concurrency: 3 }, () => {
  it('a run connects all clients with a private certificate, a path, header, query and auth', async (t) => {
    const refused: string[] = [];
    const admit = (io: Server) => {
      io.use(({ handshake: { headers, query, auth } }, next) => {
        const given = JSON.stringify([headers['x-tenant'], query.version, auth.user]);
        if (given === '["blue","2","load"]') return next();
        refused.push(given);
        next(new Error('who are you?'));
      });
    };
    const options = { path: PATH, tls: PEM };
    const { url, control } = await startInstrumented(t, admit, options);
    // Distributes the settings over all places where a scenario can have them.
    const config = { target: url, tls: TLS, socketio: { path: PATH, query: { version: 2 } } };
    const where = { ...config, engines: { 'socketio-capacity': { headers: { 'X-Tenant': 'blue' } } } };
    const own = script(where, { control }, {}, [{ connect: { auth: { user: 'load' } } }, ...FLOW]);
    const { result, output } = await startInProcess(own).ended;
    assert.equal(result.connections.peak, 10, output);
    assert.equal(result.delivery?.coverage, 1);
    assert.equal(result.latency.roundTripHalfMs.single?.count, 2, 'the probe is connected');
    assert.equal(result.latency.sentinelMs?.count, 3, 'the sentinel is connected');
    assert.deepEqual(refused, []);
  });

  it('a run quotes the refusals of a server that refuses part of the load, in console and result', async (t) => {
    let users = 0;
    const { url, control } = await startInstrumented(t, (io) => {
      io.use(({ handshake: { auth } }, next) => {
        const isTooMany = auth.user === 'load' && ++users === 3;
        next(isTooMany ? Object.assign(new Error('full\x1b[2J'), { data: { free: 0 } }) : undefined);
      });
    });
    // The user's name comes from a template, so only virtual users have this name.
    const flow = [{ connect: { auth: { user: '{{ user }}' } } }, ...FLOW];
    const own = script({ target: url, engines: {}, variables: { user: 'own' } }, { control }, {}, flow);
    const { result, output } = await startInProcess(own, [{ user: 'load' }]).ended;
    const { connections } = result;
    assert.deepEqual(connections.failures, { namespace_refused: 1 });
    assert.deepEqual(connections.failureExamples, { namespace_refused: 'full\\u{1b}[2J {"free":0}' });
    assert.match(output, /namespace_refused: full\\u\{1b\}\[2J \{"free":0\}/);
  });

  it('a run times the acknowledgement of every message that connections send, with consistent counts', async (t) => {
    const message = { channel: 'event_batch', data: { n: 1 } };
    const every = { seconds: 0.5, emit: message, events: EVENTS_AT_ONCE, acknowledge: true };
    const flow = [{ emit: ['join_room', { clientKey: 'capacity' }] }, { every }, { hold: true }];
    const { url: target, control } = await startApp(t);
    const { result, output } = await goodInProcess(script({ target }, { control, hold: 3 }, {}, flow));
    const { messages, delivery, generator, connections } = result;
    assert.ok(messages);
    const { due, sent, notSent, acknowledged, window, ackMs, sendDelayMs, outsideAckMs, workers } = messages;
    assert.equal(messages.connections, CONNECTIONS);
    assert.deepEqual([due, notSent.disconnected], [sent + notSent.missed, 0]);
    assert.deepEqual([acknowledged, messages.answered, connections.unknownAcks], [sent, 1, 0]);
    // Each connection sends two messages a second. For some connections, the hold ends up to a period early or late.
    const expected = 2 * (window?.seconds ?? 0) * CONNECTIONS - notSent.missed;
    const tolerance = 2 * CONNECTIONS + notSent.missed;
    assert.ok(Math.abs((window?.sent ?? 0) - expected) <= tolerance, `${window?.sent} messages in the hold`);
    assert.equal(ackMs?.count, window?.acknowledged);
    assert.equal((ackMs?.count ?? 0) + (outsideAckMs?.count ?? 0), acknowledged);
    assert.ok((ackMs?.p50 ?? 0) >= (sendDelayMs?.p50 ?? Infinity), 'the delay of the send is included');
    const [only, ...others] = workers;
    assert.ok(only && others.length === 0);
    // The worker's count is read at both ends of the window. On a busy machine, the replies are late.
    assert.ok(only.batches >= expected - tolerance && only.batches <= sent, `${only.batches} batches at the worker`);
    assert.equal(only.events, only.batches * EVENTS_AT_ONCE);
    assert.ok((only.handlerMs?.p95 ?? 0) > 0);
    assert.ok(generator.some((loop) => loop.window === 'messages' && loop.part === 'fleet'));
    assert.equal(delivery?.coverage, 1, 'broadcasts go on as without messages');
    assert.match(output, /all \d+ client messages acknowledged/);
  });

  it('a run counts every drop, reconnect and copy when all connections drop and recover their sessions', async (t) => {
    const app = await startApp(t, { CAPACITY_RECOVERY_SECONDS: '60' });
    const load: Socket[] = [];
    let connected = 0;
    app.io.on('connection', (socket) => {
      if (++connected > OF_RUN) load.push(socket);
      if (load.length !== CONNECTIONS || socket.recovered || connected <= OF_RUN) return;
      // Drops the connections when the last connection has received the first broadcast.
      socket.onAnyOutgoing((event, message) => {
        if (event !== CONTRACT_EVENTS.broadcast || message.seq !== 1) return;
        setImmediate(() => {
          for (const { conn } of load.splice(0)) conn.close();
        });
      });
    });
    const options = {
      control: app.control,
      warmUp: 0,
      singleRoundTrips: 1,
      // All connections drop at the first broadcast, are disconnected at the second, and have reconnected at the third.
      broadcasts: { count: 3, interval: 2.5 },
    };
    const own = script({ target: app.url }, options, { reconnection: { delay: 3.5, jitter: 0.1 } });
    const { result, output } = await startInProcess(own).ended;
    assert.ok(result.delivery, output);
    const { connections, delivery, latency, absent, findings } = result;
    const { awayMs, ...counts } = connections.reconnection ?? {};
    assert.deepEqual(counts, { dropped: 10, returned: 10, recovered: 10, gaveUp: 0, left: 0, away: 0 });
    assert.ok((awayMs?.p50 ?? 0) >= 3000 && (awayMs?.p50 ?? 0) < 8000, String(awayMs?.p50));
    assert.deepEqual([connections.opened, connections.held, connections.lost], [10, 10, {}]);
    assert.deepEqual(connections.failures, {});
    const { expected, received, missed, resent, frames, duplicates } = delivery;
    assert.deepEqual([expected, received, missed, resent, frames, duplicates], [30, 30, 10, 10, 30, 0]);
    assert.deepEqual(
      delivery.batches.map((batch) => [batch.serverMembers, batch.resent]),
      [
        [10, 0],
        [0, 10],
        [10, 0],
      ],
    );
    // The session ids of a stack contain the name of the worker, even after a session was restored.
    assert.deepEqual([connections.perWorker, latency.localMs?.count, absent], [{ w0: CONNECTIONS }, 30, {}]);
    const codes = findings.map(({ code }) => code);
    assert.ok(codes.includes('CONNECTIONS_DROPPED'), output);
    for (const code of ['MEMBERS_DISAGREE', 'ACCOUNTS_MISMATCH']) assert.ok(!codes.includes(code), code);
  });

  it('a run measures an nginx that it did not start', async (t) => {
    const reason = lacks('nginx');
    if (reason) return t.skip(reason);
    const { port, control } = await startApp(t, { CAPACITY_WORKER: 'w0' });
    const nginx = await startNginx(t, port, UPGRADE);
    const target = `http://127.0.0.1:${nginx.port}`;
    const { result } = await goodInProcess(script({ target }, { control, layers: { nginx: { pids: [nginx.pid] } } }));
    const { memory, cpu, samples } = result;
    assert.equal(memory.sources.nginxPss, '/proc of its processes');
    assert.ok(memory.perConnectionBytes.nginxPss, JSON.stringify(memory.plateaus));
    assert.ok(cpu.nginx);
    assert.ok(samples.some(({ nginx: sample }) => ((sample as { rssBytes?: number } | undefined)?.rssBytes ?? 0) > 0));
  });
});
