/** Stub of Artillery, for series whose runs take no time. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { perfectResult } from './results.ts';
import { tempFolder } from './temp-folder.ts';

const PRELUDE = `
const { existsSync, mkdirSync, readFileSync, writeFileSync } = require('node:fs');
const { join } = require('node:path');
const position = process.argv.indexOf('--overrides');
const overrides = position < 0 ? {} : JSON.parse(process.argv[position + 1]);
const read = (name) => JSON.parse(readFileSync(join(__dirname, name), 'utf8'));
/** Writes a result with a change. */
function leave(change = () => {}) {
  const result = read('result.json');
  change(result);
  const folder = join(process.env.CAPACITY_RESULTS, 'run-' + process.pid);
  mkdirSync(folder);
  writeFileSync(join(folder, 'result.json'), JSON.stringify(result));
}
/** Ends like a run that is refused with this error. */
function refuse(error) {
  writeFileSync(process.env.CAPACITY_ERROR_FILE, JSON.stringify(error));
  process.exit(2);
}
/** Waits until Ctrl-C stops it. */
function wait() {
  process.once('SIGINT', () => process.exit(130));
  setInterval(() => {}, 1000);
  console.error('waiting');
}
console.log('arguments', ...process.argv.slice(2));
`;

/**
 * @param body JavaScript of the stub; it can use `overrides`, `leave`, `refuse`, `wait`, and `read` (of JSON files in
 * its folder)
 * @returns a folder with the stub; `write` changes the files that the stub reads
 */
export function fakeArtillery(t: TestContext, body: string) {
  const folder = tempFolder(t);
  const write = (name: string, content: unknown) => writeFileSync(join(folder, name), JSON.stringify(content));
  writeFileSync(join(folder, 'artillery.cjs'), PRELUDE + body);
  write('result.json', perfectResult());
  return { folder, artillery: join(folder, 'artillery.cjs'), write };
}
