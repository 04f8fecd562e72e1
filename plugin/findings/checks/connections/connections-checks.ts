/** Checks the connections of a run: each requested connection must be open, and none may have failed or been lost. */

import { closeCodeOf } from '../../../../protocol/codes/close-codes.ts';
import { FAILURE_CODES, failureDefinitionOf, UPGRADE_HEADERS_FIX } from '../../../../protocol/codes/failure-codes.ts';
import { findingValues } from '../../../../protocol/result/findings.ts';
import type { Result } from '../../../../protocol/result/result.ts';
import { CLIENT_DISCONNECT_REASON } from '../../../../protocol/wire/connection.ts';
import { isThrottled } from '../../../../report/figures/usable-resources.ts';
import { numberText, withUnit } from '../../../../report/model/amount.ts';
import { countsBreakdown, decimalsText, integerText, totalOfCounts } from '../../../../report/text/format.ts';
import { sum } from '../../../result/sums.ts';
import { SERVER_DISCONNECT_REASON } from '../../../run/measurements/close-descriptions.ts';
import type { CloseRow } from '../../../run/measurements/close-rows.ts';
import type { Measurements } from '../../../run/measurements/measurements.ts';
import { type CheckFinding, defineCheck, defineCheckUnless, type FindingCheck, type RunFigures } from '../../check.ts';
import { RATE_TOLERANCE } from '../../met-expectations.ts';
import { holdsConnections } from '../server/ended-processes-checks.ts';
import {
  ageRangeText,
  closeCodeFix,
  closedAfterCount,
  closedByApplication,
  closesByCode,
  commonCloseAge,
} from './closes-checks.ts';
import { longestConnectGap, slowConnectStage } from './connect-waits.ts';
import {
  byFrequency,
  connectOrStepFailures,
  deploymentFailures,
  expiredLogin,
  filterCounts,
  lossFailures,
} from './failure-causes.ts';
import { configuredLimit, outageOf } from './limits-checks.ts';
import { idleTimeoutDetail, missedPingsDetail } from './pings.ts';

const NOT_READY =
  'find why the server refused every connection then: it started, was deployed, or failed a health check; see its log and that of the proxy';
/** Minimum utilization of an event loop from which it is too busy to open more connections. */
const BUSY_LOOP = 0.9;

