/** What became of the connections: every one that was asked for is either alive, or failed, or lost, and known to be. */

import type { Reason } from '../../../protocol/codes/verdict-reasons.ts';
import type { Result } from '../../../protocol/result/result.ts';
import { sumCounts } from '../../../protocol/sum-counts.ts';
import type { Measurements } from '../../run/measurements/measurements.ts';
import { sum } from '../sums.ts';
import { lostAsPlanned } from './fault.ts';

type Measured = Omit<Result, 'verdict'>;

/** Failures that are the end of a connection which had been open. */
const LOST = 'disconnected_';

export function* connectionProblems(measurements: Measurements, result: Measured): Generator<Reason> {
  const { connections } = result;
  const { peak, target } = connections;
  const [failures, lost] = [connections.failures, connections.lost].map((counts) =>
    beforeStop(measurements, counts),
  ) as [Record<string, number>, Record<string, number>];
  if (!measurements.aborted && peak === 0) {
    yield { code: 'NO_CONNECTIONS', message: 'no connection was made', fix: 'see connections.failures' };
  }
  const failed = Object.fromEntries(Object.entries(failures).filter(([cause]) => !cause.startsWith(LOST)));
  if (sum(Object.values(failed)) > 0) {
    yield {
      code: 'CONNECTIONS_FAILED',
      message: `${sum(Object.values(failed))} of ${target} connections failed: ${listed(failed)}`,
    };
  }
  if (sum(Object.values(lost)) > lostAsPlanned(result)) yield lostConnections(result, lost);
  yield* lostNamespaces(result, failures, lost);
  yield* cameBack(result);
  yield* missing(measurements, connections);
  yield* accounts(measurements);
  yield* hosts(result);
  yield* notUpgraded(connections);
  yield* joinedElsewhere(measurements);
  if (connections.skipped > 0) {
    yield {
      code: 'USERS_SKIPPED',
      message: `Artillery skipped ${connections.skipped} virtual users, because as many as \`maxVusers\` were present`,
      fix: 'raise `maxVusers`, or lower the arrivals',
    };
  }
  if (connections.unknownAcks > 0) {
    yield {
      code: 'UNKNOWN_ACKS',
      message: `${connections.unknownAcks} acknowledgements were of nothing that had been sent, or repeated`,
      fix: 'let the server call each acknowledgement once',
    };
  }
}

/**
 * Named by a join, so they exist; without their control nobody reads their memory.
 * @returns their connections
 */
export function unknownWorkers({ workersAtStart, snapshots }: Measurements): Record<string, number> {
  const known = new Set(workersAtStart.map(({ worker }) => worker));
  const joined = Object.entries(sumCounts(snapshots.map(({ perWorker }) => perWorker)));
  return Object.fromEntries(joined.filter(([worker]) => known.size > 0 && !known.has(worker)));
}

function* joinedElsewhere(measurements: Measurements): Generator<Reason> {
  const unknown = unknownWorkers(measurements);
  if (Object.keys(unknown).length === 0) return;
  yield {
    code: 'WORKER_UNKNOWN',
    message: `connections are on workers that no control URL leads to: ${listed(unknown)}`,
    fix: 'name the control URL of every worker in config.plugins.socketio-capacity.control.urls',
  };
}

/** A stop by the user can end the processes of the fleet, and their connections with them. */
function beforeStop({ stoppedByUser }: Measurements, counts: Record<string, number>): Record<string, number> {
  if (!stoppedByUser) return counts;
  return Object.fromEntries(Object.entries(counts).filter(([cause]) => !/^(disconnected_)?fleet[ _]/.test(cause)));
}

function lostConnections(result: Measured, lost: Record<string, number>): Reason {
  const { connections, stages, samples } = result;
  const { opened, held } = connections;
  const asPlanned = lostAsPlanned(result);
  const planned = asPlanned > 0 ? ` (${asPlanned} of them by the planned fault)` : '';
  const left = held === null ? '' : `; ${held} were alive at the end of the broadcasts`;
  const fall = steepestFall(stages, samples);
  const when = fall ? `; most left at ${fall.t.toFixed(0)} s, in stage \`${fall.stage}\`` : '';
  return {
    code: 'CONNECTIONS_LOST',
    message: `${sum(Object.values(lost))} of ${opened} opened connections were lost${planned}: ${listed(lost)}${left}${when}`,
    fix: 'see the logs of the workers and of the proxy at that time',
  };
}

/** Virtual users that lost a namespace of a connection that stays: the connection is not among the lost ones. */
function* lostNamespaces(
  { fault }: Measured,
  failures: Record<string, number>,
  lost: Record<string, number>,
): Generator<Reason> {
  const gone = Object.fromEntries(Object.entries(failures).filter(([cause]) => cause.startsWith(LOST)));
  const more = sum(Object.values(gone)) - sum(Object.values(lost));
  // What a planned fault costs is in its own account.
  if (more <= 0 || fault) return;
  yield {
    code: 'CONNECTIONS_LOST',
    message: `${more} virtual users lost a namespace, while their connections stayed: ${listed(gone)}`,
    fix: 'see the log of the workers: the server disconnects these sockets',
  };
}

