/** Connects one of the run's own clients, either with a plain connection or as a virtual user. */
import { addAbortListener } from 'node:events';
import { Fleet } from '../../fleet/fleet.ts';
import type { FleetSettings } from '../../fleet/fleet-messages.ts';
import { explainFailure, RefusedError } from './explain-failure.ts';
import type { RunClient } from './run-clients.ts';
import {
  type ConnectedClient,
  RUN_CLIENT_TIMEOUT_MS,
  RunConnection,
  type RunConnectionListeners,
  type RunSocket,
} from './run-connection.ts';

/**
 * Fleet settings for the run's own clients. They use `socket.io-client`, to be independent of the light client's code,
 * and no ledger counts them.
 */
export const RUN_CLIENT_FLEET: FleetSettings = {
  client: 'official',
  // These values are required but not used, because each connection has its own options.
  defaults: {
    ...{ url: '', path: '', transports: [], query: {}, headers: {}, auth: undefined, tls: {}, localAddress: undefined },
    connectTimeoutMs: RUN_CLIENT_TIMEOUT_MS,
  },
  localAddresses: [],
  ledger: false,
  broadcasts: { count: 0, bytes: undefined },
  fleet: { index: 0, of: 1 },
  disconnectRatePerSec: 1000,
};

/** The fleet in this process, shared by the run's clients. It has no timer that would keep the process alive. */
let localFleet: Promise<Fleet> | undefined;

/**
 * Number of clients to try, one after the other. If the server refuses all of them, it counts as refusing every client.
 */
const TRIES = 3;

/**
 * Connects a client. If the server refuses it, tries further clients, up to `TRIES` in total. The caller disconnects
 * the accepted client.
 * @throws see `connectClient`
 */
export async function connectFirstAccepted(next: () => RunClient, signal: AbortSignal): Promise<ConnectedClient> {
  for (let tries = 1; ; tries++) {
    try {
      return await connectClient(next(), signal);
    } catch (error) {
      if (!(error instanceof RefusedError) || tries === TRIES) throw error;
    }
  }
}

/**
 * Connects a client, which the caller disconnects.
 * @param fleet fleet that holds the connections; by default the fleet in this process
 * @throws RefusedError if the server refuses the client or a step of the flow fails; CapacityError TARGET_UNREACHABLE, or
 * the signal's reason
 */
export async function connectClient(
  client: RunClient,
  signal: AbortSignal,
  listeners: RunConnectionListeners = {},
  fleet?: Fleet,
): Promise<ConnectedClient> {
  const { connection: defaults, user } = client;
  signal.throwIfAborted();
  localFleet ??= fleet ? undefined : Fleet.here(RUN_CLIENT_FLEET);
  const holder = fleet ?? ((await localFleet) as Fleet);
  const connections: RunConnection[] = [];
  const newConnection = () => {
    const added = new RunConnection(holder.connection(), { defaults, listeners, ackEvents: user?.ackEvents ?? [] });
    connections.push(added);
    return added;
  };
  const close = () => void Promise.all(connections.map((connection) => connection.close()));
  const aborted = addAbortListener(signal, close);
  try {
    // Artillery is loaded only for virtual users, because plain connections do not need it.
    const { connectUser } = user ? await import('./connect-user.ts') : { connectUser: connectBare };
    const connected = await connectUser(client, newConnection);
    void connected.socket.ended.then(close);
    signal.throwIfAborted();
    return connected;
  } catch (error) {
    close();
    signal.throwIfAborted();
    throw error;
  } finally {
    aborted[Symbol.dispose]();
  }
}

async function connectBare({ connection }: RunClient, newConnection: () => RunConnection): Promise<ConnectedClient> {
  const opened = newConnection();
  const { namespace } = connection;
  await opened.open(namespace).catch(async (error) => {
    throw await explainFailure(connection, error);
  });
  return { socket: opened.sockets.get(namespace) as RunSocket };
}
