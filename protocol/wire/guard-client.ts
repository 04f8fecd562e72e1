/**
 * Makes `socket.io-client` report invalid data through its events. The library throws an error on data that it cannot
 * read, such as a handshake that is not JSON. No caller can catch this error, so the process would crash.
 */
import type { Manager } from 'socket.io-client';
import { z } from 'zod';

/** Fields of the handshake that the library uses without checking them. */
const handshakeSchema = z.looseObject({
  sid: z.string().min(1),
  upgrades: z.array(z.string()).max(100),
  pingInterval: z.number(),
  pingTimeout: z.number(),
});

const UNREADABLE = 'what the server sent cannot be read';

interface TransportPrivates {
  onPacket(packet: unknown): void;
  onError(reason: string): void;
}

interface EnginePrivates {
  transport: TransportPrivates;
  onHandshake(handshake: unknown): void;
  on(event: 'upgrading', listener: (transport: TransportPrivates) => void): void;
}

interface ManagerPrivates {
  /** Engine of the latest connection attempt; undefined before the first attempt. */
  engine?: EnginePrivates;
  open(...args: unknown[]): unknown;
  ondecoded(packet: { data?: unknown }): void;
  emitReserved(event: 'packet', packet: unknown): void;
}

interface Guards {
  /**
   * Called with the data of each packet.
   * @throws Error to reject the packet
   */
  inspect?(data: unknown): void;
  /** Called with the error. By default, the client handles the error like an error of its transport. */
  onUnreadable?(error: Error): void;
}

/**
 * Prevents a client from throwing an error on invalid data.
 * @returns the same client
 */
export function guardClient(manager: Manager, { inspect, onUnreadable }: Guards = {}): Manager {
  const client = manager as unknown as ManagerPrivates;
  const report = onUnreadable ?? (({ message }) => client.engine?.transport.onError(`${UNREADABLE}: ${message}`));
  const { open } = client;
  // Guards the engine of each connection attempt. A client that connects at once already has an engine.
  client.open = (...args) => {
    open.apply(client, args);
    guardEngine(client.engine, report);
    return client;
  };
  guardEngine(client.engine, report);
  client.ondecoded = (packet) => {
    const read = () => {
      inspect?.(packet.data);
      client.emitReserved('packet', packet);
    };
    // Reads the handshake in the next tick, because the library does the same.
    process.nextTick(() => guarded(read, report));
  };
  return manager;
}

function guardEngine(engine: EnginePrivates | undefined, report: (error: Error) => void): void {
  if (engine === undefined || Object.hasOwn(engine, 'onHandshake')) return;
  const { onHandshake } = engine;
  engine.onHandshake = (handshake) => {
    const { data } = handshakeSchema.safeParse(handshake);
    if (!data) throw new Error('it is no Engine.IO handshake');
    onHandshake.call(engine, data);
  };
  const guardTransport = (transport: TransportPrivates) => {
    const { onPacket } = transport;
    transport.onPacket = (packet) => guarded(() => onPacket.call(transport, packet), report);
  };
  guardTransport(engine.transport);
  engine.on('upgrading', guardTransport);
}

function guarded(read: () => void, report: (error: Error) => void): void {
  try {
    read();
  } catch (error) {
    report(error as Error);
  }
}
