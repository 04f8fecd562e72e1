/** What ordinary clients would get and a load may not ask for: browsers offer compression with every WebSocket. */
import { type EventEmitter, once } from 'node:events';
import { Manager } from 'socket.io-client';
import { guardClient } from '../../../protocol/guard-client.ts';
import { managerOptions } from '../../fleet/official/manager-options.ts';
import type { ConnectionTarget } from '../../script/connection-target.ts';

const TIMEOUT_MS = 5000;

/** That of `ws`, which engine.io-client does not declare. */
type WebSocketOfClient = EventEmitter & { extensions: string; terminate(): void };

/**
 * Opens one WebSocket that offers permessage-deflate, up to Engine.IO's handshake, and closes it.
 * @returns whether the server granted it; null if there was no WebSocket. Never rejects
 */
export async function grantsCompression(connection: ConnectionTarget, signal: AbortSignal): Promise<boolean | null> {
  if (signal.aborted) return null;
  const deadline = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]);
  const options = managerOptions({ ...connection, transports: ['websocket'], compression: true });
  const manager = guardClient(new Manager(new URL(connection.url.replace(/^ws/, 'http')).origin, options));
  // The deadline covers it.
  manager.timeout(false);
  const isOpen = await new Promise<boolean>((resolve) => {
    deadline.addEventListener('abort', () => resolve(false), { once: true });
    manager.open((error) => resolve(error === undefined));
  });
  const { ws } = manager.engine.transport as { ws?: WebSocketOfClient };
  const extensions = isOpen ? ws?.extensions : undefined;
  manager.engine.close();
  // The server is to have no connection of ours when the run counts those of others.
  if (isOpen && ws) await once(ws, 'close', { signal: deadline }).catch(() => ws.terminate());
  return extensions === undefined ? null : extensions !== '';
}
