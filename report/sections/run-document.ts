/** Report of a run: its answer, and a section for each question. */

import { EXIT_CODES } from '../../protocol/codes/exit-codes.ts';
import { EXPECTATION_NAMES } from '../../protocol/codes/expectations.ts';
import type { Finding } from '../../protocol/result/findings.ts';
import type { Result } from '../../protocol/result/result.ts';
import { foldedFindings, leadOf } from '../answer/answer.ts';
import { exitCodeOfResult, isMissed, missedOptional } from '../answer/outcome.ts';
import { hasLeavingUsers } from '../figures/held.ts';
import { type Answer, type Cause, type Document, grid, type Section, type Tone } from '../model/document.ts';
import { capacity } from './capacity-section.ts';
import { connections } from './connections-section.ts';
import { cpu } from './cpu-section.ts';
import { delivery } from './delivery-section.ts';
import { environment, processes, profileOf } from './environment-section.ts';
import { fault } from './fault-section.ts';
import { generator } from './generator-section.ts';
import { latency } from './latency-section.ts';
import { memory } from './memory-section.ts';
import { messages } from './messages-section.ts';
import { overTime } from './over-time-section.ts';
import { workers } from './workers-section.ts';

export function runDocument(result: Result): Document {
  const { run } = result;
  const sections = [
    connections(result),
    fault(result),
    delivery(result),
    latency(result),
    messages(result),
    result.memory.overTime === null || hasLeavingUsers(result) ? memory(result) : null,
    result.memory.overTime && overTime(result, result.memory.overTime),
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
    machine: result.answer.machine,
    answer: answer(result),
    sections,
  };
}

const TONES: Record<number, Tone> = { 0: 'good', [EXIT_CODES.suspect]: 'doubt' };

const MEASUREMENT = {
  VALID: 'no check raised a doubt',
  SUSPECT: 'there are reasons to doubt these figures',
  INVALID: 'no figures, because they cannot be trusted',
};

function answer(result: Result): Answer {
  const { verdict, outcome, findings } = result;
  const tone = TONES[exitCodeOfResult(result)] ?? 'bad';
  const { kind } = leadOf(result);
  return {
    tone,
    title: result.answer.title,
    lines: ownThresholds(outcome)
      .filter(isMissed)
      .map(({ text }) => text),
    lead: tone === 'good' || kind === 'thresholds' || findings.length === 0 ? 'lines' : kind,
    causes: causesOf(findings),
    findings: [...result.answer.lines, ...missedOptional(outcome).map(optionalLine)],
    measurement: { status: verdict.status, text: MEASUREMENT[verdict.status] },
  };
}

/** Returns the user's thresholds. Missed expectations are already listed as findings. */
function ownThresholds({ thresholds: all }: Result['outcome']) {
  return all.filter(({ name }) => !(EXPECTATION_NAMES as string[]).includes(name));
}

function causesOf(all: readonly Finding[]): Cause[] {
  return foldedFindings(all).map(({ cause: { code, message, fix }, consequences }) => ({
    ...{ code, message, fix, explains: consequences.map((one) => one.message) },
  }));
}

function optionalLine(text: string) {
  return { section: 'thresholds', text: `optional threshold missed: ${text}` };
}

/** Returns null if the run has no thresholds. */
function thresholds(result: Result): Section | null {
  const { thresholds: judged } = result.outcome;
  if (judged.length === 0) return null;
  return {
    id: 'thresholds',
    title: 'Thresholds',
    folded: true,
    blocks: [
      grid(
        'Thresholds',
        ['What was asked', 'Answer', 'What was found'],
        judged.map(({ name, text, met, strict }) => [
          name,
          `${met ? 'met' : 'MISSED'}${strict ? '' : ' (optional)'}`,
          text,
        ]),
      ),
    ],
  };
}
