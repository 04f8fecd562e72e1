/** Converts the facts of a run to findings (problems and doubts). No other code judges a run. */
import { FINDING_CODES, FINDINGS, type FindingCode } from '../../protocol/codes/finding-codes.ts';
import { type Finding, findingValues } from '../../protocol/result/findings.ts';
import { totalOfCounts } from '../../report/text/format.ts';
import { unfinalizedBroadcasts } from '../result/delivery/assemble-delivery.ts';
import type { Measurements } from '../run/measurements/measurements.ts';
import { CONNECTION_CAUSES } from './causes/connection-causes.ts';
import { DEPLOYMENT_CAUSES } from './causes/deployment-causes.ts';
import type { CauseEdges } from './causes/edges.ts';
import { GENERATOR_CAUSES } from './causes/generator-causes.ts';
import type { CodedFindingDetail, FindingCheck, FindingDetail, RunFigures } from './check.ts';
import { accountsChecks, faultChecks, virtualUsersChecks } from './checks/connections/accounts-checks.ts';
import { closesChecks } from './checks/connections/closes-checks.ts';
import { connectionsChecks } from './checks/connections/connections-checks.ts';
import { limitsChecks } from './checks/connections/limits-checks.ts';
import { adapterChecks } from './checks/delivery/adapter-checks.ts';
import { broadcastsChecks } from './checks/delivery/broadcasts-checks.ts';
import { copiesChecks } from './checks/delivery/copies-checks.ts';
import { delaysChecks } from './checks/delivery/delays-checks.ts';
import { keepingUpChecks } from './checks/delivery/keeping-up-checks.ts';
import { messagesChecks } from './checks/delivery/messages-checks.ts';
import { ownEventChecks } from './checks/delivery/own-event-checks.ts';
import { generatorChecks } from './checks/generator/generator-checks.ts';
import { causeOfLateness, machineChecks } from './checks/generator/machine-checks.ts';
import { timesChecks } from './checks/generator/times-checks.ts';
import { leaksChecks } from './checks/memory/leaks-checks.ts';
import { memoryChecks, unexplainedMemoryChecks } from './checks/memory/memory-checks.ts';
import { observedFindings } from './checks/observed/observed.ts';
import { endedProcessesChecks } from './checks/server/ended-processes-checks.ts';
import { processesChecks, sourcesChecks, workersChecks } from './checks/server/processes-checks.ts';
import { saturationChecks } from './checks/server/saturation-checks.ts';
import { stallsChecks } from './checks/server/stalls-checks.ts';
import { isExpectationReplaced } from './met-expectations.ts';

/** Stages of a run, in order of time. In the stage `messages`, connections send messages. */
const WINDOWS = ['ramp', 'hold', 'messages', 'broadcasts', 'disconnect'];

/** Returns the codes of the findings that this finding causes. */
export function findingsCausedBy(
  cause: Finding,
  findings: readonly Finding[],
  result: RunFigures,
  measurements: Measurements,
): string[] {
  const edges = CAUSES[cause.code as FindingCode] ?? [];
  return findings
    .filter((effect) =>
      edges.some(
        ({ effects, holds }) =>
          effects.includes(effect.code as FindingCode) &&
          isNotLater(cause, effect) &&
          (holds?.({ cause, effect, result, measurements }) ?? true),
      ),
    )
    .map(({ code }) => code);
}

/** Returns whether the cause is not later than the effect. A finding without a window applies to the whole run. */
function isNotLater(cause: Finding, effect: Finding): boolean {
  if (cause.window === undefined || effect.window === undefined) return true;
  if (MOMENTARY.includes(cause.code as FindingCode)) return cause.window === effect.window;
  return WINDOWS.indexOf(cause.window) <= WINDOWS.indexOf(effect.window);
}

