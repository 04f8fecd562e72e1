/**
 * What a virtual user's connections change of the engine's options. Later ones win: the scenario's `socketio`, the
 * headers that a processor function has set, the options of the step.
 */
import type { ConnectionOptions } from '../../protocol/connection.ts';
import type { Emission, OpenOptions } from '../fleet/messages.ts';
import { isTemplate } from '../script/is-template.ts';
import { type ConnectOptions, enginePath } from '../script/options/connect-options.ts';
import { compileTemplate } from './template.ts';
import type { Helpers, UserContext } from './types.ts';

/** @returns undefined for the engine's options as they are */
export type ConnectionChanges = (context: UserContext, own?: ConnectOptions) => Partial<ConnectionOptions> | undefined;

export function compileConnectionChanges(
  engine: ConnectionOptions,
  scenario: ConnectOptions,
  helpers: Helpers,
): ConnectionChanges {
  const ofScenario = compileTemplate(scenario, helpers);
  // One object for all virtual users: a message to the fleet then carries a single copy.
  const shared = isTemplate(scenario) ? undefined : merge(engine, [scenario]);
  return (context, own) => {
    const { extraHeaders } = context;
    if (own === undefined && extraHeaders === undefined && !isTemplate(scenario)) return shared;
    const headers = compileTemplate(extraHeaders, helpers)(context) as ConnectOptions['headers'];
    return merge(engine, [ofScenario(context) as ConnectOptions, { headers }, own ?? {}]);
  };
}

/** @returns undefined if there is nothing to tell: the channel to the fleet would serialize empty keys as well */
export function openOptions(overrides: OpenOptions['overrides'], emit?: Emission): OpenOptions | undefined {
  if (!overrides && !emit) return undefined;
  return { ...(overrides && { overrides }), ...(emit && { emit }) };
}

function merge(engine: ConnectionOptions, layers: ConnectOptions[]): Partial<ConnectionOptions> | undefined {
  const changes: Partial<ConnectionOptions> = {};
  for (const { auth, query, path, transports, extraHeaders, headers } of layers) {
    if (auth) changes.auth = auth;
    if (query) changes.query = { ...(changes.query ?? engine.query), ...query };
    if (path) changes.path = enginePath(path);
    if (transports) changes.transports = transports;
    if (extraHeaders ?? headers) {
      changes.headers = { ...(changes.headers ?? engine.headers), ...extraHeaders, ...headers };
    }
  }
  return Object.keys(changes).length > 0 ? changes : undefined;
}
