/** What the site stores of a measured run: the figures that its pages show, without the series behind them. */
import type { Result } from '../protocol/result/result.ts';

export const SAMPLES_KEPT = 100;

/** @returns what the page of a report and its report.html need: at most 100 samples, none of each worker */
export function keptOfReport(result: Result): Result {
  return { ...result, samples: evenly(result.samples), workersOverTime: [] };
}

/** @returns what a study compares: figures with their intervals; the chart of a single run is in its own report */
export function keptOfStudyRun(result: Result): Result {
  const { connections, delivery, latency, memory } = result;
  return {
    ...result,
    samples: [],
    workersOverTime: [],
    connections: { ...connections, overTime: null },
    delivery: delivery && { ...delivery, batches: [] },
    latency: { ...latency, histograms: {} },
    memory: { ...memory, layers: [], inService: null },
  };
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
