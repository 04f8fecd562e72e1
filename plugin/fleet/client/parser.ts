/** Parsers other than Socket.IO's default: modules with the classes that its option `parser` takes. */
import { createRequire } from 'node:module';
import type { Packet } from 'socket.io-parser';

type Message = string | ArrayBufferView | ArrayBuffer;

export interface Parser {
  Encoder: new () => { encode(packet: Packet): Message[] };
  Decoder: new () => {
    on(event: 'decoded', listener: (packet: Packet) => void): unknown;
    /** @throws Error for what is no part of a packet */
    add(message: unknown): void;
  };
}

/** @throws TypeError if the module is no parser */
export function loadParser(file: string): Parser {
  const module = createRequire(import.meta.url)(file);
  const parser = module.Encoder ? module : module.default;
  if (!parser?.Encoder || !parser.Decoder) {
    throw new TypeError(`${file} is not a parser: it does not export Encoder and Decoder`);
  }
  return parser;
}
