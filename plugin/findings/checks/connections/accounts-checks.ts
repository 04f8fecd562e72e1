/**
 * Checks that all accounts (counts whose parts must add up) are correct: each counted item must be in exactly one
 * column. Also checks virtual users and planned faults.
 */

import { reasonToCode } from '../../../../protocol/codes/failure-codes.ts';
import { findingValues } from '../../../../protocol/result/findings.ts';
import { countsBreakdown, countText, integerText, totalOfCounts } from '../../../../report/text/format.ts';
import { sum } from '../../../result/sums.ts';
import type { Measurements } from '../../../run/measurements/measurements.ts';
import { type CheckFinding, defineCheck, type FindingCheck, type RunFigures } from '../../check.ts';
import { byFrequency } from './failure-causes.ts';

/** An account: the count `all` must equal the sum of its parts. */
interface Account {
  what: string;
  all: number;
  parts: Record<string, number>;
}

type Identity = (result: RunFigures, measurements: Measurements) => Account[];

/** The account of deliveries: for each broadcast, each member is counted in one column. */
const receipts: Identity = ({ delivery }) =>
  (delivery?.batches ?? []).map(({ seq, expected, received, lostConnected, lostDisconnected }) => ({
    what: `expected copies of broadcast ${seq}`,
    all: expected,
    parts: { received, lostConnected, lostDisconnected },
  }));

/**
 * The account of received frames with the broadcast event. `reordered` and `early` are no columns of it: the frames
 * that they count are also in another column.
 */
const frames: Identity = ({ delivery }, { aborted, snapshots }) => {
  // The ledger rows of an ended process are missing, so the sum would be wrong.
  const isComplete = snapshots.every(({ processes }) => processes.every(({ answers }) => answers));
  if (!delivery || delivery.frames === null || aborted || !isComplete) return [];
  const { received, duplicates, unexpected, notMember, late, unreadable } = delivery;
  const { wrongSize, wrongContent, unknownBroadcast, outside } = delivery;
  const all = { received, duplicates, unexpected, notMember, wrongSize, wrongContent, late };
  const counts = Object.entries({ ...all, unknownBroadcast, unreadable, outside });
  // Columns that the run did not check are null. The sum leaves them out.
  const parts = Object.fromEntries(counts.flatMap(([name, count]) => (count === null ? [] : [[name, count]])));
  return [{ what: 'frames with the event', all: delivery.frames, parts }];
};

/** Compares the engines' counts with the counts of the fleet processes. */
const engines: Identity = (_, { snapshots }) =>
  snapshots
    // If a run is stopped during a ramp, its counts come from different times.
    .filter(({ still, processes }) => still && processes.every(({ answers }) => answers))
    .flatMap(({ accounts: account, connected, transports, connecting, processes, returns, from }) => {
      const { dropped, returned, gaveUp, left, away } = returns;
      const opened = account.alive + sum(Object.values(account.ended));
      const of = (what: string) => `${what} of engine ${from.engine}`;
      const timed = { what: of('opened connections'), all: opened, parts: { timed: sum(connecting.opened.counts) } };
      const asked = { opened, ...account.failed, pending: account.pending };
      const all: Account[] = [
        { what: of('attempted connections'), all: account.asked, parts: asked },
        { what: of('open connections'), all: account.alive, parts: { fleet: connected } },
        { what: of('returns'), all: account.returned, parts: { fleet: returned } },
        { what: of('drops'), all: dropped, parts: { returned, gaveUp, left, away } },
        { what: of('opened connections'), all: opened, parts: { ...transports } },
      ];
      // A lost host sent no times of its connections, so they cannot be compared with the number of opened connections.
      return processes.length > 0 ? [...all, timed] : all;
    });

const hosts: Identity = ({ generators, connections: { opened, held } }) => {
  if (generators.length === 0) return [];
  const of = (key: 'connections' | 'held') => Object.fromEntries(generators.map((one) => [one.host, one[key]]));
  return [
    { what: 'opened connections of all hosts', all: opened, parts: of('connections') },
    ...(held === null ? [] : [{ what: 'held connections of all hosts', all: held, parts: of('held') }]),
  ];
};

const repeatedMessages: Identity = ({ messages }) => {
  if (!messages) return [];
  const { due, sent, notSent, ackNotRequested, acknowledged, unansweredConnected, unansweredDisconnected } = messages;
  const answers = { ackNotRequested, acknowledged, unansweredConnected, unansweredDisconnected };
  return [
    { what: 'messages that were due', all: due, parts: { sent, ...notSent } },
    { what: 'messages that were sent', all: sent, parts: answers },
  ];
};

