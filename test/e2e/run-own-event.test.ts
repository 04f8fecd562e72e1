/** Whole runs against servers into which nothing of ours was put. */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { EXIT_CODES } from '../../protocol/codes/exit-codes.ts';
import { startChat } from '../helpers/chat-server.ts';
import { goodInProcess } from '../helpers/in-process-run.ts';
import { goodResult, quickScript, startRun } from '../helpers/run.ts';

const PUBLISH = { emit: ['say', { id: '$id', text: 'hello' }], every: 0.2, count: 5 };
const DELIVERY = { event: 'said', id: '$.0.id', publish: PUBLISH };

/** @param delivery the plugin's option */
function script(target: string, delivery: object) {
  const quick = quickScript({ target }, { delivery });
  return { ...quick, scenarios: [{ engine: 'socketio-capacity', flow: [{ connect: {} }, { hold: true }] }] };
}

/** With python-socketio and aiohttp. */
const PYTHON = ['python3', process.env.PYTHON_WITH_SOCKETIO ?? ''].find(
  (python) => python !== '' && spawnSync(python, ['-c', 'import socketio, aiohttp']).status === 0,
);

it('a plain chat: who got each message, and how long after its publisher had sent it', async (t) => {
  const server = await startChat((io) => {
    io.on('connection', (socket) => socket.on('say', (message) => io.emit('said', message)));
  });
  t.after(() => server.close());
  const { delivery, latency, absent, connections } = (await goodInProcess(script(server.url, DELIVERY))).result;
  assert.equal(connections.peak, 10);
  assert.ok(delivery);
  assert.deepEqual([delivery.source, delivery.event, delivery.publisher], ['own event', 'said', 'run']);
  assert.deepEqual([delivery.broadcasts, delivery.expected, delivery.received, delivery.coverage], [5, 50, 50, 1]);
  assert.equal(latency.from, 'publisher');
  assert.equal(latency.oneWayMs?.count, 50);
  assert.deepEqual([absent.delivery, absent.latency], [undefined, undefined]);
});

it('refuses a path that leads nowhere before any load, with what arrived', async (t) => {
  const server = await startChat((io) => {
    io.on('connection', (socket) => socket.on('say', (message) => io.emit('said', { message })));
  });
  t.after(() => server.close());
  const run = startRun(t, { script: script(server.url, DELIVERY) });
  assert.equal(await run.ended, EXIT_CODES.refused, run.output());
  assert.match(
    run.output(),
    /DELIVERY_UNMATCHED: `said` arrives without a string, or a number up to 2\^53, at \$\.0\.id/,
  );
  assert.equal(run.result(), undefined);
});

const skip = PYTHON === undefined && 'needs python-socketio and aiohttp: set PYTHON_WITH_SOCKETIO to their python3';
it('a chat by python-socketio, with the time that it stamps itself', { skip }, async (t) => {
  const child = spawn(PYTHON as string, [fileURLToPath(new URL('../fixtures/python-chat.py', import.meta.url))], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.after(() => child.kill());
  const [port] = await once(createInterface({ input: child.stdout }), 'line');
  const delivery = { ...DELIVERY, sentAt: '$.0.at' };
  const run = startRun(t, { script: script(`http://127.0.0.1:${port}`, delivery) });
  const { delivery: found, latency } = await goodResult(run);
  assert.deepEqual([found?.expected, found?.received, found?.coverage], [50, 50, 1]);
  assert.equal(latency.from, 'payload');
});
