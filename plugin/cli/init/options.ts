/** Options of `init`, and the flow that they describe. */
import { z } from 'zod';
import { tryOrUndefined } from '../../../protocol/base/try-or-undefined.ts';
import { mergeHeaders, splitUserInfo } from '../../../protocol/wire/basic-auth.ts';
import { namespaceSchema } from '../../script/options/connect-options.ts';
import { emissionSchema } from '../../script/options/delivery-options.ts';
import { readScenarios } from '../../script/scenarios.ts';
import { ENGINE_NAME } from '../../script/script.ts';
import { STEP_KINDS } from '../../virtual-user/steps/index.ts';
import { STARTER_ROOM, type StarterOptions } from './starter-scenario.ts';

/** Schema of a JSON value, or of several values separated by commas. */
const jsonList = (example: string) =>
  z.string().transform((text, context): unknown[] => {
    const list: unknown[] | undefined = tryOrUndefined(() => JSON.parse(`[${text}]`));
    if (!list) context.addIssue({ code: 'custom', message: `expected JSON: ${example}` });
    return list ?? z.NEVER;
  });
const jsonObject = <T extends z.ZodType>(value: T, example: string) =>
  jsonList(example)
    .refine(({ length }) => length === 1, `expected JSON: ${example}`)
    .transform(([one]) => one)
    .pipe(z.record(z.string(), value, `expected JSON: ${example}`));
const EMISSION = '["<event>", <argument>, …]';
const emission = z.unknown().refine(Array.isArray, `expected JSON: ${EMISSION}`).pipe(emissionSchema);
export const LOGIN_EXAMPLE = '{"post": {"url": "/login", "json": {…}}}';
const step = z
  .record(z.string(), z.unknown())
  .refine(
    (one) =>
      readScenarios({ config: {}, scenarios: [{ engine: ENGINE_NAME, flow: [one] }] }, STEP_KINDS).problems.length ===
      0,
    `expected a step: ${LOGIN_EXAMPLE}`,
  );
/** Schema of an event with its arguments, or of a complete step. */
const emissionStep = z.unknown().transform((value, context): Record<string, unknown> => {
  const { data, error } = Array.isArray(value) ? emission.safeParse(value) : step.safeParse(value);
  if (error)
    context.addIssue({
      code: 'custom',
      message: Array.isArray(value) ? (error.issues[0]?.message ?? '') : `expected JSON: ${EMISSION}`,
    });
  return data && 'args' in data
    ? { emit: [data.event, ...(data.args as unknown[])] }
    : ((data as Record<string, unknown>) ?? {});
});

export const initOptionsSchema = z.object({
  url: z.url({ protocol: /^(https?|wss?)$/, error: 'expected a URL such as https://staging.example.com' }),
  instrumented: z.boolean().default(false),
  path: z.string().trim().min(1).optional(),
  namespace: namespaceSchema.optional(),
  parser: z.string().trim().min(1).optional(),
  auth: jsonObject(z.unknown(), '{"token": "…"}').optional(),
  headers: jsonObject(z.string(), '{"Cookie": "…"}').optional(),
  login: jsonList(LOGIN_EXAMPLE).pipe(z.array(step)).optional(),
  emit: jsonList(EMISSION)
    .refine(
      (events) => !JSON.stringify(events).includes('$id'),
      '"$id" belongs to what makes the server send: --publish',
    )
    .pipe(z.array(emissionStep))
    .optional(),
  publish: jsonList(EMISSION)
    .pipe(z.array(emission))
    .transform(([one]) => one)
    .optional(),
  listen: z.coerce.number('expected seconds').min(0).max(600).default(6),
  connections: z.coerce.number().int().min(8, 'expected 8 or more').max(1_000_000).default(1000),
});

export type InitAnswers = Partial<Record<keyof z.infer<typeof initOptionsSchema>, unknown>>;

/**
 * Returns the flow that the options describe. A path in the URL is a namespace, so it becomes an option of `connect`;
 * paths of HTTP steps stay relative to the target.
 */
export function starterFlow({
  url,
  instrumented,
  login = [],
  emit = [],
  ...given
}: z.infer<typeof initOptionsSchema>): StarterOptions['flow'] {
  const { pathname, searchParams } = new URL(url);
  const { auth, namespace = pathname.replace(/\/$/, '') } = given;
  const authorization = splitUserInfo(url).headers;
  const headers = mergeHeaders(authorization, given.headers ?? {});
  const query = Object.fromEntries(searchParams);
  const options = { namespace: namespace || undefined, query, auth, headers };
  const connect = Object.fromEntries(
    Object.entries(options).filter(([, value]) => Object.keys(value ?? '').length > 0),
  );
  const joins = [...emit, ...(instrumented ? [{ emit: ['join_room', STARTER_ROOM] }] : [])];
  const emits = joins.map((step) =>
    'emit' in step && namespace ? { ...step, namespace: step.namespace ?? namespace } : step,
  );
  // A `connect` step is added only if no other step connects. After a login step that connects, it would replace the
  // connection.
  const isConnected = login.some((step) => 'emit' in step);
  const named = Object.keys(connect).filter((key) => !(isConnected && emits.length > 0 && key === 'namespace'));
  const opens = !isConnected && !emits.some((step) => 'emit' in step || 'waitFor' in step) && { connect: true };
  return [
    ...login.map((step) => withHeaders(step, authorization)),
    ...[named.length > 0 ? { connect } : opens].flatMap((step) => step || []),
    ...emits,
  ];
}

/**
 * Adds the headers to the HTTP request of a step. Headers of the request take precedence. Requests to other hosts stay
 * unchanged.
 */
function withHeaders(step: Record<string, unknown>, headers: Record<string, string>): Record<string, unknown> {
  const entries = Object.entries(step).map(([key, value]) => {
    const { url, headers: own } = (value ?? {}) as { url?: unknown; headers?: Record<string, string> };
    const isRequest = typeof url === 'string' && url.startsWith('/') && Object.keys(headers).length > 0;
    return [key, isRequest ? { ...(value as object), headers: mergeHeaders(headers, own ?? {}) } : value];
  });
  return Object.fromEntries(entries);
}
