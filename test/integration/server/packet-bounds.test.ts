/** Tests the limits on the content of a packet, and on the number of malformed messages. */
import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { describe, it, type TestContext } from 'node:test';
import { pino } from 'pino';
import type { Namespace } from 'socket.io';
import { ClusterAdapter } from 'socket.io-adapter';
import type { Socket as Client } from 'socket.io-client';
import * as msgpack from 'socket.io-msgpack-parser';
import type { CapacityError } from '../../../protocol/codes/errors.ts';
import { parseServerConfig } from '../../../server/config.ts';
import { MAX_MALFORMED_MESSAGES } from '../../../server/guard.ts';
import { type InstrumentOptions, instrument } from '../../../server/instrument.ts';
import { MAX_PACKET_ELEMENTS } from '../../../server/packet-bounds.ts';
import { createPlainApp } from '../../../server/plain/plain-app.ts';
import { WEBSOCKETS } from '../../../server/websockets/index.ts';
import { connectClient, connectControl, onceOf, startApp, TOKEN } from '../../helpers/app.ts';
import { startChat } from '../../helpers/chat-server.ts';
import { RawClient } from '../../helpers/hostile.ts';

/** Number of arguments that overflows the stack when Socket.IO dispatches the packet. */
const MANY = 100_000;
const jsonArray = (count: number, first = '"x"') => `[${[first, ...Array(count - 1).fill(1)].join()}]`;

interface Target {
  port: number;
  controlPort: number;
}

async function startInstrumented(t: TestContext, options: InstrumentOptions = {}, parser?: unknown): Promise<Target> {
  const { io, url } = await startChat(t, () => {}, { ...(parser !== undefined && { parser }) });
  const { controlPort, close } = await instrument(io, { token: TOKEN, worker: 'w0', ...options });
  t.after(close);
  io.on('connection', (socket) => {
    socket.onAny(() => {});
    socket.on('count', (...args: unknown[]) => (args.at(-1) as (count: number) => void)(args.length - 1));
  });
  io.of('/other').on('connection', (socket) => socket.emit('question', () => {}));
  return { port: Number(new URL(url).port), controlPort };
}

async function startPlain(t: TestContext): Promise<Target> {
  const environment = { CAPACITY_TOKEN: TOKEN, CAPACITY_WEBSOCKETS: 'plain-ws', CAPACITY_DRAIN_MS: '200' };
  const app = createPlainApp(parseServerConfig(environment), pino({ level: 'silent' }));
  t.after(() => app.close());
  return app.start();
}

const { CAPACITY_MODULES = '' } = process.env;

interface Kind {
  start: (t: TestContext) => Promise<Target>;
  skip?: string | undefined;
}

const KINDS: Record<string, Kind> = { 'a server with instrument(io)': { start: startInstrumented } };
for (const [name, attach] of Object.entries(WEBSOCKETS)) {
  const skip = await attach({}, CAPACITY_MODULES || undefined).then(
    ({ close }) => close().then(() => undefined),
    ({ message }: CapacityError) => message,
  );
  const start = (t: TestContext) => startApp(t, { CAPACITY_WEBSOCKETS: name, CAPACITY_MODULES });
  KINDS[`a worker of ours on ${name}`] = { start, skip };
}

async function metricsOf({ controlPort }: Target): Promise<string> {
  return (await fetch(`http://127.0.0.1:${controlPort}/metrics`)).text();
}

async function countOf(target: Target, series: string): Promise<number> {
  const line = (await metricsOf(target)).split('\n').find((text) => text.startsWith(series.replace('}', ',')));
  return Number(line?.split(' ')[1] ?? 0);
}

async function untilClosed(target: Target, packets: (string | Buffer)[], connectPacket?: string): Promise<void> {
  const client = await RawClient.connect(target.port, connectPacket);
  client.send(packets);
  await client.closed;
}

for (const [name, { start, skip }] of Object.entries(KINDS)) {
  describe(name, { skip: skip ?? false }, () => {
    it(`the server closes a connection that sends more arguments than Socket.IO can dispatch: ${name}`, async (t) => {
      t.mock.method(console, 'error', () => {});
      const target = await start(t);
      await untilClosed(target, [`42${jsonArray(MANY)}`]);
      await untilClosed(target, [`420${jsonArray(MANY)}`]);
      await untilClosed(target, [`430${jsonArray(MANY, '1')}`]);
      await untilClosed(target, [`451-${jsonArray(MANY, '"x",{"_placeholder":true,"num":0}')}`, Buffer.alloc(1)]);
      assert.equal(await countOf(target, 'capacity_closed_connections_total{reason="packet"}'), 4);
      assert.equal(await countOf(target, 'capacity_malformed_total{event="packet"}'), 4);
      const client = await connectClient(`http://127.0.0.1:${target.port}`);
      t.after(() => client.disconnect());
      assert.equal((await client.emitWithAck('join_room', 'capacity')).worker, 'w0');
    });

    it(`the server closes a connection after 100 malformed joins, and ignores its remaining messages: ${name}`, async (t) => {
      t.mock.method(console, 'error', () => {});
      const target = await start(t);
      await untilClosed(target, Array(50_000).fill('42["join_room",{"clientKey":7}]'));
      await untilClosed(target, Array(50_000).fill('420["broadcast_echo",{}]'));
      assert.equal(await countOf(target, 'capacity_closed_connections_total{reason="malformed"}'), 2);
      for (const event of ['join_room', 'broadcast_echo'])
        assert.equal(await countOf(target, `capacity_malformed_total{event="${event}"}`), MAX_MALFORMED_MESSAGES);
    });
  });
}

