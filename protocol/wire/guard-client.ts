/**
 * Whatever a server sends, a client of `socket.io-client` fails by its own events: the library throws what it cannot read, such as
 * a handshake that is not JSON, where nobody can catch it, and that ends the process.
 */
import type { Manager } from 'socket.io-client';
import { z } from 'zod';

/** What the library reads of it without looking. */
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
  /** That of the latest attempt; undefined before the first. */
  engine?: EnginePrivates;
  open(...args: unknown[]): unknown;
  ondecoded(packet: { data?: unknown }): void;
  emitReserved(event: 'packet', packet: unknown): void;
}

interface Guards {
  /** Gets each packet. @throws Error for one that nobody may get */
  inspect?(data: unknown): void;
  /** By default, the client goes on as after any other error of its transport. */
  onUnreadable?(error: Error): void;
}

/** @returns the same client, which throws nothing of what it reads */
export function guardClient(manager: Manager, { inspect, onUnreadable }: Guards = {}): Manager {
  const client = manager as unknown as ManagerPrivates;
  const report = onUnreadable ?? (({ message }) => client.engine?.transport.onError(`${UNREADABLE}: ${message}`));
  const { open } = client;
  // Each attempt has an engine of its own; a client that connects at once has it already.
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
    // As the library does.
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
