/**
 * `node docs/reports/add.ts <size> <result.json>` puts a run on the site: `docs/reports/<size>/result.json`, from which its
 * page and its report.html are made.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { readResult } from '../../report/read.ts';
import { keptOfReport, serialize } from '../kept.ts';
import { REPORTS } from './reports.ts';

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
writeFileSync(path, serialize(keptOfReport(result)));
console.log(path);
