/**
 * Puts runs on the site, from which its pages and full reports are made:
 * `node docs/add.ts 5k results/latest/result.json` a run, as docs/reports/5k/result.json;
 * `node docs/add.ts results/study-websockets` a study, as docs/studies/websockets/.
 */
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Result } from '../protocol/result/result.ts';
import { FIGURES } from '../report/figures/figures.ts';
import { readResult } from '../report/read.ts';
import { REPORTS } from './reports/reports.ts';
import { type MeasuredStudy, readMeasuredStudy, STUDIES } from './studies/page.ts';

export const SAMPLES_KEPT = 100;

/** @returns what the page of a report and its report.html draw; the answer is stored, so no series is needed for it */
export function keptOfReport(result: Result): Result {
  return { ...result, samples: evenly(result.samples), workersOverTime: [] };
}

/** @returns what a study compares: figures with their intervals, without the series and the layers of the single run */
export function keptOfStudyRun(result: Result): Result {
  const { connections, cpu, delivery, latency, memory } = result;
  return {
    ...result,
    samples: [],
    workersOverTime: [],
    connections: { ...connections, overTime: null, stagesMs: {} },
    cpu: those(cpu, /^cpu\.(\w+)/),
    delivery: delivery && { ...delivery, batches: [] },
    generator: [],
    latency: { ...latency, histograms: {}, roundTripHalfMs: { ...latency.roundTripHalfMs, single: null } },
    memory: {
      ...memory,
      ...{ layers: [], inService: null, sources: {}, peakBytes: {}, residualBytes: {} },
      plateaus: memory.plateaus.map(({ connections }) => ({ connections })),
      perConnectionBytes: those(memory.perConnectionBytes, /perConnectionBytes\.(\w+)/),
    },
  };
}

/** @param named the layer in the path of a figure */
function those<Value>(byLayer: Record<string, Value>, named: RegExp): Record<string, Value> {
  const compared = new Set(FIGURES.map(({ path }) => named.exec(path)?.[1]));
  return Object.fromEntries(Object.entries(byLayer).filter(([layer]) => compared.has(layer)));
}

/** @returns evenly spread values, the first and the last among them */
function evenly<T>(values: T[]): T[] {
  if (values.length <= SAMPLES_KEPT) return values;
  const step = (values.length - 1) / (SAMPLES_KEPT - 1);
  return Array.from({ length: SAMPLES_KEPT }, (_, index) => values[Math.round(index * step)] as T);
}

/** One line for each part of the document, so that a change of one is seen. */
export function serialize(document: object): string {
  const parts = Object.entries(document).map(([key, part]) => `${JSON.stringify(key)}: ${JSON.stringify(part)}`);
  return `{\n${parts.join(',\n')}\n}\n`;
}

function addReport(size: string, result: Result): string {
  const folder = join(REPORTS, size);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'result.json'), serialize(keptOfReport(result)));
  return folder;
}

/** Replaces what was in the folder of that study before. @param to the folder that gets one for each study */
export function addStudy({ study, runs }: MeasuredStudy, to: string): string {
  const folder = join(to, study.name);
  rmSync(join(folder, 'runs'), { recursive: true, force: true });
  mkdirSync(join(folder, 'runs'), { recursive: true });
  const kept = study.runs.map((run, index) => {
    const result = runs[index]?.result;
    const path = `runs/${run.number}.json`;
    if (result) writeFileSync(join(folder, path), serialize(keptOfStudyRun(result)));
    return { ...run, result: result ? path : null };
  });
  // The pages compute combinations and differences from the runs.
  writeFileSync(join(folder, 'study.json'), serialize({ ...study, combinations: [], differences: [], runs: kept }));
  return folder;
}

if (import.meta.main) {
  const [first = '', file] = process.argv.slice(2);
  const isStudy = file === undefined && existsSync(join(first, 'study.json'));
  if (isStudy) console.log(addStudy(readMeasuredStudy(first), STUDIES));
  else if (file !== undefined && /^[\w-]+$/.test(first)) console.log(addReport(first, readResult(file)));
  else {
    console.error('usage: node docs/add.ts <size> <result.json>, or node docs/add.ts <folder of a study>');
    process.exit(2);
  }
}
