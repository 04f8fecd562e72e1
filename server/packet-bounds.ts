/**
 * Limits the number of elements in a packet before Socket.IO dispatches it. Socket.IO passes each element as a separate
 * argument to the listeners. About ten thousand of them overflow the stack outside of any handler, which crashes the
 * process.
 */
import type { AnyServer } from './any-server.ts';

/** Default limit of a packet's elements, including the event name, and of its attachments. */
export const MAX_PACKET_ELEMENTS = 1000;

/** Type of packet that clients must not send. Socket.IO closes the connection if a client does. */
const CONNECT_ERROR = 4;

interface Packet {
  type: number;
  data?: unknown;
  attachments?: number;
}

/** Decoder of any parser. Only Socket.IO's own decoder has `decodeString`. */
interface Decoder {
  on(event: 'decoded', listener: (packet: Packet) => void): unknown;
  decodeString?(text: string): Packet;
}

interface Parser {
  Decoder: new () => Decoder;
}

interface NamespacePrivates {
  _onServerSideEmit(args: unknown[]): void;
}

interface ServerPrivates {
  _parser: Parser;
  _nsps: Map<string, NamespacePrivates>;
}

type OnRefused = (event: 'packet' | 'server_side_emit', problem: string) => void;

/**
 * Closes a connection that sends a larger packet, and drops larger messages from other servers, in all namespaces.
 * Takes no memory per connection. Connections that are already open are not limited.
 * @param max limit of elements and of attachments
 * @returns a function that removes the limit
 */
export function limitPacketElements(io: AnyServer, max: number, onRefused: OnRefused): () => void {
  const server = io as unknown as ServerPrivates;
  const original = server._parser;
  const bounded = Object.create(original, { Decoder: { value: boundedDecoder(original.Decoder, max, onRefused) } });
  server._parser = bounded;
  const undo: (() => void)[] = [];
  const boundNamespace = (namespace: unknown) => {
    const target = namespace as NamespacePrivates;
    const receive = target._onServerSideEmit;
    const onServerSideEmit = (args: unknown[]) => {
      if (args.length <= max) receive.call(target, args);
      else onRefused('server_side_emit', tooMany(args.length, 'arguments', max));
    };
    target._onServerSideEmit = onServerSideEmit;
    undo.push(() => {
      if (target._onServerSideEmit === onServerSideEmit) target._onServerSideEmit = receive;
    });
  };
  for (const namespace of server._nsps.values()) boundNamespace(namespace);
  io.on('new_namespace', boundNamespace);
  return () => {
    if (server._parser === bounded) server._parser = original;
    io.off('new_namespace', boundNamespace);
    for (const step of undo) step();
  };
}

function boundedDecoder(Original: Parser['Decoder'], max: number, onRefused: OnRefused): Parser['Decoder'] {
  /** Makes the packet invalid instead of throwing an error, because a custom parser can emit at any time. */
  function inspect(packet: Packet): void {
    const { data } = packet;
    if (!Array.isArray(data) || data.length <= max) return;
    packet.type = CONNECT_ERROR;
    packet.data = undefined;
    onRefused('packet', tooMany(data.length, 'arguments', max));
  }
  return class extends Original {
    constructor() {
      super();
      // Registers this listener before Socket.IO's own listener.
      this.on('decoded', inspect);
    }

    /** Throws an error if there are too many attachments. Socket.IO then closes the connection. */
    override decodeString(text: string): Packet {
      const packet = (super.decodeString as (text: string) => Packet)(text);
      const { attachments = 0 } = packet;
      if (attachments <= max) return packet;
      const problem = tooMany(attachments, 'attachments', max);
      onRefused('packet', problem);
      throw new Error(problem);
    }
  };
}

function tooMany(count: number, what: string, max: number): string {
  return `a packet with ${count} ${what}; at most ${max} are allowed`;
}
