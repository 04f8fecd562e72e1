import { z } from 'zod';
import type { Emission } from '../../fleet/messages.ts';
import type { FleetConnection } from '../../fleet/remote-connection.ts';
import { timeoutSchema } from '../../script/duration.ts';
import { namespaceSchema } from '../../script/options/connect-options.ts';
import { openOptions } from '../connection-changes.ts';
import { FlowError, slug } from '../flow-error.ts';
import type { Step, VirtualUser } from '../virtual-user.ts';
import { argsShape, checksShape, compileChecks, compileData } from './checks.ts';
import { type Connect, compileConnect, connectionsOf, connectOptions, connectSchema } from './connect.ts';
import { compileCall } from './function.ts';
import { type Build, defineStep, type StepKind } from './step.ts';

const responseSchema = z
  .strictObject({
    on: z.string().optional().describe('the event’s name'),
    channel: z.string().optional().describe('the same, in the old form'),
    concat: z.boolean().optional().describe('with `data`: look for the text in all events together'),
    ...argsShape,
    ...checksShape,
  })
  .refine(({ on, channel }) => on !== undefined || channel !== undefined, { error: 'needs the event: on: "<event>"' });

export const emitSchema = z.union(
  [
    z.tuple([z.string()], z.unknown()),
    z
      .strictObject({
        channel: z.string().describe('old form: the event'),
        data: z.unknown().optional().describe('its argument'),
        ...nestedKeys(),
      })
      .transform(({ channel, data }) => [channel, data]),
  ],
  { error: 'expected a list: emit: ["<event>", <argument>, …]' },
);

/** The oldest form of the step nests `response` and `acknowledge`; the error names their new place. */
function nestedKeys() {
  const beside = z.undefined({ error: 'write it beside `emit`, not inside' }).optional();
  return { response: beside, acknowledge: beside, namespace: beside };
}

const schema = z.strictObject({
  emit: emitSchema.describe('sends an event: `[event, argument, …]`'),
  namespace: namespaceSchema.default('').describe('default: the main namespace'),
  response: responseSchema.optional().describe('waits for an event, and checks it'),
  acknowledge: z
    .union([z.boolean(), z.strictObject({ ...argsShape, ...checksShape })])
    .optional()
    .describe('waits for the acknowledgement, and checks it'),
  timeout: timeoutSchema.optional().describe('for both, from the emit on; default: the option `timeout`'),
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
  connections: ({ connect }) => connectionsOf(connect),
  connect: ({ connect }) => connectOptions(connect),
  compile(spec, build) {
    const send = compileSend(spec, build);
    const fresh = spec.connect ?? (spec.reconnect ? true : undefined);
    if (fresh === undefined) return send;
    const connect = compileConnect({ connect: fresh, namespace: spec.namespace, timeout: spec.timeout }, build);
    const home = typeof fresh === 'string' ? fresh : typeof fresh === 'object' ? fresh.namespace : undefined;
    const isElsewhere = home !== undefined && home !== spec.namespace;
    if (spec.acknowledge || spec.response || isElsewhere) {
      return async (user) => {
        await connect(user);
        await send(user);
      };
    }
    return compileConnectAndSend(spec, build, connect);
  },
});

/** `emit: ["event", …]`, and what is expected in return. */
export const emit: StepKind = {
  ...plainEmit,
  compile(spec, build) {
    const { beforeRequest, ...step } = spec as Record<string, unknown>;
    if (beforeRequest === undefined) return plainEmit.compile(spec, build);
    return compileHooked([beforeRequest].flat().map(String), step, build);
  },
};

/** Each virtual user has its own copy of the step, which the functions can change; so it is compiled after them. */
function compileHooked(names: string[], step: object, build: Build): Step {
  const hooks = names.map((name) => compileCall(name, build.shared));
  return async (user) => {
    const own = structuredClone(step);
    for (const hook of hooks) await hook([own, user.context, user.events]);
    const { error } = schema.safeParse(own);
    if (error) throw new FlowError(`function_${slug(names.join())}`, `left an invalid step: ${z.prettifyError(error)}`);
    await plainEmit.compile(own, build)(user);
  };
}

