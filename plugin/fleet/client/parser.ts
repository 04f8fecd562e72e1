/**
 * Loads custom Socket.IO parsers: modules for Socket.IO's option `parser`. Also limits the nesting of received data.
 */
import { createRequire } from 'node:module';
import type { Packet } from 'socket.io-parser';

type Message = string | ArrayBufferView | ArrayBuffer;

export interface Parser {
  Encoder: new () => { encode(packet: Packet): Message[] };
  Decoder: new () => {
    on(event: 'decoded', listener: (packet: Packet) => void): unknown;
    /**
     * Adds a message to the packet.
     * @throws Error if the message does not continue the packet
     */
    add(message: unknown): void;
  };
}

/**
 * Loads a parser.
 * @throws TypeError if the module is not a parser
 */
export function loadParser(file: string): Parser {
  const module = createRequire(import.meta.url)(file);
  const parser = module.Encoder ? module : module.default;
  if (!parser?.Encoder || !parser.Decoder) {
    throw new TypeError(`${file} is not a parser: it does not export Encoder and Decoder`);
  }
  return parser;
}

/** Deepest nesting that is accepted in received data, because later code copies and compares the data recursively. */
const MAX_LEVELS = 200;

/**
 * Checks the nesting of received data.
 * @throws Error if the data is nested too deeply to be copied
 */
export function requireShallow(data: unknown): void {
  if (nestsDeeper(data)) throw new Error('data that is nested too deeply');
}

/** Returns whether arrays and objects in decoded JSON are nested more than `levels` deep. */
export function nestsDeeper(value: unknown, levels = MAX_LEVELS): boolean {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return false;
  if (levels === 0) return true;
  for (const key in value) if (nestsDeeper((value as Record<string, unknown>)[key], levels - 1)) return true;
  return false;
}
