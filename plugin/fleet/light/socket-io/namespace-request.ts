/** The request for a namespace, as the first packet of nearly every connection: encoded once for those that are the same. */

import { encodeMessages } from '../engine-io/engine-io.ts';
import type { EngineIoPacket } from '../polling/payload.ts';
import { type PacketCodec, PacketType } from './codec.ts';

/** The last request for a namespace: the next one is nearly always the same. */
let lastRequest: Request | undefined;

interface Request {
  codec: PacketCodec;
  nsp: string;
  auth: unknown;
  messages: EngineIoPacket[];
  /** The same, as WebSocket sends them. */
  frames: Buffer;
}

export function encodeRequest(codec: PacketCodec, nsp: string, auth: Record<string, unknown> | undefined): Request {
  if (lastRequest?.codec !== codec || lastRequest.nsp !== nsp || lastRequest.auth !== auth) {
    const messages = codec.encode({ type: PacketType.CONNECT, nsp, data: auth });
    lastRequest = { codec, nsp, auth, messages, frames: encodeMessages(messages) };
  }
  return lastRequest;
}