function* cameBack({ connections: { reconnection }, fault }: Measured): Generator<Reason> {
  if (!reconnection?.awayMs) return;
  const { returned, recovered, awayMs } = reconnection;
  const unplanned = returned - (fault?.returns ?? 0);
  if (fault && unplanned > 0) {
    yield {
      code: 'CONNECTIONS_DROPPED',
      message: `${unplanned} times a dropped connection came back beside the planned fault, which has ${fault.returns} returns`,
      fix: 'see the logs of the workers and of the proxy, before the fault and after it',
    };
  }
  if (fault) return;
  const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`;
  const p99 = awayMs.p99 === null ? '' : `, 99 %: ${seconds(awayMs.p99)}`;
  const sessions = `the server restored the sessions of ${recovered}, and ${returned - recovered} have new ones`;
  yield {
    code: 'CONNECTIONS_DROPPED',
    message: `${returned} times a dropped connection came back, after ${seconds(awayMs.p50)} (median${p99}, longest: ${seconds(awayMs.max)}); ${sessions}`,
    fix: 'see the logs of the workers and of the proxy at that time',
  };
}

/** @returns the sample before which most connections had gone, until they were released */
function steepestFall(
  stages: Measured['stages'],
  samples: Measured['samples'],
): { t: number; stage: string } | undefined {
  const releasedAt = stages.find(({ name }) => name === 'disconnect')?.t ?? Number.POSITIVE_INFINITY;
  const held = samples.filter(({ t }) => t < releasedAt);
  const falls = held.map(({ t, connections }, index) => ({ t, by: (held[index - 1]?.connections ?? 0) - connections }));
  const steepest = falls.toSorted((a, b) => b.by - a.by)[0];
  if (steepest === undefined || steepest.by <= 0) return undefined;
  return { t: steepest.t, stage: stages.findLast(({ t }) => t <= steepest.t)?.name ?? 'ramp' };
}

/** Where every virtual user is to stay, all that the scenario asks for must have been there together. */
function* missing(
  { expectedAtOnce, aborted }: Measurements,
  { peak, failed }: Measured['connections'],
): Generator<Reason> {
  if (aborted || expectedAtOnce === null || peak === 0 || peak >= expectedAtOnce) return;
  yield {
    code: 'TARGET_NOT_REACHED',
    message: `at most ${peak} of ${expectedAtOnce} connections were open at the same time; ${failed} failed or were lost`,
    fix: 'see connections.failures; a flow must keep its connection open: end it with `hold: true`',
  };
}

/** The engines' accounts against what the fleet's processes count themselves. */
function* accounts({ snapshots }: Measurements): Generator<Reason> {
  const fix = 'a bug: please report it with the folder of the run';
  for (const { accounts: account, connected, transports, connecting, processes, returns, from } of snapshots) {
    if (!processes.every(({ answers }) => answers)) continue;
    if (account.alive !== connected) {
      const message = `engine ${from.engine} counts ${account.alive} living connections, but its fleet counts ${connected}`;
      yield { code: 'ACCOUNTS_MISMATCH', message, fix };
    }
    const { dropped, returned, gaveUp, left, away } = returns;
    if (account.returned !== returned || dropped !== returned + gaveUp + left + away) {
      const message = `engine ${from.engine} counts ${account.returned} returns of dropped connections; its fleet counts ${dropped} drops, ${returned} returns, ${gaveUp} given up, ${left} left and ${away} away`;
      yield { code: 'ACCOUNTS_MISMATCH', message, fix };
    }
    const opened = account.alive + sum(Object.values(account.ended));
    const carried = sum(Object.values(transports));
    if (opened !== carried) {
      const message = `engine ${from.engine} counts ${opened} opened connections, but its fleet knows the transport of ${carried}`;
      yield { code: 'TRANSPORTS_MISMATCH', message, fix };
    }
    const overTime = sum(connecting.opened.counts);
    // What a lost host opened at the end is known by its status alone.
    if (processes.length > 0 && opened !== overTime) {
      const message = `engine ${from.engine} counts ${opened} opened connections, but its fleet has the connect times of ${overTime}`;
      yield { code: 'ACCOUNTS_MISMATCH', message, fix };
    }
  }
}

/** The rows of the hosts against the whole. */
function* hosts({ generators, connections: { opened, held } }: Measured): Generator<Reason> {
  if (generators.length === 0) return;
  const [connections, alive] = [sum(generators.map((one) => one.connections)), sum(generators.map((one) => one.held))];
  if (connections === opened && alive === (held ?? alive)) return;
  yield {
    code: 'ACCOUNTS_MISMATCH',
    message: `the hosts opened ${connections} connections and held ${alive}, but all of them together opened ${opened} and held ${held}`,
    fix: 'a bug: please report it with the folder of the run',
  };
}

/** Clients that may upgrade are to: a connection that polls costs the server many times more. */
function* notUpgraded({ transports, opened }: Measured['connections']): Generator<Reason> {
  if (transports?.configured !== 'default' || transports.polling === 0) return;
  const { polling, upgradeFailures } = transports;
  const causes = Object.keys(upgradeFailures).length > 0 ? listed(upgradeFailures) : 'the server did not offer it';
  yield {
    code: 'NOT_UPGRADED',
    message: `${polling} of ${opened} opened connections stayed on polling: ${causes}`,
    fix: 'see that proxy and server take WebSocket, and that all requests of a session reach the same server',
  };
}

function listed(counts: Record<string, number>): string {
  return Object.entries(counts)
    .toSorted(([, a], [, b]) => b - a)
    .map(([cause, count]) => `${cause} ${count}`)
    .join(', ');
}
