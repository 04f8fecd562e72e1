/** Lets one client of the run come. */
import { connectOfficial, type Listeners } from './official-client.ts';
import type { Came, OwnClient } from './own-clients.ts';

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