const CHECKS = [
  ...[
    sourcesChecks,
    accountsChecks,
    machineChecks,
    saturationChecks,
    generatorChecks,
    endedProcessesChecks,
    workersChecks,
    stallsChecks,
    limitsChecks,
    closesChecks,
    connectionsChecks,
    virtualUsersChecks,
    faultChecks,
  ],
  ...[
    broadcastsChecks,
    keepingUpChecks,
    delaysChecks,
    adapterChecks,
    ownEventChecks,
    copiesChecks,
    messagesChecks,
    timesChecks,
    memoryChecks,
    leaksChecks,
    processesChecks,
    unexplainedMemoryChecks,
  ],
].flat();

/** Parts of the answer that are unknown or unreliable after a failure of the deployment. */
const UNKNOWN_AFTER_FAILURE: Finding['invalidates'] = ['memory', 'delivery', 'latency', 'cpu'];

/**
 * Finds everything that is wrong with a run.
 * @param result all figures of the run
 * @returns one finding for each code, causes before their consequences
 */
export function findAllFindings(measurements: Measurements, result: RunFigures): Finding[] {
  const finalized = withoutOpen(measurements, result);
  const checked = runChecks(CHECKS, finalized, measurements);
  // Findings that follow from figures come before findings that follow from observations.
  const details = [...abortion(measurements, result), ...checked, ...observedFindings(measurements.observations)];
  return addCauses(
    oneForEachCode([...details, ...causeOfLateness(finalized, details)], result),
    finalized,
    measurements,
  );
}

/** Adds to each finding the findings that it explains, and corrects findings whose cause is known. */
export function addCauses(findings: Finding[], result: RunFigures, measurements: Measurements): Finding[] {
  const explaining = findings.map((finding) => ({
    ...finding,
    explains: findingsCausedBy(finding, findings, result, measurements),
  }));
  return withoutRepeats(
    explaining.map((finding) => withoutBlame(finding, explaining)),
    result,
  );
}

/** Removes consequences that add nothing to their cause. Their own consequences move to the cause. */
function withoutRepeats(all: Finding[], { memory }: RunFigures): Finding[] {
  const causesOf = ({ code }: Finding) => all.filter(({ explains }) => explains.includes(code)).map((one) => one.code);
  const repeats = all.filter((one) => {
    const causes = causesOf(one);
    // If the run did not measure memory, a finding about doubtful memory adds nothing.
    const isUnmeasured = one.code === 'PLATEAUS_UNUSABLE' && memory.perConnection === null && causes.length > 0;
    return isUnmeasured || (one.code === 'DEPLOYMENT_CHANGED' && causes.includes('PROCESS_ENDED'));
  });
  const explainedBy = (code: string) => repeats.find((one) => one.code === code)?.explains ?? [code];
  return all
    .filter((one) => !repeats.includes(one))
    .map((one) => ({ ...one, explains: [...new Set(one.explains.flatMap(explainedBy))] }));
}

export function runChecks(checks: FindingCheck[], ...run: Parameters<FindingCheck['find']>): CodedFindingDetail[] {
  return checks.flatMap(({ code, find }) => find(...run).map((detail) => ({ code, ...detail })));
}

/** Returns the findings that no other finding explains. */
export function rootFindings(findings: readonly Finding[]): Finding[] {
  const explained = new Set(findings.flatMap(({ explains }) => explains));
  return findings.filter(({ code }) => !explained.has(code));
}

/** Expectations that a run misses if its load differs from the planned load. */
const OF_LOAD: Finding['fails'][] = ['no connection fails', 'no connection is lost'];

/** Corrects how a finding affects verdict and outcome, if its cause is known. */
function withoutBlame(finding: Finding, all: readonly Finding[]): Finding {
  if (isByGenerator(finding, all)) {
    // If the generator caused the problem, it is unknown how many connections the deployment would have held.
    return { ...finding, fails: null, ...(OF_LOAD.includes(finding.fails) && { invalidates: ['run'] }) };
  }
  const causes = all.filter(({ explains }) => explains.includes(finding.code));
  // If the cause explains which connections received nothing, the figures stay valid.
  if (finding.code === 'AUDIENCE_DIFFERS' && causes.some(({ about }) => about === 'deployment'))
    return { ...finding, invalidates: [] };
  if (causes.length === 0 || !finding.invalidates.includes('run')) return finding;
  // After a failure of the deployment, the counts until then stay valid.
  return { ...finding, invalidates: UNKNOWN_AFTER_FAILURE };
}

