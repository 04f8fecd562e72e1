/** Settings that are right each by itself, but not together. */
import { isLoopback } from '../../protocol/machine/loopback.ts';
import { formatPath, type Problem } from '../../protocol/problems.ts';
import type { RoomPlan } from '../../protocol/rooms.ts';
import type { Environment, PluginOptions } from './options/plugin-options.ts';
import { ENGINE, PLUGIN, type Script } from './script.ts';

interface Around {
  variables: Environment;
  /** Control ports are named: the server is not one of the run's own. */
  hasControl: boolean;
  profile: PluginOptions['profile'] | undefined;
  /** Undefined if it is invalid. */
  target: string | undefined;
}

/** Variables that only a stack of the run's own can obey. */
export function variableProblems({ variables, hasControl, profile, target }: Around): Problem[] {
  const problems: Problem[] = [];
  const isElsewhere = target !== undefined && !isLoopback(new URL(target).hostname);
  const isStack = !hasControl && profile !== 'embedded' && !isElsewhere;
  if (variables.TLS && !isStack) {
    const message =
      'only for the nginx of the stack that a run starts; for a server of your own, write an https:// target';
    problems.push({ path: formatPath(['environment variable', 'TLS']), message });
  }
  if ((variables.REDIS_NODES ?? 1) > 1 && (variables.REDIS_URL || !isStack)) {
    const message = variables.REDIS_URL
      ? 'not beside REDIS_URL: whether that Redis is a cluster shows by itself'
      : 'only for the Redis of the stack that a run starts';
    problems.push({ path: formatPath(['environment variable', 'REDIS_NODES']), message });
  }
  return problems;
}

/**
 * Artillery deals arrivals out to scenarios at random: nobody could say how many connections to expect, or how fast.
 * @param scenarios those that never come (`weight: 0`) do not count
 */
export function mixedEngines({ config, scenarios = [] }: Script): Problem[] {
  const engines = scenarios.map(({ engine, weight }) =>
    Number(weight) === 0 ? null : (engine ?? config.engine ?? 'http'),
  );
  const [first, ...others] = new Set(engines.filter((engine) => engine !== null));
  if (first === undefined || others.length === 0) return [];
  const index = engines.indexOf(others[0] ?? null);
  const path = formatPath(['scenarios', index, 'engine']);
  const message = `${others[0]} beside ${first}: a measured run has one engine, since its arrivals are the connections that it expects; run the other scenario by an \`artillery run\` of its own`;
  return [{ path, message }];
}

/** Options against the engine that drives the load, and against each other. */
export function optionProblems({
  options,
  rooms,
  engine,
  hasControl,
}: Pick<Around, 'hasControl'> & { options: PluginOptions; rooms: RoomPlan; engine: string }): Problem[] {
  const problems = roomProblems(rooms, options, engine);
  const at = (...path: string[]) => formatPath(['config', 'plugins', PLUGIN, ...path]);
  if (options.delivery && engine !== ENGINE) {
    problems.push({ path: at('delivery'), message: `only engine ${ENGINE} tells who received what` });
  }
  if (hasControl && typeof options.workers === 'object' && options.workers.adminUi) {
    const message = 'not beside `control`, whose workers count their connections themselves';
    problems.push({ path: at('workers', 'adminUi'), message });
  }
  return problems;
}

function roomProblems({ count, perConnection }: RoomPlan, { delivery }: PluginOptions, engine: string): Problem[] {
  const at = (...path: string[]) => formatPath(['config', 'plugins', PLUGIN, 'rooms', ...path]);
  const problems: Problem[] = [];
  if (perConnection > count) {
    problems.push({ path: at('perConnection'), message: `there are only ${count} rooms (rooms.count, or ROOMS)` });
  }
  if (count > 1 && delivery) {
    problems.push({ path: at(), message: "with `delivery`, the server's own event goes wherever the server sends it" });
  }
  if (count > 1 && engine !== ENGINE) {
    problems.push({ path: at(), message: `only engine ${ENGINE} spreads its connections over rooms` });
  }
  return problems;
}

/** Broadcasts with fewer connections need some that leave when the run says so, and a ledger. */
export function byConnectionsProblems(
  { broadcasts, delivery, fault }: PluginOptions,
  { engine, stays }: { engine: string; stays: boolean },
): Problem[] {
  if (broadcasts.byConnections === 0) return [];
  const path = formatPath(['config', 'plugins', PLUGIN, 'broadcasts', 'byConnections']);
  return [
    ...(engine === ENGINE ? [] : [`only engine ${ENGINE} tells who received what`]),
    ...(stays ? [] : ['its virtual users must stay: end the flow with `hold: true`']),
    ...(delivery ? ['not with `delivery`, whose event the server sends'] : []),
    ...(fault ? ['not with `fault`: the deployment is another one afterwards'] : []),
  ].map((message) => ({ path, message }));
}
