/**
 * Connection options: for all connections of the engine, for the virtual users of a scenario, or for a `connect` step.
 */
import { z } from 'zod';
import type { ScriptRewrite } from '../../../protocol/base/problems.ts';
import { mergeHeaders } from '../../../protocol/wire/basic-auth.ts';
import type { ConnectionOptions } from '../../../protocol/wire/connection.ts';
import { isTemplate } from '../is-template.ts';

const whole = z.string().regex(/^\s*\{\{[^{}]+\}\}\s*$/);
const scalar = z
  .union([z.string(), z.number(), z.boolean()], { error: 'expected text, a number or a boolean' })
  .transform(String);
const values = z.record(z.string(), scalar);
const texts = z.union([values, whole], { error: 'expected names and values' });

export const connectionShape = {
  auth: z
    .union([z.record(z.string(), z.unknown()), whole], { error: 'expected names and values' })
    .optional()
    .describe('payload of the Socket.IO CONNECT packet'),
  query: z
    .union([values, z.string()], { error: 'expected names and values' })
    .optional()
    .describe('query parameters of the handshake, also as `a=1&b=2`; added to those of the target or the engine'),
  extraHeaders: texts.optional().describe('HTTP headers of the handshake; the option’s name in `socket.io-client`'),
  headers: texts.optional().describe('the same as `extraHeaders`, and takes precedence'),
  path: z.string().optional().describe('Engine.IO path; default: `/socket.io/`'),
  addTrailingSlash: z.boolean().optional().describe('`false`: no slash at the path’s end, as behind Next.js'),
  transports: z
    .array(z.enum(['websocket', 'polling']), {
      error: 'expected a list: [websocket], [polling, websocket] or [polling]',
    })
    .min(1)
    .optional()
    .describe('`[websocket]` (the default), `[polling, websocket]` (as in `socket.io-client`) or `[polling]`'),
};

/** Rewrites a namespace that contains a query to the options `namespace` and `query`. */
const withQuery: ScriptRewrite = (owner, key) => {
  const [namespace, query] = String(owner[key]).split('?');
  if (key === 'connect') return { owner: { ...owner, connect: { namespace, query } } };
  return 'emit' in owner || 'query' in owner ? undefined : { owner: { ...owner, namespace, query } };
};

/** Schema of a namespace. Refuses a query, because the server would treat it as part of the name. */
export const namespaceSchema = z.string().refine((name) => !name.replace(/\{\{.*?\}\}/g, '').includes('?'), {
  error: ({ input }) => {
    const [name] = String(input).split('?');
    return `a namespace has no query: write connect: {namespace: ${name}, query: "…"}`;
  },
  params: { rewrite: withQuery },
});

/** Schema of the key `socketio` of a scenario. */
export const scenarioOptionsSchema = z.strictObject(connectionShape);

export type ConnectOptions = z.output<typeof scenarioOptionsSchema>;

/**
 * Returns the path of Engine.IO with exactly one slash at its start, and with one slash at its end if
 * `addTrailingSlash` is set.
 */
export function enginePath(path: string, addTrailingSlash = true): string {
  return `/${path.replace(/^\/+|\/+$/g, '')}${addTrailingSlash ? '/' : ''}`.replace('//', '/');
}

/** Returns the connection options that contain no templates. They are the same for all virtual users. */
export function optionsWithoutTemplates(options: ConnectOptions): ConnectOptions {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined && !isTemplate(value)));
}

/**
 * Returns the options in which several sets of options differ from `base`. Later sets take precedence. Query parameters
 * and headers are merged.
 */
export function connectionDifferences(base: ConnectionOptions, layers: ConnectOptions[]): Partial<ConnectionOptions> {
  const changes: Partial<ConnectionOptions> = {};
  for (const { auth, query, path, addTrailingSlash, transports, extraHeaders, headers } of layers) {
    if (typeof auth === 'object') changes.auth = auth;
    if (query) changes.query = { ...(changes.query ?? base.query), ...parseQueryOrHeaders(query) };
    if (path || addTrailingSlash !== undefined) {
      const before = changes.path ?? base.path;
      changes.path = enginePath(path || before, addTrailingSlash ?? before.endsWith('/'));
    }
    if (transports) changes.transports = transports;
    if (extraHeaders ?? headers) {
      changes.headers = mergeHeaders(
        changes.headers ?? base.headers,
        parseQueryOrHeaders(extraHeaders),
        parseQueryOrHeaders(headers),
      );
    }
  }
  return changes;
}

/**
 * Returns query parameters or headers as an object.
 * @param given the object itself, or the text of a query
 */
export function parseQueryOrHeaders(given: Record<string, string> | string | undefined): Record<string, string> {
  return typeof given === 'string' ? Object.fromEntries(new URLSearchParams(given)) : { ...given };
}
