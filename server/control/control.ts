/**
 * Serves the control namespace to clients with the token: publish, count members, collect garbage, statistics, clock.
 */
import type { Server, Socket } from 'socket.io';
import { z } from 'zod';
import { CapacityError } from '../../protocol/codes/errors.ts';
import { profileKindSchema } from '../../protocol/profiles/profile-schema.ts';
import {
  CONTROL_NAMESPACE,
  type ControlAnswer,
  type ControlReply,
  type ControlRequest,
  MAX_BROADCAST_BYTES,
} from '../../protocol/wire/events.ts';
import type { HandlerGuard } from '../guard.ts';

/** Requests of the wire contract as functions. They return the reply instead of passing it to a callback. */
export type ControlRequests = {
  [Name in ControlRequest]: (
    ...args: z.output<(typeof REQUEST_ARGUMENTS)[Name]>
  ) => ControlAnswer<Name> | Promise<ControlAnswer<Name>>;
};

const room = z.string().min(1);
const REQUEST_ARGUMENTS = {
  broadcast: z.tuple([
    z.strictObject({
      room,
      bytes: z.number().int().min(0).max(MAX_BROADCAST_BYTES),
      binary: z.boolean().optional(),
      seq: z.number().int().positive(),
      atUs: z.number().optional(),
      count: z.literal(false).optional(),
    }),
  ]),
  members: z.tuple([room]),
  servers: z.tuple([]),
  gc: z.tuple([]),
  stats: z.tuple([]),
  resources: z.tuple([]),
  batches: z.tuple([]),
  eventLoop: z.tuple([z.boolean()]),
  profile: z.tuple([z.enum(['start', 'take', 'end']), profileKindSchema]),
  time: z.tuple([]),
} satisfies Record<ControlRequest, z.ZodType>;

/**
 * Serves the requests in the control namespace of `controlIo`. A request without a callback for the reply is malformed.
 */
export function serveControl(controlIo: Server, requests: ControlRequests, guard: HandlerGuard): void {
  const onRequest = guard.wrap('control', async function (this: Socket, event: string, ...args: unknown[]) {
    const reply = args.pop();
    const request = requestOf(event, args);
    if (typeof reply !== 'function' || 'malformed' in request) {
      guard.malformed(`control ${Object.hasOwn(REQUEST_ARGUMENTS, event) ? event : 'unknown'}`, this);
    }
    if (typeof reply === 'function')
      reply('malformed' in request ? request.malformed : await answer(requests, request));
  });
  // Handles all events, so that unknown requests also get a reply.
  controlIo.of(CONTROL_NAMESPACE).on('connection', (socket) => socket.onAny(onRequest));
}

type Parsed = { name: ControlRequest; args: unknown[] };

function requestOf(event: string, args: unknown[]): Parsed | { malformed: ControlReply<never> } {
  if (!Object.hasOwn(REQUEST_ARGUMENTS, event)) {
    return { malformed: { ok: false, code: 'VERSIONS_DIFFER', message: `there is no control request "${event}"` } };
  }
  const name = event as ControlRequest;
  const parsed = REQUEST_ARGUMENTS[name].safeParse(args);
  if (parsed.success) return { name, args: parsed.data };
  return { malformed: { ok: false, code: 'REQUEST_FAILED', message: z.prettifyError(parsed.error) } };
}

async function answer(requests: ControlRequests, { name, args }: Parsed): Promise<ControlReply<unknown>> {
  try {
    const request = requests[name] as (...args: unknown[]) => unknown;
    return { ok: true, value: await request(...args) };
  } catch (error) {
    const code = error instanceof CapacityError ? error.code : 'REQUEST_FAILED';
    return { ok: false, code, message: (error as Error).message };
  }
}