/** Passes the event with the `open` command, which sends it as soon as the namespace is open; on every connection. */
function compileConnectAndSend(spec: z.output<typeof schema>, build: Build, connect: Connect): Step {
  const { meter } = build.shared;
  const emission = compileEmission(spec, build);
  return async (user) => {
    let sent = await connect(user, emission(user));
    for (; sent > 0; sent--) {
      meter.count('emit');
      meter.rate('emitRate');
    }
  };
}

/** The event and its arguments. */
function compileEmission({ emit: [event, ...args] }: z.output<typeof schema>, build: Build) {
  const template = build.template({ event, args });
  return ({ context }: VirtualUser) => template(context) as Emission;
}

function compileSend(spec: z.output<typeof schema>, build: Build): Step {
  const { config, meter } = build.shared;
  const namespaceOf = build.template(spec.namespace);
  const emission = compileEmission(spec, build);
  const timeoutMs = spec.timeout ?? config.timeoutMs;
  const acknowledge = spec.acknowledge
    ? compileChecks(spec.acknowledge === true ? {} : spec.acknowledge, build)
    : undefined;
  const response = spec.response && compileChecks({ ...spec.response, data: undefined }, build);
  const hasData = compileData(spec.response ?? {}, build);
  const responseEvent = build.template(spec.response?.on ?? spec.response?.channel);

  function send(user: VirtualUser, connection: FleetConnection, namespace: string): Promise<void> | undefined {
    const { event, args } = emission(user);
    meter.count('emit');
    meter.rate('emitRate');
    const others = user.session.group?.each((other) => sendLikewise(other, namespace, event, args));
    if (acknowledge || response) {
      const exchanged = exchange(user, connection, namespace, event, args);
      return others ? Promise.all([exchanged, others]).then(() => {}) : exchanged;
    }
    connection.emit(namespace, event, args);
    return others;
  }

  /** The further connections of a virtual user wait for their acknowledgements, but do not check them. */
  function sendLikewise(
    connection: FleetConnection,
    namespace: string,
    event: string,
    args: unknown[],
  ): Promise<unknown> | undefined {
    meter.count('emit');
    meter.rate('emitRate');
    if (acknowledge) return connection.emitWithAck(namespace, event, args, timeoutMs);
    connection.emit(namespace, event, args);
    return undefined;
  }

  async function exchange(
    user: VirtualUser,
    connection: FleetConnection,
    namespace: string,
    event: string,
    args: unknown[],
  ): Promise<void> {
    const startedAt = performance.now();
    // Listens before the emit, so that the answer cannot be missed.
    const answer =
      response &&
      user.session.expect(connection, {
        namespace,
        event: String(responseEvent(user.context)),
        timeoutMs,
        ...(spec.response?.data === undefined
          ? { timeoutCode: () => 'response_timeout' as const }
          : untilExpected((events) => hasData(events, user))),
      });
    try {
      if (acknowledge) {
        const acked = await connection.emitWithAck(namespace, event, args, timeoutMs);
        meter.record('ackTime', performance.now() - startedAt);
        acknowledge.verify(acked, user);
      } else connection.emit(namespace, event, args);
      if (!answer) return;
      const received = await answer.promise;
      meter.record('responseTime', performance.now() - startedAt);
      response?.verify(received, user);
    } catch (error) {
      throw user.session.lost ?? error;
    } finally {
      answer?.cancel();
    }
  }

  return (user) => {
    const namespace = build.namespace(String(namespaceOf(user.context)));
    const connection = user.session.ready(namespace);
    if (connection) return send(user, connection, namespace);
    return openAndSend(user, namespace);
  };

  async function openAndSend(user: VirtualUser, namespace: string): Promise<void> {
    const { session } = user;
    const changes = build.connectionChanges(user.context);
    if (acknowledge || response || session.group) {
      await send(user, await session.use(namespace, openOptions(changes)), namespace);
      return;
    }
    await session.send(namespace, emission(user), changes);
    meter.count('emit');
    meter.rate('emitRate');
  }
}

/** As in Artillery's engine, a response with `data` is the first event that has it, and not just the first event. */
function untilExpected(hasData: (events: unknown[][]) => boolean) {
  const events: unknown[][] = [];
  return {
    timeoutCode: () => (events.length > 0 ? ('data_not_valid' as const) : ('response_timeout' as const)),
    accept(args: unknown[]): boolean {
      events.push(args);
      return hasData(events);
    },
  };
}
