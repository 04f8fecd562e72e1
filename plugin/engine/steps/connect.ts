import { z } from 'zod';
import type { ClientOptions } from '../../fleet/client.ts';
import type { Emission, OpenOptions } from '../../fleet/messages.ts';
import { connectionShape } from '../../script/engine-options.ts';
import { DEFAULT_RATE_PER_SEC } from '../../script/flow.ts';
import { durationSchema } from '../duration.ts';
import type { VirtualUser } from '../virtual-user.ts';
import type { Build } from './step.ts';
import { defineStep } from './step.ts';

const optionsSchema = z.strictObject({
  ...connectionShape,
  namespace: z.string().optional(),
  /** Connections that this virtual user holds. */
  count: z.int().positive().optional(),
  ratePerSec: z.number().positive().default(DEFAULT_RATE_PER_SEC),
});
export const connectSchema = z.union([z.string(), z.literal(true), optionsSchema], {
  error: 'expected a namespace, connection options, or true',
});

/**
 * `connect: /chat`, `connect: {auth: …}` or `connect: true`: a connection of its own, in place of an earlier one.
 * `connect: {count: 1000, ratePerSec: 500}`: a thousand of them.
 */
export const connect = defineStep({
  schema: z.strictObject({
    connect: connectSchema,
    namespace: z.string().optional(),
    timeout: durationSchema.optional(),
  }),
  compile(spec, build) {
    const connect = compileConnect(spec, build);
    return async (user) => void (await connect(user));
  },
});

/** @returns how many connections it has opened, each of which has emitted */
export type Connect = (user: VirtualUser, emit?: Emission) => Promise<number>;

export function compileConnect(
  spec: { connect: z.output<typeof connectSchema>; namespace?: string; timeout?: number },
  build: Build,
): Connect {
  const { connection } = build.run.config;
  const options: Partial<z.output<typeof optionsSchema>> = typeof spec.connect === 'object' ? spec.connect : {};
  const { count = 1, ratePerSec = 0 } = options;
  const named = typeof spec.connect === 'string' ? spec.connect : (options.namespace ?? spec.namespace ?? '');
  const namespace = build.template(named);
  const given = build.template(options);
  return async (user, emit) => {
    const own = given(user.context) as typeof options;
    const overrides: Partial<ClientOptions> = {};
    if (own.auth) overrides.auth = own.auth;
    if (own.query) overrides.query = { ...connection.query, ...own.query };
    if (own.path) overrides.path = own.path;
    if (own.transports) overrides.transports = own.transports;
    if (spec.timeout !== undefined) overrides.connectTimeoutMs = spec.timeout;
    const extra = { ...user.context.extraHeaders, ...own.extraHeaders, ...own.headers };
    if (Object.keys(extra).length > 0) overrides.headers = { ...connection.headers, ...extra };
    const opening: OpenOptions = {};
    if (Object.keys(overrides).length > 0) opening.overrides = overrides;
    if (emit) opening.emit = emit;
    const path = build.namespace(String(namespace(user.context)));
    if (count > 1) return user.session.connectMany(path, opening, { count, ratePerSec });
    await user.session.connect(path, opening);
    return 1;
  };
}
