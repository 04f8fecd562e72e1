import { z } from 'zod';
import { reasonToCode } from '../../../protocol/codes/failure-codes.ts';
import type { EmittedMessage } from '../../fleet/fleet-messages.ts';
import type { FleetConnection } from '../../fleet/remote-connection.ts';
import { timeoutSchema } from '../../script/duration.ts';
import { namespaceSchema } from '../../script/options/connect-options.ts';
import { FlowError } from '../flow-error.ts';
import type { CompiledStep, VirtualUser } from '../virtual-user.ts';
import { answerChecksShape, compileAnswerChecks, compileDataCheck, dataCheckShape } from './answer-checks.ts';
import { compileConnect, connectOptions, connectSchema } from './connect-step.ts';
import { compileCall } from './function.ts';
import { defineStep, type StepBuildContext, type StepKind } from './step.ts';

const responseSchema = z
  .strictObject({
    on: z.string().optional().describe('the event’s name'),
    channel: z.string().optional().describe('the same, in the old form'),
    concat: z.boolean().optional().describe('with `data`: look for the text in all events together'),
    ...dataCheckShape,
    ...answerChecksShape,
  })
  .refine(({ on, channel }) => on !== undefined || channel !== undefined, { error: 'needs the event: on: "<event>"' });

/** Reserved event names: `socket.io-client` does not send them, and a server closes a connection that does. */
const RESERVED = ['connect', 'connect_error', 'disconnect', 'disconnecting', 'newListener', 'removeListener'];

/** Schema of an event name. Numbers become text, because a server's listeners are registered by text. */
const eventSchema = z
  .union([z.string(), z.number()], { error: 'expected the name of an event' })
  .transform(String)
  .refine((name) => !RESERVED.includes(name), {
    error: ({ input }) =>
      input === 'disconnect'
        ? 'write the step disconnect: true'
        : `Socket.IO reserves the name ${input}: choose another`,
  });

export const emitSchema = z.union(
  [
    z.tuple([eventSchema], z.unknown()),
    z
      .strictObject({
        channel: eventSchema.describe('old form: the event'),
        data: z.unknown().optional().describe('its argument'),
      })
      .transform(({ channel, data }) => [channel, data]),
  ],
  { error: 'expected a list: emit: ["<event>", <argument>, …]' },
);

const schema = z.strictObject({
  emit: emitSchema.describe('sends an event: `[event, argument, …]`'),
  namespace: namespaceSchema.default('').describe('default: the main namespace'),
  response: responseSchema.optional().describe('waits for an event, and checks it'),
  acknowledge: z
    .union([z.boolean(), z.strictObject({ ...dataCheckShape, ...answerChecksShape })])
    .optional()
    .describe('waits for the acknowledgement, and checks it'),
  timeout: timeoutSchema.optional().describe('for both, from the emit; default: the option `timeout`'),
  connect: connectSchema.optional().describe('opens a new connection first, like the step'),
  reconnect: z.boolean().optional().describe('the same as `connect: true`'),
  beforeRequest: z
    .union([z.string(), z.array(z.string())])
    .optional()
    .describe('functions `(step, context, events, next)` that can change this virtual user’s copy of the step'),
});

const plainEmit = defineStep({
  schema,
  besideKeys: ['connect'],
  functionKeys: ['beforeRequest'],
  connect: ({ connect }) => connectOptions(connect),
  compile(spec, build) {
    const send = compileSend(spec, build);
    const fresh = spec.connect ?? (spec.reconnect ? true : undefined);
    if (fresh === undefined) return send;
    const connect = compileConnect({ connect: fresh, namespace: spec.namespace, timeout: spec.timeout }, build);
    return async (user) => {
      await connect(user);
      await send(user);
    };
  },
});

