/**
 * Program with the product's fleet process, but without Artillery: light clients with a ledger. An argument selects
 * how messages are counted as the user's own event.
 */
import { Fleet } from '../../../plugin/fleet/fleet.ts';
import { JOIN_MESSAGE, loadFromArguments, loadTlsOptions, runLoadProgram } from './load-program.ts';

const load = loadFromArguments();
const [join, room] = JOIN_MESSAGE;
/** Paths of the ids in messages of message-shapes.ts. Undefined for another event. */
const ID_PATHS: Record<string, string[] | undefined> = {
  deep: ['0', 'nested', 'message', 'seq'],
  list: ['0', 'items', '*', 'seq'],
  unreadable: ['0', 'nothing'],
  uncounted: undefined,
};
const mode = process.argv[3];
const plan = {
  event: mode === 'uncounted' ? 'other' : 'broadcast',
  id: ID_PATHS[mode ?? ''] ?? ['0'],
  sentAt: ['0', 'sentAtUs'],
  bytes: undefined,
  join,
};
const fleet = await Fleet.start(
  {
    client: 'light',
    defaults: {
      url: load.url,
      path: '/socket.io/',
      transports: ['websocket'],
      query: {},
      headers: {},
      auth: undefined,
      tls: loadTlsOptions(load),
      connectTimeoutMs: 30_000,
      localAddress: undefined,
    },
    localAddresses: [],
    ledger: true,
    ...(mode && { ownEvent: plan }),
    disconnectRatePerSec: 10_000,
    fleet: { index: 0, of: 1 },
  },
  1,
);

/** Opens a connection like the engine. The join is part of the open command, with a request for its acknowledgement. */
async function connectOne(): Promise<void> {
  await fleet.connection().open('/', { emit: { event: join, args: [room] } });
}

async function counts() {
  const { received, unreadable } = (await fleet.snapshot()).receipts;
  const { joined } = fleet.status();
  await fleet.close();
  if (mode === 'uncounted') return { joined };
  return { joined, received: (received + unreadable) / (mode === 'list' ? 2 : 1) };
}

await runLoadProgram(load, connectOne, counts);
