/**
 * Adds results to the site. For a run, `node docs/add.ts 5k results/latest/result.json` writes
 * docs/reports/5k/result.json. For a study, `node docs/add.ts results/study-websockets` writes
 * docs/studies/websockets/.
 */
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Result } from '../protocol/result/result.ts';
import { COMPARABLE_FIGURES } from '../report/figures/figures.ts';
import { readResult } from '../report/read.ts';
import { REPORTS } from './reports/reports.ts';
import { type MeasuredStudy, readMeasuredStudy, STUDIES } from './studies/page.ts';

export const SAMPLES_KEPT = 100;

/**
 * Returns the parts of a result that the pages of the site show. Most samples are removed, because the answer is
 * stored.
 */
export function reportParts(result: Result): Result {
  return { ...result, samples: evenly(result.samples), workersOverTime: [] };
}

/** Returns the parts of a run that a study compares: figures with intervals. Series and unused layers are removed. */
export function studyRunParts(result: Result): Result {
  const { connections, cpu, delivery, latency, memory } = result;
  return {
    ...result,
    samples: [],
    workersOverTime: [],
    connections: { ...connections, overTime: null, stagesMs: {} },
    cpu: comparedLayers(cpu, /^cpu\.(\w+)/),
    delivery: delivery && { ...delivery, batches: [] },
    generator: [],
    latency: { ...latency, histograms: {}, roundTripHalfMs: { ...latency.roundTripHalfMs, single: null } },
    memory: {
      ...memory,
      ...{ layers: [], inService: null, sources: {}, peakBytes: {}, residualBytes: {} },
      plateaus: memory.plateaus.map(({ connections }) => ({ connections })),
      perConnectionBytes: comparedLayers(memory.perConnectionBytes, /perConnectionBytes\.(\w+)/),
    },
  };
}

/**
 * Keeps layers that have a compared figure.
 * @param layerInPath matches the layer in the key of a figure
 */
function comparedLayers<Value>(byLayer: Record<string, Value>, layerInPath: RegExp): Record<string, Value> {
  const compared = new Set(COMPARABLE_FIGURES.map(({ path }) => layerInPath.exec(path)?.[1]));
  return Object.fromEntries(Object.entries(byLayer).filter(([layer]) => compared.has(layer)));
}

/** Returns `SAMPLES_KEPT` values at equal distances, including the first and the last. */
function evenly<T>(values: T[]): T[] {
  if (values.length <= SAMPLES_KEPT) return values;
  const step = (values.length - 1) / (SAMPLES_KEPT - 1);
  return Array.from({ length: SAMPLES_KEPT }, (_, index) => values[Math.round(index * step)] as T);
}

/** Serializes with one line per top-level key, so that diffs are readable. */
export function serialize(document: object): string {
  const parts = Object.entries(document).map(([key, part]) => `${JSON.stringify(key)}: ${JSON.stringify(part)}`);
  return `{\n${parts.join(',\n')}\n}\n`;
}

function addReport(size: string, result: Result): string {
  const folder = join(REPORTS, size);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'result.json'), serialize(reportParts(result)));
  return folder;
}

/**
 * Replaces the runs in the folder of the study.
 * @param to parent folder of all studies
 */
export function addStudy({ study, runs }: MeasuredStudy, to: string): string {
  const folder = join(to, study.name);
  rmSync(join(folder, 'runs'), { recursive: true, force: true });
  mkdirSync(join(folder, 'runs'), { recursive: true });
  const kept = study.runs.map((run, index) => {
    const result = runs[index]?.result;
    const path = `runs/${run.number}.json`;
    if (result) writeFileSync(join(folder, path), serialize(studyRunParts(result)));
    return { ...run, result: result ? path : null };
  });
  // Combinations and differences are not stored, because the pages compute them from the runs.
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
