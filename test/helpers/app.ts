import { type EventEmitter, once } from 'node:events';
import { pino } from 'pino';
import { io as connect, type ManagerOptions, type Socket, type SocketOptions } from 'socket.io-client';
import { CONTROL_NAMESPACE, type ControlReply } from '../../protocol/wire/events.ts';
import { createServerApp } from '../../server/app.ts';
import { parseServerConfig } from '../../server/config.ts';
import type { Cleaner } from './raw-listen.ts';

export const TOKEN = 'token-of-the-tests';

export type TestApp = Awaited<ReturnType<typeof startApp>>;

/**
 * Starts a worker on free ports. It runs until the test ends.
 * @param environment environment of the worker
 */
export async function startApp(t: Cleaner, environment: Record<string, string> = {}) {
  const config = parseServerConfig({ CAPACITY_TOKEN: TOKEN, CAPACITY_DRAIN_MS: '500', ...environment });
  const app = await createServerApp(config, pino({ level: 'silent' }));
  const { port, controlPort } = await app.start();
  t.after(() => app.close());
  const controlUrl = `http://127.0.0.1:${controlPort}`;
  /** Value of the option `control`. */
  const control = { urls: [controlUrl], token: TOKEN };
  return { ...app, port, controlPort, url: `http://127.0.0.1:${port}`, controlUrl, control };
}

/** Connects an official client over its own connection. Rejects with the client's `connect_error`. */
export async function connectClient(
  url: string,
  options: Partial<ManagerOptions & SocketOptions> = {},
): Promise<Socket> {
  const socket = connect(url, { forceNew: true, reconnection: false, transports: ['websocket'], ...options });
  const failed = onceOf(socket, 'connect_error').then(([error]) => {
    socket.disconnect();
    throw error;
  });
  await Promise.race([onceOf(socket, 'connect'), failed]);
  return socket;
}

/**
 * Returns a promise for an event of the official client or its parts. They have the methods of Node's emitters, but not
 * their types.
 */
export function onceOf(emitter: object, event: string): Promise<unknown[]> {
  return once(emitter as EventEmitter, event);
}

/** Connects a client to the control namespace. The caller must disconnect it. */
export function connectControl(controlPort: number, token = TOKEN): Promise<Socket> {
  return connectClient(`http://127.0.0.1:${controlPort}${CONTROL_NAMESPACE}`, {
    extraHeaders: { authorization: `Bearer ${token}` },
  });
}

/**
 * Sends a control request.
 * @returns the value of the reply
 * @throws Error `code: message` if the server refuses
 */
export async function ask<T>(control: Socket, request: string, ...args: unknown[]): Promise<T> {
  const reply: ControlReply<T> = await control.timeout(60_000).emitWithAck(request, ...args);
  if (!reply.ok) throw new Error(`${reply.code}: ${reply.message}`);
  return reply.value;
}
