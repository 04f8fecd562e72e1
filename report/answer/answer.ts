/** The answer of a run, in the lines that every report shows first. Computed once; the result document stores it. */
import type { AnswerLine, RunAnswer } from '../../protocol/result/answer.ts';
import type { Finding } from '../../protocol/result/findings.ts';
import { processesLine } from '../../protocol/result/processes.ts';
import type { Result } from '../../protocol/result/result.ts';
import { comesAndGoes, heldOf, heldSeconds } from '../figures/held.ts';
import { mainWorkerLayer } from '../figures/layers.ts';
import { limitName, nextLimit } from '../figures/limits.ts';
import { isTold } from '../figures/per-connection.ts';
import { embeddedName, serverName } from '../figures/server.ts';
import { clientsOf } from '../figures/transports.ts';
import { withUnit } from '../model/amount.ts';
import { tailOf } from '../model/names.ts';
import { counted, integer, percentOf } from '../text/format.ts';
import { COST, costAmount, costNote, costText } from './cost.ts';
import { cpuLines } from './cpu-line.ts';
import { deliveryLines } from './delivery-line.ts';
import { faultLines } from './fault-line.ts';
import { generatorLines } from './generator-line.ts';
import { latencyLines } from './latency-line.ts';
import { figureOf, type Line } from './line.ts';
import { machineLine } from './machine-line.ts';
import { outcomeTitle } from './outcome.ts';
import { overTimeLines } from './over-time-line.ts';
import { placesLine } from './places-line.ts';

const TOO_FEW = 'that takes readings at two or more numbers of connections';

/** After a planned fault, it is not the question, and there are too few plateaus to tell. */
function memoryLines(result: Result): Line[] {
  const { memory: found, absent, fault, run } = result;
  const cost = absent.memory === undefined ? found.perConnection : null;
  if (fault) return [];
  if (cost) {
    const inService = isTold(cost) && cost.inService !== null && withUnit('kilobytes', cost.inService);
    const needed = inService && `${inService} in service, with garbage and buffers`;
    const note = [costNote(cost, found.collected), needed].filter(Boolean).join('; ');
    return [
      { text: costText(cost, found.collected), figure: figureOf(COST, costAmount(cost), note) },
      ...placesLine(found.places),
    ];
  }
  const layer = mainWorkerLayer(found.perConnectionBytes);
  const why = absent.memory ?? found.absent[layer] ?? (run.complete ? TOO_FEW : `the run ended early: ${TOO_FEW}`);
  return [{ text: null, figure: figureOf(COST, null, why) }];
}

/** By the section of the report that has the details, in the order of the answer. */
const LINES: Record<string, (result: Result) => Line[]> = {
  connections: connectionLines,
  fault: faultLines,
  delivery: deliveryLines,
  latency: latencyLines,
  messages: messageLines,
  memory: (result) => (result.memory.overTime ? overTimeLines(result) : memoryLines(result)),
  cpu: cpuLines,
  capacity: limitLines,
  processes: ({ processes, run }) =>
    processes && run.profile === 'remote' ? [{ text: processesLine(processes) ?? null }] : [],
  generator: generatorLines,
};

/** @param judged the result with its findings, verdict and outcome */
export function answerOf(judged: Omit<Result, 'answer'>): RunAnswer {
  const result: Result = { ...judged, answer: { title: '', cause: null, machine: '', lines: [] } };
  const [cause] = leadingFindings(result.findings);
  const lines = Object.entries(LINES).flatMap(([section, linesOf]) =>
    linesOf(result).map((line) => doubted({ section, ...line }, result.findings)),
  );
  return {
    title: outcomeTitle(result),
    cause: cause?.message ?? null,
    machine: machineLine(judged),
    lines: result.verdict.status === 'INVALID' ? [] : [...lines, ...notMeasured(result)],
  };
}

/**
 * @returns findings that no other one explains: what makes a run INVALID first, then what fails it; then what was
 *   found about the deployment, before what only casts doubt on its figures; of these, the one that explains most
 */
export function leadingFindings(findings: readonly Finding[]): Finding[] {
  const explained = new Set(findings.flatMap(({ explains }) => explains));
  const roots = findings.filter(({ code }) => !explained.has(code));
  const ranks = new Map(roots.map((root) => [root, rankOf(root, findings)]));
  const difference = (a: Finding, b: Finding) =>
    (ranks.get(b) ?? []).map((rank, index) => rank - (ranks.get(a)?.[index] ?? 0)).find((one) => one !== 0) ?? 0;
  return roots.toSorted(difference);
}

/** @returns each leading finding with its consequences; a consequence of several stands below the first of them */
export function foldedFindings(all: readonly Finding[]): { cause: Finding; consequences: Finding[] }[] {
  const shown = new Set<Finding>();
  return leadingFindings(all).map((cause) => {
    const consequences = consequencesOf(cause, all).filter((one) => !shown.has(one));
    for (const one of consequences) shown.add(one);
    return { cause, consequences };
  });
}

