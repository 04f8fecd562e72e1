/** Lets one client of the run come as a virtual user: it plays its part of the flow, and keeps the connection. */

import { printable } from '../../../protocol/base/printable.ts';
import { CapacityError } from '../../../protocol/codes/errors.ts';
import type { EngineOptions } from '../../script/options/engine-options.ts';
import {
  contextOf,
  endRequests,
  loadHelpers,
  loadHttpEngine,
  loadProcessor,
} from '../../virtual-user/artillery-types.ts';
import { type FlowError, toFlowError } from '../../virtual-user/flow-error.ts';
import { Meter } from '../../virtual-user/meter.ts';
import { compileScenario } from '../../virtual-user/scenario.ts';
import { Signals } from '../../virtual-user/signals.ts';
import { newTally, secretsOf } from '../../virtual-user/tally.ts';
import type { UserContext } from '../../virtual-user/user-types.ts';
import { runSteps, type VirtualUser } from '../../virtual-user/virtual-user.ts';
import type { Ending } from '../measurements/end-words.ts';
import { explain, notConnected, Refused } from './explain-failure.ts';
import type { OwnClient, OwnUser } from './own-clients.ts';
import type { Came, OwnConnection } from './own-connection.ts';

const MAX_SAID = 300;

/** @throws as `come` */
export async function playUser(client: OwnClient, newConnection: () => OwnConnection): Promise<Came> {
  const { connection } = client;
  const user = client.user as OwnUser;
  const made: OwnConnection[] = [];
  let player: VirtualUser | undefined;
  try {
    const { compiled, context } = await prepare(client, user, () => {
      const one = newConnection();
      made.push(one);
      return one;
    });
    const given = { ...context.vars };
    player = compiled.newUser(context, { emit: () => {} });
    await runSteps([...compiled.before, ...compiled.flow], player);
    const namespace = await compiled.use(player, user.arrival.home);
    const socket = made.map((one) => one.sockets.get(namespace)).findLast((one) => one !== undefined);
    if (!socket) throw new Error(`it has no connection to ${namespace}`);
    const learned = Object.entries(context.vars).filter(([name, value]) => given[name] !== value);
    return { socket, learned: Object.fromEntries(learned) };
  } catch (error) {
    if (error instanceof CapacityError) throw error;
    const { failure } = made.find((one) => one.failure) ?? {};
    if (!failure) {
      const ending = made.flatMap((one) => [...one.sockets.values()]).find((one) => one.ending)?.ending;
      throw stopped(connection.url, toFlowError(error), ending, player?.context);
    }
    const explained = await explain(failure.target, failure.error);
    throw player?.refusal === undefined ? explained : afterLogin(connection.url, player.refusal, explained);
  } finally {
    // Hundreds log in to warm up: the server would hold a socket of each for some seconds more.
    if (player) endRequests(player.context);
  }
}

async function prepare(
  { connection }: OwnClient,
  { script, arrival, vars, timeoutMs, roomsVariable, artillery }: OwnUser,
  newConnection: () => OwnConnection,
) {
  const helpers = await loadHelpers(artillery);
  const config: EngineOptions = {
    ...{ client: 'official', connection, timeoutMs, roomsVariable, thinkJitter: script.config.defaults?.think?.jitter },
    baseNamespace: connection.namespace === '/' ? '' : connection.namespace,
    ...{ retry: undefined, reconnection: undefined, localAddresses: [], disconnectRatePerSec: 1000 },
  };
  const compiled = compileScenario(arrival.scenario, {
    ...{ config, helpers, meter: new Meter(), tally: newTally(), signals: new Signals() },
    fleet: { connection: newConnection },
    http: arrival.http ? await loadHttpEngine(script, artillery) : undefined,
    processor: await loadProcessor(script),
    warn: () => {},
  });
  return { compiled, context: contextOf(script, helpers, vars) };
}

/** A step of the flow has failed. */
function stopped(
  target: string,
  { code, message }: FlowError,
  ending: Ending | undefined,
  context: UserContext | undefined,
): CapacityError {
  if (ending?.isOwn) return notConnected(target, ending.text, ending.fix);
  const why = [...(message === code ? [code] : [code, message]), ...(ending ? [ending.text] : [])].join(': ');
  return new Refused(target, printable(why, MAX_SAID, context && secretsOf(context)), ending?.fix);
}

/** A login by HTTP was refused before, which no step noticed. */
function afterLogin(target: string, refusal: string, failure: CapacityError): Refused {
  const { fix, message } = failure;
  return new Refused(target, `${refusal}; then ${failure instanceof Refused ? failure.said : message}`, fix);
}
