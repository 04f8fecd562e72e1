/** Our fleet without Artillery: the light client in a fleet process, ledger on. */
import { Fleet } from '../../../plugin/fleet/fleet.ts';
import { JOIN, loadFromArguments, runProgram } from './program.ts';

const load = loadFromArguments();
const [event, room] = JOIN;
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
      tls: {},
      connectTimeoutMs: 30_000,
      localAddress: undefined,
    },
    localAddresses: [],
    ledger: true,
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
