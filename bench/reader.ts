/**
 * `npm run bench:reader`: what the generator's own code does for each copy of a message of 1,000 characters, from the
 * frame in memory to the ledger. The kernel's part, which is the larger one, is in `npm run bench:client`.
 */
import { z } from 'zod';
import type { ClientSink } from '../plugin/fleet/client/client.ts';
import type { EventPlan } from '../plugin/fleet/client/counted-event.ts';
import { LightClients } from '../plugin/fleet/light/clients.ts';
import type { SocketIoConnection } from '../plugin/fleet/light/socket-io/socket-io.ts';
import { Ledger } from '../plugin/fleet/process/ledger/ledger.ts';
import { Sightings } from '../plugin/fleet/process/ledger/sightings.ts';
import { decimals } from '../report/text/format.ts';
import { table } from '../report/text/table.ts';
import {
  BINARY,
  CONNECT_PACKET,
  fakeWire,
  OPEN_PACKET,
  serverFrame,
  text,
  upgradeAnswer,
} from '../test/helpers/fake-wire.ts';
import { clientOptions } from '../test/helpers/recording-sink.ts';
import { runCommand } from './command.ts';
import { describeMachine, machineLines } from './machine.ts';
import { spreadOf } from './spread.ts';

const CONNECTIONS = 1000;
const BROADCASTS = 200;
const DATA = 'x'.repeat(1000);
const PLAN: EventPlan = { event: 'said', id: ['0', 'id'], sentAt: ['0', 'at'] };
const PLACEHOLDER = { _placeholder: true, num: 0 };
const AT = 1_700_000_000_000;
const DEEP = Array.from({ length: 100 }, (_, index) => ({ name: `user ${index}`, seen: index }));

interface Case {
  label: string;
  plan?: EventPlan;
  /** @param variant connections in turn get one or the other */
  json: (seq: number, variant: 0 | 1) => string;
  /** In a frame of its own, after the JSON. */
  attachment?: Buffer;
}

const CASES: Case[] = [
  {
    label: "the contract's broadcast",
    json: (seq) => JSON.stringify(['broadcast', { seq, sentAtUs: AT, worker: 'w0', data: DATA }]),
  },
  {
    label: 'the same, two broadcasts in turns',
    json: (seq, variant) =>
      JSON.stringify(['broadcast', { seq: seq + variant * 1000, sentAtUs: AT, worker: 'w0', data: DATA }]),
  },
  {
    label: "the contract's broadcast, binary",
    json: (seq) => `1-${JSON.stringify(['broadcast', { seq, sentAtUs: AT, worker: 'w0', data: PLACEHOLDER }])}`,
    attachment: Buffer.from(DATA),
  },
  {
    label: 'own event, id before the text',
    plan: PLAN,
    json: (seq) => JSON.stringify(['said', { id: `m-${seq}`, at: AT, data: DATA }]),
  },
  {
    label: 'own event, id after the text',
    plan: PLAN,
    json: (seq) => JSON.stringify(['said', { data: DATA, at: AT, id: `m-${seq}` }]),
  },
  {
    label: 'own event, id after 100 objects (3,300 characters)',
    plan: PLAN,
    json: (seq) => JSON.stringify(['said', { users: DEEP, at: AT, id: `m-${seq}` }]),
  },
  {
    label: 'the same, but another text for each connection',
    plan: PLAN,
    json: (seq, variant) => JSON.stringify(['said', { to: variant, users: DEEP, at: AT, id: `m-${seq}` }]),
  },
  {
    label: 'own event, key of the id escaped: decoded whole',
    plan: PLAN,
    json: (seq) => JSON.stringify(['said', { data: DATA, at: AT, id: `m-${seq}` }]).replace('"id"', '"\\u0069d"'),
  },
];

await runCommand({
  usage: 'usage: npm run bench:reader -- [--repeat <n>]',
  schema: z.object({ repeat: z.coerce.number().int().positive().default(5) }),
  run: async ({ options: { repeat } }) => {
    const times = CASES.map((): number[] => []);
    // The first round compiles; the cases take turns.
    for (let round = 0; round <= repeat; round++) {
      CASES.forEach((one, index) => {
        const us = usPerCopy(one);
        if (round > 0) times[index]?.push(us);
      });
    }
    const [contract] = times.map((all) => spreadOf(all)?.median ?? 0);
    const rows = CASES.map(({ label }, index) => {
      const { median = 0, min = 0, max = 0 } = spreadOf(times[index] ?? []) ?? {};
      const ratio = decimals(median / (contract ?? 1), 2);
      return [label, `${decimals(median, 2)} (${decimals(min, 2)}–${decimals(max, 2)})`, ratio];
    });
    console.log(table(['', 'CPU per copy (µs)', '× contract'], rows, '').join('\n'));
    console.log(machineLines(describeMachine(['socket.io-parser'])).join('\n'));
  },
});

function usPerCopy({ plan, json, attachment }: Case): number {
  const ledger = new Ledger(plan ? { count: 1e6, bytes: undefined, contentVaries: true } : { count: 1e6, bytes: 1000 });
  const sightings = new Sightings(ledger);
  sightings.watch(true);
  const { dial, sent } = fakeWire();
  const clients = new LightClients(dial, undefined, plan);
  const sink = countingSink(ledger, sightings);
  const open = Array.from({ length: CONNECTIONS }, (_, slot) => {
    const connection = clients.create(slot, clientOptions(), sink) as SocketIoConnection;
    connection.connect('/');
    connection.onWireOpen(false);
    const greeting = Buffer.concat([upgradeAnswer(sent.at(-1)), text(OPEN_PACKET), text(CONNECT_PACKET)]);
    connection.feed(greeting, 0, greeting.length);
    ledger.members.joined(slot, '', '', 0);
    return connection;
  });
  const frames = Array.from({ length: BROADCASTS }, (_, index) =>
    ([0, 1] as const).map((variant) => {
      if (!attachment) return text(`42${json(index + 1, variant)}`);
      return Buffer.concat([text(`45${json(index + 1, variant)}`), serverFrame(BINARY, attachment)]);
    }),
  );
  const before = process.cpuUsage();
  for (const variants of frames) {
    for (const [slot, connection] of open.entries()) {
      const frame = variants[slot % 2] as Buffer;
      connection.feed(frame, 0, frame.length);
    }
  }
  const { user, system } = process.cpuUsage(before);
  if (ledger.reached !== BROADCASTS * CONNECTIONS) throw new Error(`${ledger.reached} copies were counted`);
  clients.close();
  return (user + system) / (BROADCASTS * CONNECTIONS);
}

/** Does with copies what a fleet process does. */
function countingSink(ledger: Ledger, sightings: Sightings): ClientSink {
  const nothing = () => {};
  return {
    onOpen: nothing,
    onRefused: nothing,
    onFailed: nothing,
    onEvent: nothing,
    onIgnored: nothing,
    onUnreadable: nothing,
    onAck: nothing,
    onUnknownAck: nothing,
    onUpgraded: nothing,
    onUpgradeFailed: nothing,
    onClosed: nothing,
    onTraffic: nothing,
    onCopy: ({ slot }, id, receivedAtUs, copy) => {
      const number = typeof id === 'number' ? id : sightings.numberOf(id, receivedAtUs, copy);
      ledger.receive(slot, number, receivedAtUs, copy);
    },
  };
}