/** `emit: ["event", …]`: sends an event, and checks the acknowledgement or response if the step has checks. */
export const emitStep: StepKind = {
  ...plainEmit,
  compile(spec, build) {
    const { beforeRequest, ...step } = spec as Record<string, unknown>;
    if (beforeRequest === undefined) return plainEmit.compile(spec, build);
    return compileHooked([beforeRequest].flat().map(String), step, build);
  },
};

/**
 * Compiles the step anew for each virtual user, after its functions have run. The functions can change the user's copy
 * of the step.
 */
function compileHooked(names: string[], step: object, build: StepBuildContext): CompiledStep {
  const hooks = names.map((name) => compileCall(name, build.shared));
  return async (user) => {
    const own = structuredClone(step);
    for (const hook of hooks) await hook(user.context, [own, user.context, user.events]);
    const { error } = schema.safeParse(own);
    if (error)
      throw new FlowError(`function_${reasonToCode(names.join())}`, `left an invalid step: ${z.prettifyError(error)}`);
    await plainEmit.compile(own, build)(user);
  };
}

function compileSend(spec: z.output<typeof schema>, build: StepBuildContext): CompiledStep {
  const { meter } = build.shared;
  const [event, ...args] = spec.emit;
  const emission = build.template({ event, args });
  const namespaceOf = build.template(spec.namespace);
  const exchange = spec.acknowledge || spec.response ? compileExchange(spec, build) : undefined;
  const count = () => {
    meter.count('emit');
    meter.rate('emitRate');
  };
  return (user) => {
    const { session, context } = user;
    const namespace = build.namespace(String(namespaceOf(context)));
    const sent = emission(context) as EmittedMessage;
    if (exchange) {
      return build.use(user, namespace).then((connection) => {
        count();
        return exchange(user, connection, namespace, sent);
      });
    }
    const connection = session.ready(namespace);
    if (!connection) return session.send(namespace, sent, build.connectionChanges(context)).then(count);
    connection.emit(namespace, sent.event, sent.args);
    count();
  };
}

/** Compiles an `emit` step that waits for the acknowledgement, for a response event, or for both. */
function compileExchange({ acknowledge, response, timeout }: z.output<typeof schema>, build: StepBuildContext) {
  const { config, meter } = build.shared;
  const timeoutMs = timeout ?? config.timeoutMs;
  const ackSpec = acknowledge === true ? {} : acknowledge || undefined;
  const ackChecks = ackSpec && compileAnswerChecks(ackSpec, build);
  const ackHasData = ackSpec && compileDataCheck(ackSpec, build);
  const responseChecks = compileAnswerChecks(response ?? {}, build);
  const responseHasData = compileDataCheck(response ?? {}, build);
  const responseEvent = build.template(response?.on ?? response?.channel);

  return async (user: VirtualUser, connection: FleetConnection, namespace: string, { event, args }: EmittedMessage) => {
    const { session } = user;
    const startedAt = performance.now();
    const events: unknown[][] = [];
    // Listening begins before the emit, so that no response is missed.
    const answer =
      response &&
      session.expect(connection, {
        namespace,
        event: String(responseEvent(user.context)),
        timeoutMs,
        timeoutCode: () => (events.length > 0 ? 'data_not_valid' : 'response_timeout'),
        // A response with `data` is the first event that contains the data, as in Artillery's own engine.
        accept: (received) => events.push(received) > 0 && (responseHasData?.(events, user) ?? true),
      });
    try {
      if (ackChecks) {
        const acked = await connection.emitWithAck(namespace, event, args, timeoutMs);
        meter.record('ackTime', performance.now() - startedAt);
        if (ackHasData?.([acked], user) === false)
          throw new FlowError('data_not_valid', `got ${JSON.stringify(acked)}`);
        ackChecks.verify(acked, user);
      } else connection.emit(namespace, event, args);
      if (!answer) return;
      const received = await answer.promise;
      meter.record('responseTime', performance.now() - startedAt);
      responseChecks.verify(received, user);
    } catch (error) {
      throw session.lost ?? error;
    } finally {
      answer?.cancel();
    }
  };
}