it('a plain worker accepts any number of arguments, and closes a connection after 100 malformed messages', async (t) => {
  t.mock.method(console, 'error', () => {});
  const target = await startPlain(t);
  await untilClosed(target, [`42${jsonArray(MANY)}`, ...Array(50_000).fill('42["join_room",{"clientKey":7}]')]);
  assert.equal(await countOf(target, 'capacity_closed_connections_total{reason="malformed"}'), 1);
  assert.equal(await countOf(target, 'capacity_malformed_total{event="join_room"}'), MAX_MALFORMED_MESSAGES - 1);
});

describe('instrument(io)', () => {
  it('instrument(io) bounds packets in all namespaces, acknowledgements included', async (t) => {
    t.mock.method(console, 'error', () => {});
    const target = await startInstrumented(t);
    await untilClosed(target, [`42/other,${jsonArray(MANY)}`], '40/other,');
    await untilClosed(target, [`43/other,0${jsonArray(MANY, '1')}`], '40/other,');
  });

  it('instrument(io) bounds packets that another parser decodes', async (t) => {
    t.mock.method(console, 'error', () => {});
    const target = await startInstrumented(t, {}, msgpack);
    const client = await connectClient(`http://127.0.0.1:${target.port}`, { parser: msgpack });
    t.after(() => client.disconnect());
    client.emit('x', ...Array(MAX_PACKET_ELEMENTS).fill(1));
    await onceOf(client, 'disconnect');
  });

  it('instrument(io) accepts `maxArguments` arguments, including the name of the event', async (t) => {
    t.mock.method(console, 'error', () => {});
    for (const maxArguments of [undefined, 20]) {
      const target = await startInstrumented(t, { maxArguments });
      const client = await connectClient(`http://127.0.0.1:${target.port}`);
      t.after(() => client.disconnect());
      const limit = (maxArguments ?? MAX_PACKET_ELEMENTS) - 1;
      assert.equal(await client.emitWithAck('count', ...Array(limit).fill(1)), limit);
      client.emit('count', ...Array(limit + 1).fill(1));
      await onceOf(client, 'disconnect');
    }
    await assert.rejects(startInstrumented(t, { maxArguments: 1e6 }), { code: 'CONFIG_INVALID' });
  });

  it('instrument(io) drops a message with too many arguments from another server, and counts it', async (t) => {
    t.mock.method(console, 'error', () => {});
    const adapter = busAdapter() as never;
    const [{ io: first }, { io: second }] = [
      await startChat(t, () => {}, { adapter }),
      await startChat(t, () => {}, { adapter }),
    ];
    const { controlPort, close } = await instrument(second, { token: TOKEN, worker: 'w0' });
    t.after(close);
    const receivedCounts: number[] = [];
    second.of('/later').on('x', (...args: unknown[]) => receivedCounts.push(args.length));
    first.of('/later').serverSideEmit('x', ...Array(MANY).fill(1));
    first.of('/later').serverSideEmit('x', 1, 2);
    assert.deepEqual(receivedCounts, [2]);
    assert.equal(await countOf({ port: 0, controlPort }, 'capacity_malformed_total{event="server_side_emit"}'), 1);
  });

  it('instrument(io) restores the parser of the server when it is closed', async (t) => {
    const { io } = await startChat(t, () => {});
    const parser = (io as unknown as { _parser: unknown })._parser;
    const { close } = await instrument(io, { token: TOKEN });
    assert.notEqual((io as unknown as { _parser: unknown })._parser, parser);
    await close();
    assert.equal((io as unknown as { _parser: unknown })._parser, parser);
  });
});

describe('the control port', () => {
  it('the control port closes the connection of a token holder that sends too many arguments or bad requests', async (t) => {
    t.mock.method(console, 'error', () => {});
    const target = await startApp(t);
    const closes = async (send: (control: Client) => void) => {
      const control = await connectControl(target.controlPort);
      const closed = onceOf(control, 'disconnect');
      send(control);
      await closed;
      control.disconnect();
    };
    await closes((control) => control.emit('time', ...Array(MANY).fill(1)));
    for (const [request, ...args] of [['members', 7], ['unknown'], ['time']] as [string, ...unknown[]][]) {
      await closes((control) => {
        for (let times = 0; times < MAX_MALFORMED_MESSAGES; times++)
          if (request === 'time') control.emit(request);
          else control.emit(request, ...args, () => {});
      });
    }
    assert.equal(await countOf(target, 'capacity_closed_connections_total{reason="malformed"}'), 3);
  });
});

/** @returns an adapter that connects the servers of this process */
function busAdapter() {
  const bus = new EventEmitter();
  return class extends ClusterAdapter {
    constructor(namespace: Namespace) {
      super(namespace);
      bus.on('message', (message) => this.onMessage(message));
    }
    override async serverCount() {
      return 2;
    }
    override async doPublish(message: Parameters<ClusterAdapter['onMessage']>[0]) {
      bus.emit('message', message);
      return '';
    }
    override async doPublishResponse() {}
  };
}
