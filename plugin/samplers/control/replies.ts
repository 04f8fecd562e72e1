/** Parses and validates the workers' replies, because their figures become part of a result. */
import { z } from 'zod';
import { name, sentence } from '../../../protocol/link/bounded-schemas.ts';
import { type Answer, type ControlRequest, REPLIES } from '../../../protocol/wire/control-replies.ts';
import type { ControlReply } from '../../../protocol/wire/events.ts';

/** The code can be any text, because servers of other versions may have other codes. */
const refusal = z.object({ ok: z.literal(false), code: name, message: sentence });

/** Returns the parsed reply to a request; undefined if the reply is invalid. */
export function replyTo<E extends ControlRequest>(request: E, given: unknown): ControlReply<Answer<E>> | undefined {
  const reply = z.discriminatedUnion('ok', [z.object({ ok: z.literal(true), value: REPLIES[request] }), refusal]);
  return reply.safeParse(given).data as ControlReply<Answer<E>> | undefined;
}
