/** What ordinary clients would get and a load may not ask for: browsers offer compression with every WebSocket. */
import { type EventEmitter, once } from 'node:events';
import { come } from './come.ts';
import type { OwnClient } from './own-clients.ts';

const TIMEOUT_MS = 5000;

/** That of `ws`, which engine.io-client does not declare. */
type WebSocketOfClient = EventEmitter & { extensions: string; terminate(): void };

/**
 * One client offers permessage-deflate, and leaves.
 * @returns whether the server granted it; null if there was no WebSocket. Never rejects
 */
export async function grantsCompression(client: OwnClient, signal: AbortSignal): Promise<boolean | null> {
  if (signal.aborted) return null;
  const deadline = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]);
  const connection = { ...client.connection, transports: ['websocket' as const], compression: true };
  const { socket } = (await come({ ...client, connection }, deadline).catch(() => undefined)) ?? {};
  const { ws } = (socket?.io.engine.transport ?? {}) as { ws?: WebSocketOfClient };
  const granted = ws ? ws.extensions !== '' : null;
  // The server is to have no connection of ours when the run counts those of others.
  const closed = ws && socket?.connected && once(ws, 'close', { signal: deadline }).catch(() => ws.terminate());
  socket?.disconnect();
  await closed;
  return granted;
}
