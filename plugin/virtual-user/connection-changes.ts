/**
 * Computes the connection options of a virtual user that differ from the engine's options. Later sources take
 * precedence: the scenario's `socketio`, headers from a processor function, options of the step. Cookies of the user's
 * HTTP requests are added.
 */
import type { ConnectionOptions } from '../../protocol/wire/connection.ts';
import type { EmittedMessage, OpenOptions } from '../fleet/fleet-messages.ts';
import { isTemplate } from '../script/is-template.ts';
import { type ConnectOptions, connectionDifferences } from '../script/options/connect-options.ts';
import { cookiesFor } from './artillery-types.ts';
import { compileTemplate } from './template.ts';
import type { ArtilleryHelpers, UserContext } from './user-types.ts';

/** Returns the connection options of a virtual user that differ from the engine's options; undefined if none differ. */
export type ConnectionChanges = (context: UserContext, own?: ConnectOptions) => Partial<ConnectionOptions> | undefined;

export function compileConnectionChanges(
  engine: ConnectionOptions,
  scenario: ConnectOptions,
  helpers: ArtilleryHelpers,
): ConnectionChanges {
  const ofScenario = compileTemplate(scenario, helpers);
  // All virtual users use the same object, so that a message to the fleet contains it only once.
  const shared = isTemplate(scenario) ? undefined : someOf(connectionDifferences(engine, [scenario]));
  return (context, own) => {
    const { extraHeaders, _jar: jar } = context;
    if (!own && !extraHeaders && !jar && !isTemplate(scenario)) return shared;
    const headers = compileTemplate(extraHeaders, helpers)(context) as ConnectOptions['headers'];
    const changes = connectionDifferences(engine, [ofScenario(context) as ConnectOptions, { headers }, own ?? {}]);
    return someOf({ ...changes, ...withCookies({ ...engine, ...changes }, context) });
  };
}

/**
 * Returns the headers with the user's cookies added. If the headers contain the same cookie, both are sent, and the
 * cookie from the headers comes first.
 */
function withCookies({ url, path, headers }: ConnectionOptions, context: UserContext): Partial<ConnectionOptions> {
  const cookies = cookiesFor(context, new URL(path, url.replace(/^ws/, 'http')));
  if (cookies === '') return {};
  const name = Object.keys(headers).find((one) => one.toLowerCase() === 'cookie') ?? 'Cookie';
  return { headers: { ...headers, [name]: [headers[name] ?? [], cookies].flat().join('; ') } };
}

/**
 * Returns the options for opening a connection. Returns undefined if there are none, because the channel to the fleet
 * would transfer empty keys, too.
 */
export function openOptions(overrides: OpenOptions['overrides'], emit?: EmittedMessage): OpenOptions | undefined {
  if (!overrides && !emit) return undefined;
  return { ...(overrides && { overrides }), ...(emit && { emit }) };
}

function someOf<T extends object>(changes: T): T | undefined {
  return Object.keys(changes).length > 0 ? changes : undefined;
}
