/**
 * Our fleet without Artillery: light clients in a fleet process, with ledger. With `own`, it treats the same messages as those of the
 * user's own event.
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

/** Opens a connection as the engine does: the join is part of the open command, and the fleet requests its acknowledgement. */
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
