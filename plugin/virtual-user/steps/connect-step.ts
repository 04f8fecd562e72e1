/** Steps that open, hold or close a connection. */
import { z } from 'zod';
import { timeoutSchema } from '../../script/duration.ts';
import {
  type ConnectOptions,
  connectionShape,
  namespaceSchema,
  optionsWithoutTemplates,
} from '../../script/options/connect-options.ts';
import { openOptions } from '../connection-changes.ts';
import type { VirtualUser } from '../virtual-user.ts';
import { defineStep, type StepBuildContext } from './step.ts';

const optionsSchema = z.strictObject({
  ...connectionShape,
  namespace: namespaceSchema.optional().describe('default: the main namespace'),
});
export const connectSchema = z.union([namespaceSchema, z.literal(true), optionsSchema], {
  error: 'expected a namespace, connection options, or true',
});
type Connect = z.output<typeof connectSchema>;

/**
 * `connect: /chat`, `connect: {auth: …}` or `connect: true`: opens a new connection. Replaces the namespace's previous
 * connection.
 */
export const connectStep = defineStep({
  schema: z.strictObject({
    connect: connectSchema.describe(
      'opens a separate connection, in place of an earlier one to the namespace: `true`, a namespace, or options',
    ),
    namespace: namespaceSchema.optional().describe('default: the main namespace'),
    timeout: timeoutSchema.optional().describe('for the whole setup; default: the option `connectTimeout`'),
  }),
  connect: ({ connect }) => connectOptions(connect),
  compile: (spec, build) => compileConnect(spec, build),
});

/** Compiles a `connect` step, or a `connect` that is part of an `emit` step. */
export function compileConnect(
  { connect, namespace: beside = '', timeout }: { connect: Connect; namespace?: string; timeout?: number },
  build: StepBuildContext,
): (user: VirtualUser) => Promise<void> {
  const options = typeof connect === 'object' ? connect : {};
  const namespace = build.template(typeof connect === 'string' ? connect : (options.namespace ?? beside));
  const given = build.template(options);
  return async ({ context, session }) => {
    const changes = build.connectionChanges(context, given(context) as ConnectOptions);
    const overrides = timeout === undefined ? changes : { ...changes, connectTimeoutMs: timeout };
    await session.connect(build.namespace(String(namespace(context))), openOptions(overrides));
  };
}

/** Returns those options of a `connect` step that contain no templates. */
export function connectOptions(connect: Connect | undefined): ConnectOptions {
  if (typeof connect !== 'object') return {};
  const { namespace: _, ...options } = connect;
  return optionsWithoutTemplates(options);
}

/** `disconnect: true`: closes the connections. A later step that needs a connection opens a new one. */
export const disconnectStep = defineStep({
  schema: z.strictObject({
    disconnect: z
      .literal(true, { error: 'write disconnect: true' })
      .describe('disconnects; a later step that needs a connection opens a new one'),
  }),
  compile: () => (user) => user.session.close(),
});

/**
 * `hold: true`: keeps the connection open until everything has been measured; without the plugin, until the last phase
 * has ended. Then disconnects. The step ends when the plugin has measured the residual memory.
 */
export const holdStep = defineStep({
  schema: z.strictObject({
    hold: z
      .literal(true, { error: 'write hold: true' })
      .describe(
        'stays connected until all is measured (without the plugin, until the last phase ends), then disconnects',
      ),
  }),
  staySeconds: () => Number.POSITIVE_INFINITY,
  holds: true,
  waits: true,
  compile(_spec, { shared }) {
    const { tally, signals } = shared;
    const leave = () => void tally.holding--;
    return async (user) => {
      tally.holding++;
      // A virtual user that has lost its connection is no longer counted as holding.
      user.session.onLost = leave;
      await signals.release.promise;
      if (!user.session.lost) leave();
      await user.session.close();
      await signals.finish.promise;
    };
  },
});
