/** Computes the answer of a run: the lines at the top of every report. The answer is stored in the result document. */
import type { AnswerLine, RunAnswer } from '../../protocol/result/answer-schema.ts';
import type { Finding } from '../../protocol/result/findings.ts';
import type { Result } from '../../protocol/result/result.ts';
import { processesLine } from '../../protocol/result/server-schema.ts';
import { hasLeavingUsers } from '../figures/held.ts';
import { connectionLines, countedEventLines, functionLines, httpLines, limitLines } from './connections-line.ts';
import { cpuLines } from './cpu-line.ts';
import { deliveryLines, messageLines } from './delivery-line.ts';
import { faultLines } from './fault-line.ts';
import { generatorLines } from './generator-line.ts';
import { latencyLines } from './latency-line.ts';
import type { ReportLine } from './line.ts';
import { machineLine } from './machine-line.ts';
import { cpuCodePlacesLine, memoryLines } from './memory-line.ts';
import { missedThresholdsText, outcomeTitle } from './outcome.ts';
import { overTimeLines } from './over-time-line.ts';

/**
 * Functions that return the lines of the answer, by section of the report. Each section has the details of its lines.
 */
const LINES: Record<string, (result: Result) => ReportLine[]> = {
  connections: (result) => [...connectionLines(result), ...httpLines(result), ...functionLines(result)],
  fault: faultLines,
  delivery: (result) => [...deliveryLines(result), ...countedEventLines(result)],
  latency: latencyLines,
  messages: messageLines,
  memory: (result) => [
    ...(result.memory.overTime === null || hasLeavingUsers(result) ? memoryLines(result) : []),
    ...overTimeLines(result),
  ],
  cpu: (result) => [...cpuLines(result), ...cpuCodePlacesLine(result)],
  capacity: limitLines,
  processes: ({ processes, run }) =>
    processes && run.profile === 'remote' ? [{ text: processesLine(processes) ?? null }] : [],
  generator: generatorLines,
};

/** @param judged the result with its findings, verdict and outcome */
export function runAnswerOf(judged: Omit<Result, 'answer'>): RunAnswer {
  const result: Result = { ...judged, answer: { title: '', cause: null, machine: '', lines: [] } };
  const lines = Object.entries(LINES).flatMap(([section, linesOf]) =>
    linesOf(result).map((line) => doubted({ section, ...line }, result.findings)),
  );
  return {
    title: outcomeTitle(result),
    cause: answerLead(judged).text ?? null,
    machine: machineLine(judged),
    lines: result.verdict.status === 'INVALID' ? [] : [...lines, ...notMeasured(result)],
  };
}

/**
 * Returns the findings that no other finding explains. Findings that make a run INVALID come first, then findings that
 * fail it. Findings about the deployment come before findings that only make figures doubtful. Findings with more
 * consequences come first.
 */
export function leadingFindings(findings: readonly Finding[]): Finding[] {
  const explained = new Set(findings.flatMap(({ explains }) => explains));
  const roots = findings.filter(({ code }) => !explained.has(code));
  const ranks = new Map(roots.map((root) => [root, rankOf(root, findings)]));
  const difference = (a: Finding, b: Finding) =>
    (ranks.get(b) ?? []).map((rank, index) => rank - (ranks.get(a)?.[index] ?? 0)).find((one) => one !== 0) ?? 0;
  return roots.toSorted(difference);
}

/** Returns the leading findings that fail the run or that, directly or through a consequence, invalidate a figure. */
export function decisiveFindings(findings: readonly Finding[]): Finding[] {
  return leadingFindings(findings).filter((cause) => {
    const { fails, doubts } = effectsOf(cause, findings);
    return fails || doubts;
  });
}

/**
 * Groups the consequences of findings under the leading finding that causes them. A consequence with several causes is
 * listed under the first one.
 */
export function findingsByCause(all: readonly Finding[]): { cause: Finding; consequences: Finding[] }[] {
  const shown = new Set<Finding>();
  return leadingFindings(all).map((cause) => {
    const consequences = consequencesOf(cause, all).filter((one) => !shown.has(one));
    for (const one of consequences) shown.add(one);
    return { cause, consequences };
  });
}

/** Returns the direct and indirect consequences of a finding, in the order of the list. */
function consequencesOf(cause: Finding, all: readonly Finding[]): Finding[] {
  const codes = new Set(cause.explains);
  for (const code of codes) {
    for (const one of all) if (one.code === code) for (const next of one.explains) codes.add(next);
  }
  return all.filter((one) => one !== cause && codes.has(one.code));
}

/**
 * Ranks a leading finding by its own effects and the effects of its consequences.
 * @returns numbers for sorting; a smaller number comes first
 */
function rankOf(cause: Finding, all: readonly Finding[]): number[] {
  const { invalidatesRun, fails, doubts } = effectsOf(cause, all);
  const isOfDeployment = cause.about === 'deployment' || cause.about === 'application';
  const decisive = invalidatesRun ? 2 : Number(fails);
  return [decisive, Number(isOfDeployment), consequencesOf(cause, all).length, Number(doubts)];
}

/** Combines the effects of a finding and its consequences. */
function effectsOf(cause: Finding, all: readonly Finding[]) {
  const together = [cause, ...consequencesOf(cause, all)];
  return {
    invalidatesRun: together.some(({ invalidates }) => invalidates.includes('run')),
    fails: together.some(({ fails }) => fails !== null),
    doubts: together.some(({ invalidates }) => invalidates.length > 0),
  };
}

/**
 * Returns the kind of text after the title of the answer, with the text. `because`: the first cause explains the
 * outcome or the verdict. `thresholds`: missed thresholds explain the outcome. `beside`: the first cause is listed
 * first, but explains neither.
 */
export function answerLead({ findings, outcome, verdict }: Omit<Result, 'answer'>) {
  const [first] = leadingFindings(findings);
  const { invalidatesRun = false, fails = false, doubts = false } = first ? effectsOf(first, findings) : {};
  const isFailed = outcome.status === 'FAILED';
  if (isFailed && !fails) return { kind: 'thresholds' as const, text: missedThresholdsText(outcome) };
  const isReason = verdict.status === 'INVALID' ? invalidatesRun : isFailed || (verdict.status === 'SUSPECT' && doubts);
  return { kind: isReason ? ('because' as const) : ('beside' as const), text: first?.message };
}

function doubted(line: AnswerLine, findings: readonly Finding[]): AnswerLine {
  const doubts = findings.filter(({ invalidates }) => (invalidates as string[]).includes(line.section));
  return doubts.length === 0 || line.text === null ? line : { ...line, doubts: doubts.map(({ code }) => code) };
}

/** Lists the figures that the run could not measure, with one line for each reason. */
function notMeasured(result: Result): AnswerLine[] {
  const { absent, memory } = result;
  if (memory.overTime && !hasLeavingUsers(result)) return [];
  const keys = (['memory', 'cpu', 'delivery'] as const).filter((key) => absent[key] !== undefined);
  return [...Map.groupBy(keys, (key) => absent[key])].map(([reason, names]) => ({
    section: names[0] ?? 'memory',
    text: `not measured: ${names.join(', ').replace('cpu', 'CPU')} (${reason})`,
  }));
}
