/** Report of a run: its answer, and a section for each question. */

import { EXIT_CODES } from '../../protocol/codes/exit-codes.ts';
import { EXPECTATION_NAMES } from '../../protocol/codes/expectations.ts';
import type { Finding } from '../../protocol/result/findings.ts';
import type { Result } from '../../protocol/result/result.ts';
import { answerLead, findingsByCause } from '../answer/answer.ts';
import { exitCodeOfResult, isThresholdMissed, missedOptionalThresholds } from '../answer/outcome.ts';
import { hasLeavingUsers } from '../figures/held.ts';
import {
  type AnswerCause,
  type AnswerTone,
  figuresTable,
  type ReportAnswer,
  type ReportDocument,
  type ReportSection,
} from '../model/document.ts';
import { capacitySection } from './capacity-section.ts';
import { connectionsSection } from './connections-section.ts';
import { cpuSection } from './cpu-section.ts';
import { deliverySection } from './delivery-section.ts';
import { environmentSection, processesSection, profileText } from './environment-section.ts';
import { faultSection } from './fault-section.ts';
import { generatorSection } from './generator-section.ts';
import { latencySection } from './latency-section.ts';
import { memorySection } from './memory-section.ts';
import { messagesSection } from './messages-section.ts';
import { overTimeSection } from './over-time-section.ts';
import { workersSection } from './workers-section.ts';

export function runDocument(result: Result): ReportDocument {
  const { run } = result;
  const sections = [
    connectionsSection(result),
    faultSection(result),
    deliverySection(result),
    latencySection(result),
    messagesSection(result),
    result.memory.overTime === null || hasLeavingUsers(result) ? memorySection(result) : null,
    result.memory.overTime && overTimeSection(result, result.memory.overTime),
    cpuSection(result),
    thresholds(result),
    capacitySection(result),
    workersSection(result),
    processesSection(result),
    generatorSection(result),
    environmentSection(result),
  ].filter((section) => section !== null);
  return {
    title: run.profile === 'embedded' ? `${run.scenario}, embedded` : run.scenario,
    subtitle: [
      ...(run.complete ? [] : ['INCOMPLETE: the run ended early']),
      profileText(run),
      run.target,
      ...(run.engine === 'socketio-capacity' ? [] : [`engine ${run.engine}`]),
      `${run.startedAt.slice(0, 16).replace('T', ' ')} UTC`,
    ].join(' · '),
    machine: result.answer.machine,
    answer: answer(result),
    sections,
  };
}

const TONES: Record<number, AnswerTone> = { 0: 'good', [EXIT_CODES.suspect]: 'doubt' };

const MEASUREMENT = {
  VALID: 'no check raised a doubt',
  SUSPECT: 'there are reasons to doubt these figures',
  INVALID: 'no figures, because they cannot be trusted',
};

function answer(result: Result): ReportAnswer {
  const { verdict, outcome, findings } = result;
  const tone = TONES[exitCodeOfResult(result)] ?? 'bad';
  const { kind } = answerLead(result);
  return {
    tone,
    title: result.answer.title,
    lines: ownThresholds(outcome)
      .filter(isThresholdMissed)
      .map(({ text }) => text),
    lead: tone === 'good' || kind === 'thresholds' || findings.length === 0 ? 'lines' : kind,
    causes: causesOf(findings),
    findings: [...result.answer.lines, ...missedOptionalThresholds(outcome).map(optionalLine)],
    measurement: { status: verdict.status, text: MEASUREMENT[verdict.status] },
  };
}

/** Returns the thresholds that the user set. Missed expectations are already listed as findings. */
function ownThresholds({ thresholds: all }: Result['outcome']) {
  return all.filter(({ name }) => !(EXPECTATION_NAMES as string[]).includes(name));
}

function causesOf(all: readonly Finding[]): AnswerCause[] {
  return findingsByCause(all).map(({ cause: { code, message, fix }, consequences }) => ({
    ...{ code, message, fix, explains: consequences.map((one) => one.message) },
  }));
}

function optionalLine(text: string) {
  return { section: 'thresholds', text: `optional threshold missed: ${text}` };
}

/** Returns the section on thresholds; null if the run has none. */
function thresholds(result: Result): ReportSection | null {
  const { thresholds: judged } = result.outcome;
  if (judged.length === 0) return null;
  return {
    id: 'thresholds',
    title: 'Thresholds',
    folded: true,
    blocks: [
      figuresTable(
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