export const connectionsChecks: FindingCheck[] = [
  // The check applies only if no connection failed, because a separate finding reports failures.
  defineCheckUnless('abort', 'RUN_INCOMPLETE', ({ connections: { peak, opened, target, failures }, otherUsers }) =>
    // `opened` excludes connections of other engines. The samples include these connections, so their peak is known.
    peak === 0 && opened === 0 && totalOfCounts(failures) === 0
      ? {
          message: `none of ${target} connections was made`,
          values: findingValues({ 'connections asked for': target }),
          fix:
            target === 0 && otherUsers
              ? 'raise the `weight` of the scenarios of this engine, or the arrivals: Artillery chose none of them'
              : 'see the causes in `connections.failures`',
        }
      : undefined,
  ),
  defineCheck('CONNECTIONS_FAILED', (result, { observations }) => {
    const { failures, failureExamples, target } = result.connections;
    const failed = deploymentFailures(connectOrStepFailures(failures));
    if (totalOfCounts(failed) === 0) return undefined;
    const [[cause] = ['']] = byFrequency(failed);
    const said = failureExamples[cause];
    // The message contains the server's own error text before the meaning of the failure code.
    const words = said === undefined ? '' : `${cause === 'namespace_refused' ? 'the server refused: ' : ''}${said}: `;
    const meaning = closeCodeOf(cause);
    const outage = outageOf(result);
    // If no connection opened, the failure of the run's own clients shows the reason.
    const [refusal] = result.connections.opened === 0 && /^http_/.test(cause) ? observations.of('clientsRefused') : [];
    const fix = outage
      ? NOT_READY
      : (expiredLogin(result)?.fix ?? refusal?.fix ?? failureDefinitionOf(cause)?.remedy ?? meaning?.remedy);
    const when = outage
      ? `; no connection succeeded from ${decimalsText(outage.from, 1)} to ${decimalsText(outage.to, 1)} s, and none was refused after ${decimalsText(outage.since, 1)} s, when ${integerText(outage.after)} succeeded`
      : '';
    return {
      message: `${words}${totalOfCounts(failed)} of ${target} failed: ${countsBreakdown(failed)}${meaning ? ` (${meaning.meaning})` : ''}${when}`,
      values: [
        ...findingValues({ 'failed connections': totalOfCounts(failed), 'connections asked for': target, ...failed }),
        ...findingValues(
          { 'no connection succeeded from': outage?.from, 'no connection succeeded until': outage?.to },
          's',
        ),
        ...findingValues({ 'end of the refusals, at the latest': outage?.since }, 's'),
        ...findingValues({ 'connections after the refusals': outage?.after }),
      ],
      // If a limit explains the failures, a separate finding reports the limit with its fix.
      ...(fix !== undefined && !configuredLimit(result) && { fix }),
    };
  }),
  defineCheck('CONNECTIONS_DROPPED', lostConnections),
  defineCheck('CONNECTIONS_DROPPED', lostNamespaces),
  defineCheck('CONNECTIONS_DROPPED', returned),
  // A connection with polling costs the server many times more than a WebSocket.
  defineCheck('NOT_UPGRADED', ({ connections: { transports, opened } }) => {
    if (transports?.configured !== 'default' || transports.polling === 0) return undefined;
    const { polling, upgradeFailures } = transports;
    const [[cause] = ['']] = byFrequency(upgradeFailures);
    const known = failureDefinitionOf(cause);
    const causes =
      cause === '' ? 'no upgrade failed, so the server has not answered' : countsBreakdown(upgradeFailures);
    return {
      message: `${polling} of ${opened} connections stayed on polling: ${cause === 'no_upgrade' ? known?.meaning : causes}`,
      values: findingValues({ 'connections on polling': polling, 'opened connections': opened, ...upgradeFailures }),
      ...(cause === 'no_upgrade' && { fix: known?.remedy }),
      ...(cause === 'http_400' && { fix: UPGRADE_HEADERS_FIX }),
    };
  }),
  // If a user stopped the run, the last ramp has no end.
  defineCheckUnless('stop', 'RATE_NOT_REACHED', (result) => {
    const { achievedRatePerSec: achieved, configuredRatePerSec: configured, asked, opened } = result.connections;
    if (achieved === null || configured === null) return undefined;
    // The connect rate as if all failed connections had opened. A separate finding reports failed connections.
    const withFailed = opened > 0 ? (achieved * asked) / opened : achieved;
    if (Math.max(achieved, withFailed) >= configured * (1 - RATE_TOLERANCE)) return undefined;
    const rate = `${numberText('perSecond', achieved)} of ${numberText('perSecond', configured)} connections/s`;
    const waited = slowConnectStage(result);
    const isByGenerator = isThrottled(result.machine?.throttled, 'ramp') || hasBusyLoop(result.generator);
    return {
      ...{ message: [rate, ...(waited ? [waited.message] : [])].join('; '), window: 'ramp' },
      values: [
        ...findingValues({ 'achieved rate': achieved, 'configured rate': configured }, '/s'),
        ...(waited?.values ?? []),
      ],
      ...(waited && { fix: waited.fix }),
      ...(!waited &&
        longestConnectGap(result) && {
          fix: 'find what accepted no more connections then: a limit of the proxy or of the server, such as `maxconn` or `limit_conn`',
        }),
      ...(isByGenerator && { about: 'generator' as const, invalidates: ['connections' as const] }),
    };
  }),
  // If every virtual user holds its connection, all connections of the scenario must have been open at the same time.
  defineCheckUnless('abort', 'TARGET_NOT_REACHED', ({ connections }, { expectedAtOnce }) => {
    const { peak } = connections;
    if (expectedAtOnce === null || peak === 0 || peak >= expectedAtOnce) return undefined;
    const [failed, lost] = [connections.failed, totalOfCounts(connections.lost)];
    return {
      message: `only ${peak} of ${expectedAtOnce} connections were open at the same time; ${failed} failed, and ${lost} were lost`,
      values: findingValues({
        'connections at the same time': peak,
        'connections asked for': expectedAtOnce,
        'failed connections': failed,
        'lost connections': lost,
      }),
      ...(peak + failed + lost >= expectedAtOnce && {
        fix: 'see `connections.failures` and `connections.lost`: these are all that are missing',
      }),
    };
  }),
];

