/** A parser module for Socket.IO's option `parser` as a codec of the light client. */
import type { Parser } from '../../client/parser.ts';
import { type Packet, type PacketCodec, type PacketDecoder, toBytes } from './codec.ts';

/** One for each packet, which can have several messages. */
class ParserDecoder implements PacketDecoder {
  readonly #decoder: InstanceType<Parser['Decoder']>;
  #packet: Packet | undefined;

  constructor({ Decoder }: Parser) {
    this.#decoder = new Decoder();
    this.#decoder.on('decoded', (packet) => {
      this.#packet = packet;
    });
  }

  add(message: string | Buffer): Packet | undefined {
    this.#decoder.add(message);
    return this.#packet;
  }
}

export function parserCodec(parser: Parser): PacketCodec {
  const encoder = new parser.Encoder();
  return {
    hasPlainEvents: false,
    encode: (packet) =>
      encoder.encode(packet).map((message) => (typeof message === 'string' ? message : toBytes(message))),
    decoderFor: () => new ParserDecoder(parser),
  };
}