/**
 * Returns whether the generator or its machine caused the finding, directly or through another finding. Such a finding
 * does not show a problem of the deployment.
 */
function isByGenerator(finding: Finding, all: readonly Finding[]): boolean {
  const causes = new Set([finding]);
  // The loop also visits causes that are added while it runs.
  for (const one of causes) {
    for (const cause of all) if (cause.explains.includes(one.code)) causes.add(cause);
  }
  return [...causes].some(({ about }) => about !== 'deployment' && about !== 'application');
}

/** Returns the finding about an early end of the run, with the parts of the answer that are unknown because of it. */
function abortion(measurements: Measurements, { connections }: RunFigures): CodedFindingDetail[] {
  const { aborted, sent } = measurements;
  // If all virtual users failed or lost their connections, another finding reports that.
  const failed = connections.failed + totalOfCounts(connections.lost);
  const allFailed = failed > 0 && failed >= connections.asked;
  if (!aborted || (aborted.how === 'left' && allFailed)) return [];
  const { size } = unfinalizedBroadcasts(measurements);
  const unknown =
    size > 0
      ? `; the receivers of ${size} of ${sent.length} broadcasts are unknown, because their ledger is not finalized`
      : '';
  const { code, message, fix } = aborted;
  const values =
    size > 0 ? findingValues({ 'broadcasts with unknown receivers': size, 'sent broadcasts': sent.length }) : [];
  return [{ code, message: `${message}${unknown}`, values, ...(fix !== undefined && { fix }) }];
}

/** Returns the result without broadcasts whose ledger rows are not finalized, because their columns are still empty. */
function withoutOpen(measurements: Measurements, result: RunFigures): RunFigures {
  const open = unfinalizedBroadcasts(measurements);
  const { delivery } = result;
  if (!delivery || open.size === 0) return result;
  return { ...result, delivery: { ...delivery, batches: delivery.batches.filter(({ seq }) => !open.has(seq)) } };
}

function oneForEachCode(all: CodedFindingDetail[], result: RunFigures): Finding[] {
  const byCode = Map.groupBy(all, ({ code }) => code);
  return FINDING_CODES.filter((code) => byCode.has(code)).map((code) => {
    const details = byCode.get(code) ?? [];
    const { about, invalidates, fails, remedy } = FINDINGS[code];
    const [{ subject, window: first } = {} as Partial<FindingDetail>] = details;
    const isOfOne = !MOMENTARY.includes(code) || details.every(({ window }) => window === first);
    const window = isOfOne ? first : undefined;
    const values = details.flatMap((detail) => detail.values ?? []);
    const isReplaced = fails === undefined || isExpectationReplaced(fails, result.thresholds);
    return {
      code,
      about: details.every((detail) => detail.about) ? (details[0]?.about ?? about) : about,
      invalidates: [...new Set(details.flatMap((detail) => detail.invalidates ?? invalidates))],
      fails: isReplaced ? null : fails,
      explains: [],
      ...(subject !== undefined && { subject }),
      ...(window !== undefined && { window }),
      ...(values.length > 0 && { values }),
      message: details.map(({ message }) => message).join('; '),
      fix: [...new Set(details.map(({ fix = remedy }) => fix))].join('; '),
    };
  });
}

/**
 * Codes of findings about causes that stop at the end of their measurement window. They explain effects in the same
 * window only.
 */
const MOMENTARY: FindingCode[] = [
  ...(['MACHINE_SATURATED', 'GENERATOR_LATE'] as const),
  ...(['WORKERS_SATURATED', 'WORKERS_THROTTLED', 'WORKER_STALLED'] as const),
];

/**
 * The causal graph: edges from each finding to the findings that it can cause. The cause must not be later than the
 * effect.
 */
const CAUSES: CauseEdges = { ...GENERATOR_CAUSES, ...DEPLOYMENT_CAUSES, ...CONNECTION_CAUSES };
