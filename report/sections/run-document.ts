/** A run as a report: its answer, and a section for each question. */

import { EXIT_CODES } from '../../protocol/codes/exit-codes.ts';
import { EXPECTATION_NAMES } from '../../protocol/codes/expectations.ts';
import type { Finding } from '../../protocol/result/findings.ts';
import type { Result } from '../../protocol/result/result.ts';
import { foldedFindings } from '../answer/answer.ts';
import { exitCodeOfResult, isMissed, missedOptional } from '../answer/outcome.ts';
import { workersOverTime } from '../charts/workers.ts';
import { amount, share } from '../model/amount.ts';
import {
  type Answer,
  type Cause,
  type Document,
  drawing,
  grid,
  lines,
  type Section,
  type Table,
  type Tone,
} from '../model/document.ts';
import { total } from '../text/format.ts';
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
  return {
    tone: TONES[exitCodeOfResult(result)] ?? 'bad',
    title: result.answer.title,
    lines: ownThresholds(outcome)
      .filter(isMissed)
      .map(({ text }) => text),
    causes: causesOf(findings),
    findings: [...result.answer.lines, ...missedOptional(outcome).map(optionalLine)],
    measurement: { status: verdict.status, text: MEASUREMENT[verdict.status] },
  };
}

/** The expectations that a run misses are among its findings. */
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

/** Null where nothing can be judged. */
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

function workers(result: Result): Section {
  const { perWorker } = result.connections;
  const isKnown = Object.keys(perWorker).length > 0;
  return {
    id: 'workers',
    title: 'Workers',
    lead: 'How the connections were spread over the Socket.IO workers, and what each of them did.',
    folded: true,
    blocks: [
      drawing(workersOverTime(result), 'Not measured over time: this result has no series of single workers.'),
      spread(perWorker),
      lines('absent', [!isKnown && 'Not measured: the run does not know which worker holds each connection.']),
    ],
  };
}

function spread(counts: Record<string, number>): Table {
  const names = Object.keys(counts).toSorted((a, b) => a.localeCompare(b, 'en', { numeric: true }));
  const rows = names.map((name) => [name, amount('count', counts[name]), share(counts[name] ?? 0, total(counts))]);
  return grid('Connections of each worker', ['', 'Connections', 'Share, %'], rows);
}

function processes(result: Result): Section | null {
  const { processes: found } = result;
  if (found === null || found.measured.length + found.notCounted.length === 0) return null;
  const { port, unseen, measured, omitted, notCounted } = found;
  const listed = (ports: number[] | null) => ports?.join(', ') ?? 'cannot be seen';
  const head = ['Layer', 'Process', 'Command', 'Listens on', 'Target’s listeners', 'Held connections'];
  const counted = measured.map(({ layer, pid, command, ports, role, holds }) => [
    layer,
    String(pid),
    command,
    listed(ports),
    role,
    holds === null ? 'unknown' : holds ? 'yes' : 'no',
  ]);
  const others = notCounted.map(({ pid, command, ports, why }) => [String(pid), command, listed(ports), why]);
  return {
    id: 'processes',
    title: 'Measured processes',
    lead: 'The processes of this machine whose memory and CPU are in the figures of the deployment.',
    folded: true,
    blocks: [
      grid('Counted', head, counted),
      grid('Not counted', ['Process', 'Command', 'Listens on', 'Why'], others),
      lines('note', [
        unseen !== null && port !== null && `Listeners on port ${port} could not be seen: ${unseen}.`,
        omitted > 0 && `${omitted} further processes are counted, too.`,
      ]),
    ],
  };
}
