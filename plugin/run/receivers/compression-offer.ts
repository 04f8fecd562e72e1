/** What ordinary clients would get and a load may not ask for: browsers offer compression with every WebSocket. */
import { come } from './come.ts';
import type { OwnClient } from './own-clients.ts';

const TIMEOUT_MS = 5000;

/**
 * One client offers permessage-deflate, and leaves.
 * @returns whether the server granted it; null if there was no WebSocket. Never rejects
 */
export async function grantsCompression(client: OwnClient, signal: AbortSignal): Promise<boolean | null> {
  if (signal.aborted) return null;
  const deadline = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]);
  const connection = { ...client.connection, transports: ['websocket' as const], compression: true };
  const { socket } = (await come({ ...client, connection }, deadline).catch(() => undefined)) ?? {};
  const granted = (await socket?.describe())?.isCompressed ?? null;
  await socket?.disconnect();
  return granted;
}