function hasBusyLoop(loops: Result['generator']): boolean {
  return loops.some(({ window, utilization }) => window === 'ramp' && utilization >= BUSY_LOOP);
}

const TIME_OUT =
  'find the time-out that ends them, of the server or of what is in between: `npx socketio-capacity doctor --target` holds a silent connection';

function lostConnections(result: RunFigures, measurements: Measurements): CheckFinding | CheckFinding[] {
  const { connections, stages, samples } = result;
  const { opened, held } = connections;
  const lost = deploymentFailures(connections.lost);
  // Connections are not lost if their virtual users closed them.
  const asPlanned = totalOfCounts(
    filterCounts(result.fault?.notReconnected ?? {}, (cause) => cause !== CLIENT_DISCONNECT_REASON),
  );
  if (totalOfCounts(lost) <= asPlanned) return undefined;
  const planned = asPlanned > 0 ? ` (${asPlanned} of them by the planned fault)` : '';
  const left =
    held === null || (held === 0 && totalOfCounts(lost) >= opened)
      ? ''
      : `; ${held} were open at the end of the broadcasts`;
  const byApplication = lost[SERVER_DISCONNECT_REASON] ?? 0;
  const expired = expiredLogin(result);
  const closed = closedByApplication(result, byApplication, opened);
  const ofApplication = { ...closed, fix: expired?.fix ?? closed.fix };
  const values = findingValues({
    'lost connections': totalOfCounts(lost),
    ...lost,
    'opened connections': opened,
    'connections open at the end': held,
    ...(asPlanned > 0 && { 'lost by the planned fault': asPlanned }),
  });
  if (byApplication === totalOfCounts(lost))
    return {
      ...ofApplication,
      message: `${ofApplication.message}${planned}${left}`,
      values: [...(ofApplication.values ?? []), ...values],
    };
  const fall = steepestFall(totalOfCounts(lost), stages, samples);
  const age = asPlanned > 0 ? undefined : commonAge(result, measurements);
  const said = expired?.words && byApplication === 0 ? `; example: ${expired.words}` : '';
  // If a process ended, the time of its exit is more exact than the time of the losses.
  const isKnown = measurements.endedProcesses().some(holdsConnections);
  const when =
    fall && !isKnown
      ? `; most ended between ${decimalsText(fall.sinceT, 1)} and ${decimalsText(fall.t, 1)} s, in stage \`${fall.stage}\``
      : '';
  const codes = asPlanned > 0 ? [] : closesByCode(connections.ends);
  const codesText = codes.map(([code, count]) => `${count} with ${code}`).join(', ');
  const counted = asPlanned > 0 ? undefined : closedAfterCount(result);
  const pings = asPlanned > 0 ? undefined : missedPingsDetail(result, fall?.t);
  const idle = age && !pings ? idleTimeoutDetail(result, age.high) : undefined;
  const fix =
    expired?.fix ??
    pings?.fix ??
    idle?.fix ??
    counted?.fix ??
    clientFix(lost) ??
    closeCodeFix(connections.ends, age !== undefined) ??
    (age === undefined ? undefined : TIME_OUT);
  return [
    {
      message: `${totalOfCounts(lost)} of ${opened} connections were lost${planned}: ${countsBreakdown(lost)}${codesText && `; ${codesText}`}${counted?.message ?? ''}${pings?.message ?? ''}${left}${age && !pings ? `; they ended ${ageRangeText(age)} after they had connected` : when}${idle?.message ?? ''}${said}`,
      values: [
        ...values,
        ...findingValues(Object.fromEntries(codes)),
        ...(pings?.values ?? []),
        ...(idle?.values ?? []),
        ...(counted?.values ?? []),
        ...(age && !pings
          ? findingValues({ 'shortest connection': age.low, 'longest connection': age.high }, 's')
          : []),
        ...(fall && (pings || !age)
          ? findingValues({ 'start of most losses': fall.sinceT, 'end of most losses': fall.t }, 's')
          : []),
      ],
      ...(fix !== undefined && { fix }),
    },
    ...(byApplication > 0 ? [ofApplication] : []),
  ];
}

