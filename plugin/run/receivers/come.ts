/** Lets one client of the run come. */
import { connectOfficial, type Listeners, Refused } from './official-client.ts';
import type { Came, OwnClient } from './own-clients.ts';

/** Clients that a server may refuse one after the other before it counts as one that refuses them all. */
const TRIES = 3;

/** Lets one of several clients come, for a server that refuses some of them. The caller disconnects it. @throws as `come` does */
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
 * @throws Refused if the server, or a step of the flow, does not let it in; CapacityError TARGET_UNREACHABLE, or the signal's reason
 */
export async function come(client: OwnClient, signal: AbortSignal, listeners: Listeners = {}): Promise<Came> {
  const { connection, user } = client;
  if (!user) return { socket: await connectOfficial(connection, signal, listeners), connection };
  // Imported late: a process with one bare connection is to begin at once.
  const { comeAsUser } = await import('./come-as-user.ts');
  return comeAsUser(client, user, signal, listeners);
}
