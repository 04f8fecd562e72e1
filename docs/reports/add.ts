/**
 * `node docs/reports/add.ts <size> <result.json>` puts a run on the site: `docs/reports/<size>/result.json`, from which its
 * page and its report.html are made. The time series is thinned, so that the file stays small enough to be committed;
 * everything else is kept as measured.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Result } from '../../protocol/result/result.ts';
import { readResult } from '../../report/read.ts';
import { REPORTS } from './reports.ts';

export const SAMPLES_KEPT = 100;

/** @returns the result with at most 100 samples, of the workers, too: evenly spread, the first and the last among them */
export function thinned(result: Result): Result {
  return {
    ...result,
    samples: evenly(result.samples),
    workersOverTime: result.workersOverTime.map(({ worker, process, eventLoop }) => ({
      worker,
      process: process && {
        t: evenly(process.t),
        rssBytes: evenly(process.rssBytes),
        cpuPercent: evenly(process.cpuPercent),
      },
      eventLoop: eventLoop && {
        t: evenly(eventLoop.t),
        delayP99Ms: evenly(eventLoop.delayP99Ms),
        delayMaxMs: evenly(eventLoop.delayMaxMs),
      },
    })),
  };
}

function evenly<T>(values: T[]): T[] {
  if (values.length <= SAMPLES_KEPT) return values;
  const step = (values.length - 1) / (SAMPLES_KEPT - 1);
  return Array.from({ length: SAMPLES_KEPT }, (_, index) => values[Math.round(index * step)] as T);
}

/** One line for each part of the document. */
export function serialize(result: Result): string {
  const parts = Object.entries(result).map(([key, part]) => `${JSON.stringify(key)}: ${JSON.stringify(part)}`);
  return `{\n${parts.join(',\n')}\n}\n`;
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const [size, file] = process.argv.slice(2);
  if (!size || !file || !/^[\w-]+$/.test(size)) {
    console.error(
      'usage: node docs/reports/add.ts <size> <result.json>, for example: add.ts 5k results/latest/result.json',
    );
    process.exit(2);
  }
  const result = readResult(file);
  const path = join(REPORTS, size, 'result.json');
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, serialize(thinned(result)));
  console.log(path);
}
