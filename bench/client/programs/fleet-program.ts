/**
 * Our fleet without Artillery: the light client in a fleet process, ledger on. With `own`, it reads the same messages as
 * those of a server's own event.
 */
import { Fleet } from '../../../plugin/fleet/fleet.ts';
import { JOIN, loadFromArguments, runProgram, trustOf } from './load-program.ts';

const load = loadFromArguments();
const [event, room] = JOIN;
const fleet = await Fleet.start(
  {
    client: 'light',
    defaults: {
      url: load.url,
      path: '/socket.io/',
      transports: load.transports ?? ['websocket'],
      query: {},
      headers: {},
      auth: undefined,
      tls: trustOf(load),
      connectTimeoutMs: 30_000,
      localAddress: undefined,
    },
    localAddresses: [],
    ledger: true,
    ...(process.argv[3] === 'own' && {
      ownEvent: { event: 'broadcast', id: ['0', 'seq'], sentAt: ['0', 'sentAtUs'], bytes: undefined, join: event },
    }),
    disconnectRatePerSec: 10_000,
    fleet: { index: 0, of: 1 },
  },
  1,
);

/** Like the engine: the join is part of the open command, and the fleet itself requests its acknowledgement. */
async function connectOne(): Promise<void> {
  await fleet.connection().open('/', { emit: { event, args: [room] } });
}

async function counts() {
  const { received } = (await fleet.snapshot()).receipts;
  const { joined } = fleet.status();
  await fleet.close();
  return { joined, received };
}

await runProgram(load, connectOne, counts);