const httpRequests: Identity = ({ http }) => {
  if (!http) return [];
  const { requests, responses, failures, pending } = http;
  const parts = { responses: sum(Object.values(responses)), failures: sum(Object.values(failures)), pending };
  return [{ what: 'HTTP requests', all: requests, parts }];
};

const plannedFault: Identity = ({ fault }, { aborted }) => {
  if (!fault || aborted) return [];
  const { connections, stayed, dropped, reconnected, notReconnected, curve } = fault;
  const open = curve.at(-1)?.connected ?? connections;
  const all: Account[] = [
    { what: 'connections at the planned fault', all: connections, parts: { stayed, dropped } },
    { what: 'connections that the planned fault dropped', all: dropped, parts: { reconnected, ...notReconnected } },
    { what: 'open connections after the planned fault', all: open, parts: { stayed, reconnected } },
  ];
  return all;
};

const IDENTITIES = [receipts, frames, engines, hosts, httpRequests, repeatedMessages, plannedFault];

export const accountsChecks = IDENTITIES.map((identity) =>
  defineCheck('ACCOUNTS_MISMATCH', (...run) => mismatch(identity(...run))),
);

function mismatch(all: Account[]): CheckFinding {
  const [first, ...more] = all.filter((account) => account.all !== sumOf(account));
  if (!first) return undefined;
  const parts = Object.entries(first.parts).map(([name, count]) => `${name} ${count}`);
  const others = more.length > 0 ? `, and ${more.length} more sums` : '';
  return {
    message: `${first.what}: ${first.all} is not ${parts.join(' + ')} = ${sumOf(first)}${others}`,
    values: findingValues({
      [first.what]: first.all,
      ...first.parts,
      sum: sumOf(first),
      ...(more.length > 0 && { 'other wrong sums': more.length }),
    }),
  };
}

function sumOf({ parts }: Account): number {
  return sum(Object.values(parts));
}

/** Checks of virtual users: calls of custom functions, users of other engines, and arrivals that Artillery skipped. */
export const virtualUsersChecks: FindingCheck[] = [
  defineCheck('FUNCTION_FAILED', ({ functions, connections: { failureExamples } }) => {
    if (!functions) return undefined;
    const { received, dropped, failures } = functions;
    const failed = totalOfCounts(failures);
    if (failed + dropped === 0) return undefined;
    const [[name] = ['']] = byFrequency(failures);
    const said = failureExamples[`function_${reasonToCode(name)}`];
    const words =
      failed > 0
        ? [`failed for ${integerText(failed)} of ${countText(received, 'event')}: ${countsBreakdown(failures)}`]
        : [];
    if (dropped > 0)
      words.push(`did not get ${countText(dropped, 'event')}, which arrived faster than they could process them`);
    return {
      message: `functions ${words.join('; they ')}${said === undefined ? '' : `; the first: ${said}`}`,
      values: findingValues({
        'failed calls': failed,
        'events for functions': received,
        'events not handed over': dropped,
      }),
    };
  }),
  defineCheck('OTHER_USERS_FAILED', ({ otherUsers }) => {
    const failed = totalOfCounts(otherUsers?.failures ?? {});
    if (!otherUsers || failed === 0) return undefined;
    const { started, failures } = otherUsers;
    return {
      message: `${integerText(failed)} of ${countText(started, 'virtual user')} of other engines failed: ${countsBreakdown(failures)}`,
      values: findingValues({ 'failed virtual users': failed, 'virtual users of other engines': started, ...failures }),
    };
  }),
  defineCheck('USERS_SKIPPED', ({ connections: { skipped } }) =>
    skipped > 0
      ? {
          message: `${skipped} virtual users were skipped`,
          values: findingValues({ 'skipped virtual users': skipped }),
        }
      : undefined,
  ),
];

/** Checks that every connection that a planned fault dropped has reconnected. */
export const faultChecks: FindingCheck[] = [
  defineCheck('NOT_RECONNECTED', ({ fault: found }) => {
    const missing = totalOfCounts(found?.notReconnected ?? {});
    if (!found || missing === 0) return undefined;
    return {
      message: `${countText(missing, 'connection')} of ${found.dropped} did not reconnect after the planned fault (${countsBreakdown(found.notReconnected)})`,
      values: findingValues({
        'connections not reconnected': missing,
        'dropped connections': found.dropped,
        ...found.notReconnected,
      }),
    };
  }),
];
