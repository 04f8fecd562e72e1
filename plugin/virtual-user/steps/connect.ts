import { z } from 'zod';
import type { Emission } from '../../fleet/messages.ts';
import { timeoutSchema } from '../../script/duration.ts';
import { type ConnectionsPerUser, ONE_CONNECTION } from '../../script/load/flow.ts';
import {
  type ConnectOptions,
  connectionShape,
  fixedOptions,
  namespaceSchema,
} from '../../script/options/connect-options.ts';
import { openOptions } from '../connection-changes.ts';
import type { VirtualUser } from '../virtual-user.ts';
import { type Build, defineStep } from './step.ts';

/** Default rate at which a multi-connection virtual user opens its connections. */
const DEFAULT_RATE_PER_SEC = 500;

const optionsSchema = z.strictObject({
  ...connectionShape,
  namespace: namespaceSchema.optional().describe('default: the main namespace'),
  count: z.int().positive().optional().describe('connections that this virtual user holds, on which it sends alike'),
  ratePerSec: z.number().positive().default(DEFAULT_RATE_PER_SEC).describe('with `count`: how fast they open'),
});
export const connectSchema = z.union([namespaceSchema, z.literal(true), optionsSchema], {
  error: 'expected a namespace, connection options, or true',
});

/**
 * `connect: /chat`, `connect: {auth: …}` or `connect: true`: opens a new connection, in place of an earlier one.
 * `connect: {count: 1000, ratePerSec: 500}`: opens a thousand of them.
 */
export const connect = defineStep({
  schema: z.strictObject({
    connect: connectSchema.describe(
      'opens a separate connection, in place of an earlier one to the namespace: `true`, a namespace, or options',
    ),
    namespace: namespaceSchema.optional().describe('default: the main namespace'),
    timeout: timeoutSchema.optional().describe('for the whole setup; default: the option `connectTimeout`'),
  }),
  connections: ({ connect }) => connectionsOf(connect),
  connect: ({ connect }) => connectOptions(connect),
  compile(spec, build) {
    const connect = compileConnect(spec, build);
    return async (user) => void (await connect(user));
  },
});

/** @param emit sent on each connection @returns how many connections are open */
export type Connect = (user: VirtualUser, emit?: Emission) => Promise<number>;

export function compileConnect(
  spec: { connect: z.output<typeof connectSchema>; namespace?: string; timeout?: number },
  build: Build,
): Connect {
  const options: Partial<z.output<typeof optionsSchema>> = typeof spec.connect === 'object' ? spec.connect : {};
  const { count = 1, ratePerSec = 0 } = options;
  const named = typeof spec.connect === 'string' ? spec.connect : (options.namespace ?? spec.namespace ?? '');
  const namespace = build.template(named);
  const given = build.template(options);
  return async (user, emit) => {
    const own = given(user.context) as typeof options;
    const changes = build.connectionChanges(user.context, own);
    const overrides = spec.timeout === undefined ? changes : { ...changes, connectTimeoutMs: spec.timeout };
    const opening = openOptions(overrides, emit);
    const path = build.namespace(String(namespace(user.context)));
    if (count > 1) return user.session.connectMany(path, opening, { count, ratePerSec });
    await user.session.connect(path, opening);
    return 1;
  };
}

/** For a `connect` step, and for a `connect` beside an `emit`. */
export function connectionsOf(connect: z.output<typeof connectSchema> | undefined): ConnectionsPerUser {
  if (typeof connect !== 'object' || (connect.count ?? 1) === 1) return ONE_CONNECTION;
  return { count: connect.count ?? 1, ratePerSec: connect.ratePerSec };
}

/** The options that a `connect` has for all virtual users. */
export function connectOptions(connect: z.output<typeof connectSchema> | undefined): ConnectOptions {
  if (typeof connect !== 'object') return {};
  const { namespace: _, count: __, ratePerSec: ___, ...options } = connect;
  return fixedOptions(options);
}
