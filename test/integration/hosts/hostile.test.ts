/** Tests invalid messages of hosts and conductors. The receiver ignores them and continues. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request } from 'node:https';
import { describe, it } from 'node:test';
import { connect, type TLSSocket } from 'node:tls';
import type { Socket as ServerSocket } from 'socket.io';
import { io } from 'socket.io-client';
import { type AgentMessage, hubMessageSchema } from '../../../plugin/conduct/hosts/host-messages.ts';
import { openConductorListener } from '../../../plugin/conduct/hosts/listener.ts';
import { EngineLink, NO_STATUS } from '../../../plugin/run/link.ts';
import type { EngineReport, RunMessage } from '../../../protocol/link/link-messages.ts';
import { column } from '../../helpers/columns.ts';
import { mutants } from '../../helpers/hostile.ts';
import { helloOf, joinOf, newAgent, secret, startHub } from '../../helpers/hosts.ts';
import { frozenBroadcast, snapshot } from '../../helpers/measurements.ts';
import { eventually } from '../../helpers/poll.ts';

const NEVER = new AbortController().signal;
const INSECURE = { rejectUnauthorized: false } as const;

/** Returns one message of each type. The last ones end the host's part. */
function agentMessages(): AgentMessage[] {
  const clock = { offsetUs: 0, boundUs: 1 };
  const row = {
    atUs: 1,
    cpuIdlePercent: 1,
    shares: {
      ...{ seconds: 1, cores: 2, busyCores: 1, stealCores: 0, oursCores: 0, othersCores: 0, kernelCores: 0 },
      ...{ errorCores: 0, programs: [{ name: 'x', cores: 1 }], pressure: { cpu: 1, memory: 0, io: 0 } },
    },
    clock,
    skippedUsers: 0,
  };
  const reports: EngineReport[] = [
    { type: 'ready', engines: 1 },
    { type: 'began', beganAtUs: 1 },
    { type: 'status', status: NO_STATUS },
    { type: 'warmed', requestId: 1, failure: 'x' },
    { type: 'snapshot', requestId: 1, snapshot: snapshot({}) },
    { type: 'frozen', requestId: 1, rows: [frozenBroadcast(1, [10])] },
    {
      type: 'sighted',
      requestId: 1,
      sightings: [
        {
          ids: [{ id: 'a', firstAtUs: 1, sentAt: 1, bytes: 1, reached: 1, counted: true }],
          ...{ filled: 0, example: 'x' },
        },
      ],
    },
    { type: 'messages', requestId: 1, counts: { sent: 1, unanswered: 0, skippedByServer: 0 } },
    { type: 'faulted', requestId: 1 },
    { type: 'closed', requestId: 1 },
    { type: 'gone' },
  ];
  const from = { host: 'k', engine: '1' };
  return [
    { type: 'machine', row },
    { type: 'phase', index: 1, stage: 'started' },
    ...reports.map((report) => ({ type: 'engine' as const, message: { from, ...report } })),
    { type: 'bye', stopped: false, skippedUsers: 0 },
  ];
}

const RUN_MESSAGES: RunMessage[] = [
  { type: 'warm-up', requestId: 1, order: { connections: 1, together: 1, room: 'r' } },
  { type: 'snapshot', requestId: 1 },
  {
    type: 'freeze',
    requestId: 1,
    broadcasts: [
      { seq: 1, room: 'r', sentAtUs: 1, intendedAtUs: 1, orderedAtUs: 1, previousAtUs: 1, id: 'a', latencyFromAtUs: 1 },
    ],
  },
  { type: 'sight', requestId: 1, watch: true, outside: ['a'] },
  { type: 'messages', requestId: 1, stage: 'rest' },
  { type: 'fault', requestId: 1, order: { stage: 'begin', atUs: 1, drop: false } },
  { type: 'release' },
  { type: 'start', atUs: 1 },
  { type: 'finish' },
];

it('a conductor ignores invalid messages of a host, and the run continues with the valid hosts', async (t) => {
  const test = await startHub(t, 2);
  const link = new EngineLink(test.hub, { hosts: 2, replyTimeoutMs: 100 });
  const good = newAgent(t, test.join, { host: 'good', hosts: 2 }, (message) =>
    message.type === 'snapshot' ? { ...message, snapshot: snapshot({ connected: 7 }) } : undefined,
  );
  await good.agent.join();
  good.say({ type: 'ready', engines: 1 });
  const bad = io(`https://127.0.0.1:${test.join.port}`, {
    ...{
      transports: ['websocket'],
      ...INSECURE,
      auth: { hello: { ...helloOf({ hosts: 2 }), host: 'bad\n::error::x' } },
    },
    extraHeaders: { authorization: `Bearer ${test.join.token}` },
  });
  t.after(() => bad.disconnect());
  await once(bad as never, 'connect');
  const write = (text: string) => (bad.io.engine as unknown as { write(packet: string): void }).write(text);
  let number = 0;
  /** Resolves when the conductor has read all messages. */
  const read = async () => {
    const answered = Promise.withResolvers<void>();
    bad.io.engine.on('data', (data) => String(data).startsWith(`3${number}[`) && answered.resolve());
    write(`2${++number}["message",${number},{"type":"ready"}]`);
    await answered.promise;
  };
  await read();
  await test.hub.joined(5000, NEVER);
  link.start();
  const rows = agentMessages().flatMap((message) => [...mutants(message), JSON.stringify(message)]);
  for (const row of rows) {
    write(`2["message",${++number},${row}]`);
    // Pauses regularly, so that pongs also get through.
    if (number % 100 === 0) await read();
  }
  for (const odd of ['', ',null', ',1e400,{}', `,"${number}",{}`, ',{},{}', ',[],[]', ',1,{},{},{}']) {
    write(`2["message"${odd}]`);
  }
  await read();
  const snapshots = await link.snapshots();
  assert.deepEqual(
    column(
      snapshots.filter(({ from }) => from.host === 'good'),
      'connected',
    ),
    [7],
  );
  assert.deepEqual(good.ends, []);
  assert.deepEqual(test.refusals, []);
  assert.ok(test.hub.hosts.every(({ name }) => !/\p{Cc}/u.test(name)));
  assert.equal(({} as { polluted?: number }).polluted, undefined);
});

