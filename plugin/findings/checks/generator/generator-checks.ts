/** Checks the load generator itself, because a delay in the generator is part of every measured time. */

import { sumCounts } from '../../../../protocol/base/sum-counts.ts';
import { generatorFaultOf } from '../../../../protocol/codes/failure-codes.ts';
import { findingValues } from '../../../../protocol/result/findings.ts';
import type { Result } from '../../../../protocol/result/result.ts';
import { figureExplainedByStall, standstillValue } from '../../../../report/figures/stalls.ts';
import { isThrottled } from '../../../../report/figures/usable-resources.ts';
import { withUnit } from '../../../../report/model/amount.ts';
import { countsBreakdown, integerText, totalOfCounts } from '../../../../report/text/format.ts';
import type { Measurements } from '../../../run/measurements/measurements.ts';
import { type CheckFinding, defineCheck, defineCheckUnless, type FindingCheck, type RunFigures } from '../../check.ts';
import { byFrequency, generatorFailures } from '../connections/failure-causes.ts';
import { machineSaturation } from './machine-checks.ts';

type Loop = Result['generator'][number];

/**
 * Maximum p99 of the event loop delay in milliseconds. Above it, times and rates mainly describe the generator.
 */
const MAX_DELAY_P99_MS = 50;
/** Maximum lag of the receivers behind the reference receiver, as a share of the reference receiver's latency. */
const MAX_BEHIND_SHARE = 0.25;
/** Minimum length of a standstill that can cause the receivers' lag, as a share of the lag. */
const MIN_STALL_SHARE = 0.5;

export const generatorChecks: FindingCheck[] = [
  // If a user stops the run with Ctrl-C, all processes of the generator receive the signal.
  defineCheckUnless('stop', 'FLEET_PROCESS_DIED', (_, measurements) =>
    processes('died', measurements, ({ alive }) => !alive),
  ),
  defineCheckUnless('stop', 'GENERATOR_SILENT', (_, measurements) =>
    processes('did not answer', measurements, ({ alive, answers }) => alive && !answers),
  ),
  defineCheck('GENERATOR_FAILED', ({ connections: { failures, failureExamples, lost, ends } }, { stoppedByUser }) => {
    const own = generatorFailures(sumCounts([failures, lost]), stoppedByUser);
    const [[most] = ['']] = byFrequency(own);
    const fault = generatorFaultOf(most);
    if (!fault) return undefined;
    const message = `${totalOfCounts(own)} connections failed or were lost because of the generator: ${countsBreakdown(own)}`;
    const { closeText = '' } = ends.find(({ reason, closeText }) => reason === most && closeText !== '') ?? {};
    return {
      message: `${message}; ${most}: ${closeText || failureExamples[most] || fault.meaning}`,
      values: findingValues({ 'connections of the generator': totalOfCounts(own), ...own }),
      fix: fault.remedy,
    };
  }),
  defineCheck('GENERATOR_LATE', (result) =>
    (['ramp', 'messages', 'broadcasts'] as const).flatMap((window) => {
      const queued = window === 'broadcasts' ? queue(result) : undefined;
      return queued ?? lateLoop(result, window) ?? stallIn(result, window) ?? [];
    }),
  ),
  defineCheck('GENERATOR_LATE', ({ messages }) =>
    messages && messages.notSent.missed > 0
      ? {
          message: `${messages.notSent.missed} of ${messages.due} messages were not sent in their period`,
          values: findingValues({ 'messages not sent': messages.notSent.missed, 'due messages': messages.due }),
        }
      : undefined,
  ),
  defineCheck('GENERATOR_LATE', ({ messages }) => {
    const lateMs = messages?.sendDelayMs?.p99 ?? 0;
    if (lateMs <= MAX_DELAY_P99_MS) return undefined;
    return {
      message: `1 % of the messages left over ${integerText(lateMs)} ms late`,
      values: findingValues({ 'p99 of the send delay': lateMs }, 'ms'),
    };
  }),
];

type FleetProcess = Measurements['snapshots'][number]['processes'][number];