/**
 * Returns the suggested fix if the clients themselves closed all lost connections because of a packet from the server.
 */
function clientFix(lost: Record<string, number>): string | undefined {
  const [[cause, count] = ['', 0]] = byFrequency(lost);
  if (count < totalOfCounts(lost)) return undefined;
  if (cause === 'parse error') return 'find the packet that is not Socket.IO: the server may have another parser';
  return FAILURE_CODES[cause.replaceAll(' ', '_')]?.remedy;
}

/**
 * Maximum difference between the ages of lost connections, as a share of the ramps' length. If all connections close at
 * the same moment, their ages differ as much as their connect times.
 */
const MAX_RAMP_SHARE = 0.25;

/** Returns the age at which nearly all lost connections closed, which indicates a timeout; undefined if ages differ. */
function commonAge({ connections: { ends } }: RunFigures, { ramps }: Measurements): CloseRow['sent'] | undefined {
  const age = commonCloseAge(ends);
  const rampSeconds = sum(ramps.map(({ seconds }) => seconds));
  return age && age.high - age.low < MAX_RAMP_SHARE * rampSeconds ? age : undefined;
}

/**
 * Reports virtual users that lost a namespace while their connection stayed open. Such connections do not count as
 * lost.
 */
function lostNamespaces({ connections, fault }: RunFigures): CheckFinding {
  const gone = deploymentFailures(lossFailures(connections.failures));
  // Namespaces that a planned fault closed are part of the result of the fault.
  if (totalOfCounts(gone) === 0 || fault) return undefined;
  return {
    message: `${totalOfCounts(gone)} virtual users lost a namespace, while their connections stayed: ${countsBreakdown(gone)}`,
    values: findingValues({ 'lost namespaces': totalOfCounts(gone), ...gone }),
    fix: 'see the log of the workers: the server disconnects these sockets',
  };
}

function returned({ connections: { reconnection }, fault }: RunFigures): CheckFinding {
  if (!reconnection?.awayMs) return undefined;
  const { returned, recovered, awayMs } = reconnection;
  if (fault) {
    const unplanned = returned - fault.returns;
    if (unplanned <= 0) return undefined;
    return {
      message: `connections that the planned fault had not dropped reconnected ${unplanned} times`,
      values: findingValues({ 'returns beside the planned fault': unplanned }),
      fix: 'see the logs of the workers and of the proxy, before the fault and after it',
    };
  }
  const seconds = (ms: number) => withUnit('seconds', ms / 1000);
  const p99 = awayMs.p99 === null ? '' : `, 99 % within ${seconds(awayMs.p99)}`;
  const sessions = `the server restored the sessions of ${recovered}, and ${returned - recovered} have new ones`;
  return {
    message: `connections reconnected ${returned} times, after ${seconds(awayMs.p50)} (median${p99}, longest ${seconds(awayMs.max)}); ${sessions}`,
    values: [
      ...findingValues({ returns: returned, 'restored sessions': recovered, 'new sessions': returned - recovered }),
      ...findingValues(
        { 'absence (median)': awayMs.p50, 'absence (p99)': awayMs.p99, 'absence (longest)': awayMs.max },
        'ms',
      ),
    ],
  };
}

/**
 * Returns the two consecutive samples between which more than half of the lost connections closed, before the run
 * released the other connections.
 */
function steepestFall(
  lost: number,
  stages: Result['stages'],
  samples: Result['samples'],
): { sinceT: number; t: number; stage: string } | undefined {
  const releasedAt = stages.find(({ name }) => name === 'disconnect')?.t ?? Number.POSITIVE_INFINITY;
  const held = samples.filter(({ t }) => t < releasedAt);
  const index = held.findIndex(
    ({ connections }, index) => 2 * ((held[index - 1]?.connections ?? 0) - connections) > lost,
  );
  const [before, steepest] = [held[index - 1], held[index]];
  if (!before || !steepest) return undefined;
  return {
    ...{ sinceT: before.t, t: steepest.t },
    stage: stages.findLast(({ t }) => t <= steepest.t)?.name ?? 'ramp',
  };
}