it('a host ignores invalid messages of its conductor, and relays only valid ones', async (t) => {
  const listener = await openConductorListener('127.0.0.1', 0, secret);
  const { promise: connected, resolve } = Promise.withResolvers<ServerSocket>();
  listener.serve(() => undefined, resolve, assert.fail);
  const { agent, ends, heard } = newAgent(t, joinOf(listener), {});
  t.after(async () => {
    await agent.close();
    await listener.close();
  });
  await agent.join();
  const socket = await connected;
  let number = 0;
  const write = (message: string) => socket.conn.write(`2["message",${++number},${message}]`);
  for (const message of RUN_MESSAGES) for (const mutant of mutants({ type: 'run', message })) write(mutant);
  const end = { type: 'end', exitCode: 5, why: 'x' };
  for (const mutant of mutants(end)) if (!hubMessageSchema.safeParse(JSON.parse(mutant)).success) write(mutant);
  write(JSON.stringify({ ...end, exitCode: 0 }));
  write('{"type":"run","message":{"type":"snapshot","requestId":12345}}');
  await eventually('the last message', () =>
    heard.some((message) => 'requestId' in message && message.requestId === 12345),
  );
  assert.deepEqual(ends, []);
  for (const message of heard) {
    assert.doesNotThrow(() => hubMessageSchema.parse({ type: 'run', message }), JSON.stringify(message));
  }
  const orders = heard.flatMap((message) => ('broadcasts' in message ? message.broadcasts : []));
  assert.ok(orders.every(({ seq }) => Number.isInteger(seq)));
  write(JSON.stringify(end));
  await eventually('the end', () => ends.some((why) => why === 'x'));
});

it('a conductor closes the connection of a host that sends too many arguments, and continues', async (t) => {
  const { hub, join, notes } = await startHub(t, 1);
  const bad = io(`https://127.0.0.1:${join.port}`, {
    ...{ transports: ['websocket'], ...INSECURE, forceNew: true, reconnection: false },
    ...{ auth: { hello: helloOf({}) }, extraHeaders: { authorization: `Bearer ${join.token}` } },
  });
  t.after(() => bad.disconnect());
  await once(bad as never, 'connect');
  bad.emit('message', ...Array(100_000).fill(1));
  await once(bad as never, 'disconnect');
  assert.equal(notes.filter((note) => /sent a packet with 100001 arguments; at most 1000/.test(note)).length, 1);
  assert.equal(hub.hosts.length, 1);
});

describe('a client without the token', () => {
  it('a client without the token gets no WebSocket, and at most 64 of its connections stay open', async (t) => {
    const { hub, join } = await startHub(t, 1);
    let closed = 0;
    const unauthenticated = Array.from({ length: 200 }, () => {
      const socket = connect({ host: '127.0.0.1', port: join.port, ...INSECURE });
      socket.on('error', () => {}).once('close', () => closed++);
      t.after(() => socket.destroy());
      return socket;
    });
    await eventually('the end of the oldest', () => closed >= 200 - 64);
    await newAgent(t, join, {}).agent.join();
    await hub.joined(5000, NEVER);
    assert.ok(unauthenticated.filter((socket: TLSSocket) => !socket.destroyed).length <= 64);
    assert.equal(await statusOf(join.port, 'Bearer another-token-than-theirs'), 400);
    assert.equal(await statusOf(join.port, undefined), 400);
    assert.equal(await statusOf(join.port, `Bearer ${join.token}`), 101);
  });

  it('a client without the token cannot keep hosts from joining, however often it tries', async (t) => {
    const { hub, join } = await startHub(t, 1);
    const wrong = Array.from({ length: 20 }, () => newAgent(t, { ...join, token: 'another-token-here' }, {}));
    await Promise.all(wrong.map(({ agent }) => assert.rejects(agent.join(), { code: 'BAD_TOKEN' })));
    await newAgent(t, join, {}).agent.join();
    await hub.joined(5000, NEVER);
  });
});

/** Returns the HTTP status of a WebSocket upgrade request. */
async function statusOf(port: number, authorization: string | undefined): Promise<number | undefined> {
  const asking = request({
    ...{ host: '127.0.0.1', port, path: '/socket.io/?EIO=4&transport=websocket', ...INSECURE },
    headers: {
      ...{ connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-version': '13' },
      ...{ 'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==', ...(authorization && { authorization }) },
    },
  }).end();
  const [response] = await Promise.race([once(asking, 'response'), once(asking, 'upgrade')]);
  asking.destroy();
  return response.statusCode;
}