/** Returns what a finding explains, directly or by another consequence, in the order of the list. */
function consequencesOf(cause: Finding, all: readonly Finding[]): Finding[] {
  const codes = new Set(cause.explains);
  // Codes that are added meanwhile are visited, too.
  for (const code of codes) {
    for (const one of all) if (one.code === code) for (const next of one.explains) codes.add(next);
  }
  return all.filter((one) => one !== cause && codes.has(one.code));
}

/** A cause decides as much as its consequences. @returns numbers to compare, the most important first */
function rankOf(cause: Finding, all: readonly Finding[]): number[] {
  const consequences = consequencesOf(cause, all);
  const together = [cause, ...consequences];
  const decisive = together.some(({ invalidates }) => invalidates.includes('run'))
    ? 2
    : Number(together.some(({ fails }) => fails !== null));
  const isOfDeployment = cause.about === 'deployment' || cause.about === 'application';
  const doubts = together.some(({ invalidates }) => invalidates.length > 0);
  return [decisive, Number(isOfDeployment), consequences.length, Number(doubts)];
}

function doubted(line: AnswerLine, findings: readonly Finding[]): AnswerLine {
  const doubts = findings.filter(({ invalidates }) => (invalidates as string[]).includes(line.section));
  return doubts.length === 0 || line.text === null ? line : { ...line, doubts: doubts.map(({ code }) => code) };
}

/** Questions without an answer, one line for each reason. */
function notMeasured({ absent, memory: { overTime } }: Result): AnswerLine[] {
  if (overTime) return [];
  const keys = (['memory', 'cpu', 'delivery'] as const).filter((key) => absent[key] !== undefined);
  return [...Map.groupBy(keys, (key) => absent[key])].map(([reason, names]) => ({
    section: names[0] ?? 'memory',
    text: `not measured: ${names.join(', ').replace('cpu', 'CPU')} (${reason})`,
  }));
}

function limitLines(result: Result): Line[] {
  const next = result.absent.memory === undefined ? nextLimit(result) : null;
  return next ? [{ text: `next limit: ${integer(next.max)} ${limitName(next.name)}` }] : [];
}

function connectionLines(result: Result): Line[] {
  const { connections: made, absent } = result;
  const { target, achievedRatePerSec: rate, failureExamples } = made;
  const held = heldOf(made);
  const passing = comesAndGoes(result);
  const server = [serverName(result), embeddedName(result)].filter(Boolean).join(', ');
  const clients = clientsOf(result);
  const seconds = absent.delivery === undefined || passing !== null ? null : heldSeconds(result);
  // A user can open several.
  const kept = held < target ? `${integer(held)} of ${counted(target, 'connection')}` : counted(held, 'connection');
  const all = made.held === null ? `at most ${counted(held, 'connection')} at the same time` : `${kept} held`;
  const who = [server, clients].filter(Boolean).join('; ');
  const text = `${passing ?? all}${seconds === null ? '' : ` for ${integer(seconds)} s`}${who && ` (${who})`}`;
  const of = passing ?? (held >= target ? 'the full target' : `of a target of ${integer(target)}`);
  const at = rate === null ? null : `made at ${withUnit('perSecond', rate)}`;
  const key = made.held === null ? 'connections.peak' : 'connections.held';
  const note = [[of, at].filter(Boolean).join(', '), who].filter(Boolean).join('; ');
  // For lost connections, the cause’s name says it all.
  const examples = Object.entries(failureExamples)
    .filter(([cause]) => !cause.startsWith('disconnected_'))
    .map(([cause, example]) => ({ text: `the first ${cause}: ${example}` }));
  return [{ text, figure: figureOf(key, held, note) }, ...examples.slice(0, 2)];
}

function messageLines({ messages: found }: Result): Line[] {
  if (found === null) return [];
  const { ackMs, answered, acknowledged, sent, unasked } = found;
  if (!ackMs || answered === null) return [];
  const { share: below, ms, percentile } = tailOf(ackMs);
  const asked = sent - unasked;
  const all = answered === 1 ? 'all messages of clients' : `${percentOf(acknowledged, asked)} of the clients’ messages`;
  return [
    {
      text: `${all} acknowledged, ${below} within ${withUnit('milliseconds', ms)}`,
      figure: figureOf(
        `messages.ackMs.${percentile}`,
        ms,
        `${below} of them; half within ${withUnit('milliseconds', ackMs.p50)}`,
        'Messages acknowledged within',
      ),
    },
    {
      text: null,
      figure: figureOf('messages.answered', answered, `${integer(acknowledged)} of ${integer(asked)}`),
    },
  ];
}
