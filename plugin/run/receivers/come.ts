/** Lets one client of the run connect: bare, or as a virtual user. */
import { addAbortListener } from 'node:events';
import { Fleet } from '../../fleet/fleet.ts';
import type { FleetSettings } from '../../fleet/fleet-messages.ts';
import { explain, Refused } from './explain-failure.ts';
import type { OwnClient } from './own-clients.ts';
import { type Came, CONNECT_TIMEOUT_MS, type Listeners, OwnConnection, type OwnSocket } from './own-connection.ts';

/** They are official clients, as independent of the load's light ones as a browser is; their receipts are in no ledger. */
export const OWN_FLEET: FleetSettings = {
  client: 'official',
  // Each connection brings all of its options.
  defaults: {
    ...{ url: '', path: '', transports: [], query: {}, headers: {}, auth: undefined, tls: {}, localAddress: undefined },
    connectTimeoutMs: CONNECT_TIMEOUT_MS,
  },
  localAddresses: [],
  ledger: false,
  broadcasts: { count: 0, bytes: undefined },
  fleet: { index: 0, of: 1 },
  disconnectRatePerSec: 1000,
};

/** One for all clients of this process: it has no socket, and no timer that keeps the process alive. */
let here: Promise<Fleet> | undefined;

/** Clients that a server may refuse one after the other before it counts as one that refuses them all. */
const TRIES = 3;

/** Lets one of several clients connect, for a server that refuses some of them. The caller disconnects it. @throws as `come` does */
export async function comeOneOf(next: () => OwnClient, signal: AbortSignal): Promise<Came> {
  for (let tries = 1; ; tries++) {
    try {
      return await come(next(), signal);
    } catch (error) {
      if (!(error instanceof Refused) || tries === TRIES) throw error;
    }
  }
}

/**
 * The caller disconnects it.
 * @param fleet that holds its connections, by default one in this process
 * @throws Refused if the server, or a step of the flow, does not let it in; CapacityError TARGET_UNREACHABLE, or the signal's reason
 */
export async function come(
  client: OwnClient,
  signal: AbortSignal,
  listeners: Listeners = {},
  fleet?: Fleet,
): Promise<Came> {
  const { connection: defaults, user } = client;
  signal.throwIfAborted();
  here ??= fleet ? undefined : Fleet.here(OWN_FLEET);
  const holding = fleet ?? ((await here) as Fleet);
  const made: OwnConnection[] = [];
  const newConnection = () => {
    const one = new OwnConnection(holding.connection(), { defaults, listeners, asked: user?.asked ?? [] });
    made.push(one);
    return one;
  };
  const close = () => void Promise.all(made.map((one) => one.close()));
  const aborted = addAbortListener(signal, close);
  try {
    // Imported late: Artillery is loaded for users only.
    const { playUser } = user ? await import('./come-as-user.ts') : { playUser: playNothing };
    const came = await playUser(client, newConnection);
    void came.socket.ended.then(close);
    signal.throwIfAborted();
    return came;
  } catch (error) {
    close();
    signal.throwIfAborted();
    throw error;
  } finally {
    aborted[Symbol.dispose]();
  }
}

async function playNothing({ connection }: OwnClient, newConnection: () => OwnConnection): Promise<Came> {
  const made = newConnection();
  const { namespace } = connection;
  await made.open(namespace).catch(async (error) => {
    throw await explain(connection, error);
  });
  return { socket: made.sockets.get(namespace) as OwnSocket };
}
