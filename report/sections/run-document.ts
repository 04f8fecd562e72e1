/** A run as a report: its answer, and a section for each question. */

import type { Answer as Answers } from '../../protocol/codes/answer-reasons.ts';
import { EXIT_CODES } from '../../protocol/codes/exit-codes.ts';
import { definitionOf } from '../../protocol/codes/verdict-reasons.ts';
import type { Result } from '../../protocol/result/result.ts';
import { exitCodeOfResult, isMissed, outcomeOf, outcomeTitle } from '../answer/outcome.ts';
import type { Answer, Document, Finding, Section, Tone } from '../model/document.ts';
import { capacity } from './capacity.ts';
import { connections } from './connections.ts';
import { cpu } from './cpu.ts';
import { delivery } from './delivery.ts';
import { environment, profileOf } from './environment.ts';
import { fault } from './fault.ts';
import { generator } from './generator.ts';
import { latency } from './latency.ts';
import { memory } from './memory.ts';
import { messages } from './messages.ts';
import { overTime } from './over-time.ts';
import { processes } from './processes.ts';
import { thresholds } from './thresholds.ts';
import { workers } from './workers.ts';

export function runDocument(result: Result): Document {
  const { run } = result;
  const sections = [
    connections(result),
    fault(result),
    delivery(result),
    latency(result),
    messages(result),
    result.memory.overTime ? overTime(result, result.memory.overTime) : memory(result),
    cpu(result),
    thresholds(result),
    capacity(result),
    workers(result),
    processes(result),
    generator(result),
    environment(result),
  ].filter((section) => section !== null);
  return {
    title: run.profile === 'embedded' ? `${run.scenario}, embedded` : run.scenario,
    subtitle: [
      ...(run.complete ? [] : ['INCOMPLETE: the run ended early']),
      profileOf(run),
      run.target,
      ...(run.engine === 'socketio-capacity' ? [] : [`engine ${run.engine}`]),
      `${run.startedAt.slice(0, 16).replace('T', ' ')} UTC`,
    ].join(' · '),
    answer: answerOf(result, sections),
    sections,
  };
}

const TONES: Record<number, Tone> = { 0: 'good', [EXIT_CODES.suspect]: 'doubt' };

const MEASUREMENT = {
  VALID: 'no check raised a doubt',
  SUSPECT: 'there are reasons to doubt these figures',
  INVALID: 'no figures, because they cannot be trusted',
};

function answerOf(result: Result, sections: Section[]): Answer {
  const { status, reasons } = result.verdict;
  const outcome = outcomeOf(result);
  const findings = sections.flatMap(({ id, findings: own = [] }) => {
    const doubts = reasons.filter(({ code }) => definitionOf(code)?.invalidates.includes(id as Answers));
    return own.map((one) =>
      doubts.length === 0 || one.text === null ? one : { ...one, doubts: doubts.map(({ code }) => code) },
    );
  });
  return {
    tone: TONES[exitCodeOfResult(result, outcome)] ?? 'bad',
    title: outcomeTitle(result, outcome),
    lines: outcome.thresholds.filter(isMissed).map(({ text }) => text),
    findings: status === 'INVALID' ? [] : [...findings, ...notMeasured(result)],
    measurement: { status, text: MEASUREMENT[status] },
    reasons: reasons.map(({ code, message, fix = definitionOf(code)?.remedy }) => ({ code, message, fix })),
  };
}

/** Sections that are missing, by reason. */
function notMeasured({ absent, memory: { overTime: found } }: Result): Finding[] {
  if (found) return [];
  const keys = (['memory', 'cpu', 'delivery'] as const).filter((key) => absent[key] !== undefined);
  return [...Map.groupBy(keys, (key) => absent[key])].map(([reason, names]) => ({
    text: `not measured: ${names.join(', ').replace('cpu', 'CPU')} (${reason})`,
  }));
}
