/**
 * Connects one of the run's own clients as a virtual user: the client runs the steps of the flow that open the
 * connection, and keeps the connection open.
 */

import { printableLine } from '../../../protocol/base/printable.ts';
import { CapacityError } from '../../../protocol/codes/errors.ts';
import type { EngineOptions } from '../../script/options/engine-options.ts';
import {
  closeHttpSockets,
  createUserContext,
  loadArtilleryHelpers,
  loadHttpEngine,
  loadProcessor,
} from '../../virtual-user/artillery-types.ts';
import { type FlowError, toFlowError } from '../../virtual-user/flow-error.ts';
import { Meter } from '../../virtual-user/meter.ts';
import { compileScenario } from '../../virtual-user/scenario.ts';
import { RunSignals } from '../../virtual-user/signals.ts';
import { newUserTally, secretsOfUser } from '../../virtual-user/tally.ts';
import type { UserContext } from '../../virtual-user/user-types.ts';
import { runSteps, type VirtualUser } from '../../virtual-user/virtual-user.ts';
import type { CloseDescription } from '../measurements/close-descriptions.ts';
import { explainFailure, notConnectedError, RefusedError, UnsupportedServerError } from './explain-failure.ts';
import type { RunClient, RunUser } from './run-clients.ts';
import type { ConnectedClient, RunConnection } from './run-connection.ts';

const MAX_REASON_LENGTH = 300;

export async function connectUser(client: RunClient, newConnection: () => RunConnection): Promise<ConnectedClient> {
  const { connection } = client;
  const user = client.user as RunUser;
  const connections: RunConnection[] = [];
  let player: VirtualUser | undefined;
  try {
    const { compiled, context } = await prepare(client, user, () => {
      const added = newConnection();
      connections.push(added);
      return added;
    });
    const initialVars = { ...context.vars };
    player = compiled.newUser(context, { emit: () => {} });
    await runSteps([...compiled.before, ...compiled.flow], player);
    const namespace = await compiled.use(player, user.arrival.home);
    const socket = connections.map(({ sockets }) => sockets.get(namespace)).findLast((found) => found !== undefined);
    if (!socket) throw new Error(`it has no connection to ${namespace}`);
    const variables = Object.entries(context.vars).filter(([name, value]) => initialVars[name] !== value);
    return { socket, variables: Object.fromEntries(variables) };
  } catch (error) {
    if (error instanceof CapacityError) throw error;
    const { failure } = connections.find((tried) => tried.failure) ?? {};
    if (!failure) {
      const sockets = connections.flatMap((opened) => [...opened.sockets.values()]);
      const ending = sockets.find((socket) => socket.ending)?.ending;
      throw stepError(connection.url, toFlowError(error), ending, player?.context);
    }
    const explained = await explainFailure(failure.target, failure.error);
    const { refusal } = player ?? {};
    // The run's clients do not support Socket.IO 2, so a login would not help.
    const isLogin = refusal !== undefined && !(explained instanceof UnsupportedServerError);
    throw isLogin ? loginError(connection.url, refusal, explained) : explained;
  } finally {
    // Closes the HTTP sockets of logins, which the server would otherwise hold for some seconds.
    if (player) closeHttpSockets(player.context);
  }
}

async function prepare(
  { connection }: RunClient,
  { script, arrival, vars, timeoutMs, roomsVariable, artillery }: RunUser,
  newConnection: () => RunConnection,
) {
  const helpers = await loadArtilleryHelpers(artillery);
  const config: EngineOptions = {
    ...{ client: 'official', connection, timeoutMs, roomsVariable, thinkJitter: script.config.defaults?.think?.jitter },
    baseNamespace: connection.namespace === '/' ? '' : connection.namespace,
    ...{ retry: undefined, reconnection: undefined, localAddresses: [], disconnectRatePerSec: 1000 },
  };
  const compiled = compileScenario(arrival.scenario, {
    ...{ config, helpers, meter: new Meter(), tally: newUserTally(), signals: new RunSignals() },
    fleet: { connection: newConnection },
    http: arrival.http ? await loadHttpEngine(script, artillery) : undefined,
    processor: await loadProcessor(script),
    warn: () => {},
  });
  return { compiled, context: createUserContext(script, helpers, vars) };
}

/** Error for a step of the flow that failed although all connections had opened. */
function stepError(
  target: string,
  { code, message }: FlowError,
  ending: CloseDescription | undefined,
  context: UserContext | undefined,
): CapacityError {
  if (ending?.isOwn) return notConnectedError(target, ending.text, ending.fix);
  const why = [...(message === code ? [code] : [code, message]), ...(ending ? [ending.text] : [])].join(': ');
  return new RefusedError(
    target,
    printableLine(why, MAX_REASON_LENGTH, context && secretsOfUser(context)),
    ending?.fix,
    true,
    code,
  );
}

/** Error for a failed connection after an HTTP login that the server refused. */
function loginError(target: string, refusal: string, failure: CapacityError): RefusedError {
  const { fix, message } = failure;
  return new RefusedError(
    target,
    `${refusal}; then ${failure instanceof RefusedError ? failure.reason : message}`,
    fix,
  );
}
