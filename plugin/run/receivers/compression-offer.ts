/**
 * Checks whether the server would compress messages for browsers. Browsers offer compression with every WebSocket, but
 * the load may not.
 */
import { connectClient } from './connect-client.ts';
import type { RunClient } from './run-clients.ts';

const TIMEOUT_MS = 5000;

/**
 * Opens and closes one connection that offers permessage-deflate. Never rejects.
 * @returns whether the server accepted the offer; null if no WebSocket opened
 */
export async function grantsCompression(client: RunClient, signal: AbortSignal): Promise<boolean | null> {
  if (signal.aborted) return null;
  const deadline = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]);
  const connection = { ...client.connection, transports: ['websocket' as const], compression: true };
  const { socket } = (await connectClient({ ...client, connection }, deadline).catch(() => undefined)) ?? {};
  const granted = (await socket?.describe())?.isCompressed ?? null;
  await socket?.disconnect();
  return granted;
}
