/** What client and server agree on for permessage-deflate (RFC 7692): the offer, and the server's answer to it. */
import { webSocketError } from '../protocol-error.ts';

const EXTENSION = 'permessage-deflate';
/** The same offer as that of `ws`, and thus of socket.io-client. */
export const DEFLATE_OFFER = `${EXTENSION}; client_max_window_bits`;

/** In bits, the distance of the farthest repetition. */
const MAX_WINDOW_BITS = 15;
const WINDOW_BITS = /^(?:[89]|1[0-5])$/;

export interface DeflateGrant {
  /** Each message of the server is compressed by itself. */
  serverNoContextTakeover: boolean;
  /** Each message of the client is to be. */
  clientNoContextTakeover: boolean;
  serverMaxWindowBits: number;
  clientMaxWindowBits: number;
}

/**
 * @param header `Sec-WebSocket-Extensions` of the answer
 * @throws ProtocolError for anything but an answer to `DEFLATE_OFFER`
 */
export function readGrant(header: string): DeflateGrant {
  const [extension, ...parameters] = header.split(';').map((part) => part.trim());
  if (extension !== EXTENSION) throw webSocketError(`an extension that was not asked for: ${extension}`);
  const given = new Map<string, string | undefined>();
  for (const parameter of parameters) {
    const [name = '', ...values] = parameter.split('=').map((part) => part.trim());
    const value = values.length === 0 ? undefined : values.join('=').replace(/^"(.*)"$/, '$1');
    if (given.has(name) || !isValid(name, value)) throw webSocketError(`${EXTENSION} with ${parameter}`);
    given.set(name, value);
  }
  return {
    serverNoContextTakeover: given.has('server_no_context_takeover'),
    clientNoContextTakeover: given.has('client_no_context_takeover'),
    serverMaxWindowBits: Number(given.get('server_max_window_bits') ?? MAX_WINDOW_BITS),
    clientMaxWindowBits: Number(given.get('client_max_window_bits') ?? MAX_WINDOW_BITS),
  };
}

function isValid(name: string, value: string | undefined): boolean {
  if (name === 'server_no_context_takeover' || name === 'client_no_context_takeover') return value === undefined;
  const hasBits = name === 'server_max_window_bits' || name === 'client_max_window_bits';
  return hasBits && value !== undefined && WINDOW_BITS.test(value);
}
