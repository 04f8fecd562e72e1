/** Parses and validates the workers' replies, because their figures become part of a result. */
import { z } from 'zod';
import { boundedName, boundedText } from '../../../protocol/link/bounded-schemas.ts';
import {
  CONTROL_REPLY_SCHEMAS,
  type ControlAnswer,
  type ControlRequest,
} from '../../../protocol/wire/control-replies.ts';
import type { ControlReply } from '../../../protocol/wire/events.ts';

/** The error code can be any text, because servers of other versions may have other codes. */
const refusal = z.object({ ok: z.literal(false), code: boundedName, message: boundedText });

/** Returns the parsed reply to a request; undefined if the reply is invalid. */
export function parseControlReply<E extends ControlRequest>(
  request: E,
  given: unknown,
): ControlReply<ControlAnswer<E>> | undefined {
  const reply = z.discriminatedUnion('ok', [
    z.object({ ok: z.literal(true), value: CONTROL_REPLY_SCHEMAS[request] }),
    refusal,
  ]);
  return reply.safeParse(given).data as ControlReply<ControlAnswer<E>> | undefined;
}