function processes(
  what: string,
  { snapshots }: Measurements,
  isMeant: (process: FleetProcess) => boolean,
): CheckFinding {
  const pids = snapshots.flatMap(({ processes }) => processes.filter(isMeant).map(({ pid }) => pid));
  if (pids.length === 0) return undefined;
  return {
    message: `${pids.length} fleet process${pids.length > 1 ? 'es' : ''} ${what} (pid ${pids.join(', ')})`,
    values: findingValues({ 'fleet processes': pids.length }),
  };
}

function lateLoop({ generator }: RunFigures, window: Loop['window']): CheckFinding {
  const [worst] = generator
    .filter((loop) => loop.window === window && loop.delayP99Ms > MAX_DELAY_P99_MS)
    .toSorted((a, b) => b.delayP99Ms - a.delayP99Ms);
  if (!worst) return undefined;
  const where = worst.host === undefined ? '' : ` on ${worst.host}`;
  return {
    values: findingValues({ 'p99 of the delay of an event loop': worst.delayP99Ms }, 'ms'),
    message: `1 % of the timers of ${worst.part === 'fleet' ? 'fleet process' : 'Artillery worker'} ${worst.index}${where} were over ${integerText(worst.delayP99Ms)} ms late during the ${window}`,
  };
}

/**
 * Returns the fleet process with the longest standstill of its event loop. Only fleet processes receive copies and take
 * times.
 */
function longestStall({ generator }: RunFigures, window: Loop['window']): Loop | undefined {
  const own = generator.filter((loop) => loop.window === window && loop.part === 'fleet');
  return own.toSorted((a, b) => b.delayMaxMs - a.delayMaxMs)[0];
}

function stallIn(result: RunFigures, window: Loop['window']): CheckFinding {
  const loop = longestStall(result, window);
  const explained = loop && figureExplainedByStall(result, window, loop.delayMaxMs);
  if (!explained) return undefined;
  const where = loop.host === undefined ? '' : ` on ${loop.host}`;
  return {
    message: `fleet process ${loop.index}${where} stood still for ${withUnit('milliseconds', loop.delayMaxMs)} during the ${window}, which can explain ${explained.text}`,
    values: [...standstillValue(loop.delayMaxMs / 1000), ...explained.values],
    fix: 'measure again; find what stopped the generator: another process on its cores, or a pause of its container or virtual machine',
  };
}

/**
 * Compares the receivers with the reference receiver, to which its worker sends last. If receivers are later, the
 * generator may have delayed them. This is reported only if a figure about the generator shows the cause.
 */
function queue(result: RunFigures): CheckFinding {
  const { sentinelMs, behindSentinelMs } = result.latency;
  if (!sentinelMs || !behindSentinelMs) return undefined;
  // If there are fewer than 100 broadcasts, the maximum replaces p99.
  const behindMs = behindSentinelMs.p99 ?? behindSentinelMs.max;
  if (behindMs <= Math.max(MAX_DELAY_P99_MS, sentinelMs.p50 * MAX_BEHIND_SHARE)) return undefined;
  const cause = whyBehind(result, behindMs);
  if (cause === undefined) return undefined;
  const { text, delayMs } = cause;
  return {
    message: `copies queued in the generator: receivers were up to ${withUnit('milliseconds', behindMs)} (99 %) behind the reference receiver, whose median is ${withUnit('milliseconds', sentinelMs.p50)}, while ${text}`,
    values: findingValues(
      {
        'behind the reference receiver': behindMs,
        'median of the reference receiver': sentinelMs.p50,
        'delay of an event loop': delayMs,
      },
      'ms',
    ),
    fix: 'quote the reference receiver (`latency.sentinelMs`), and give the generator its own cores or its own machine',
  };
}

function whyBehind(result: RunFigures, behindMs: number): { text: string; delayMs?: number } | undefined {
  const stalled = longestStall(result, 'broadcasts');
  if (stalled && stalled.delayMaxMs >= behindMs * MIN_STALL_SHARE) {
    const text = `the event loop of fleet process ${stalled.index} was up to ${withUnit('milliseconds', stalled.delayMaxMs)} late`;
    return { text, delayMs: stalled.delayMaxMs };
  }
  if (isThrottled(result.machine?.throttled, 'broadcasts')) return { text: 'its container had used up its CPU quota' };
  return machineSaturation(result, 'broadcasts') && { text: 'its machine had no CPU left' };
}
