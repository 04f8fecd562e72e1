import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { CapacityError } from '../../../protocol/codes/errors.ts';
import { readResult } from '../../../report/read.ts';
import { perfectResult } from '../../helpers/results.ts';

const folder = mkdtempSync(join(tmpdir(), 'read-'));
const file = join(folder, 'result.json');
after(() => rmSync(folder, { recursive: true, force: true }));

function written(text: string): string {
  writeFileSync(file, text);
  return file;
}

describe('readResult', () => {
  it('readResult refuses a link to an endless file', { skip: process.platform === 'win32' }, () => {
    const link = join(folder, 'endless.json');
    symlinkSync('/dev/zero', link);
    assert.throws(() => readResult(link), { code: 'FILE_UNREADABLE' });
  });

  it('readResult reads a result file, and the folder of a run', () => {
    const result = perfectResult();
    written(JSON.stringify(result));
    assert.deepEqual(readResult(file), result);
    assert.deepEqual(readResult(folder), result);
  });

  const text = JSON.stringify(perfectResult());
  const changed = (changes: object) => JSON.stringify({ ...perfectResult(), ...changes });
  const { run, connections } = perfectResult();
  const endless = Object.fromEntries(Array.from({ length: 6000 }, (_, index) => [`e${index}`, 1]));
  const withSample = (x: string) => changed({ samples: ['@'] }).replace('"@"', `{"t":0,"connections":0,"x":${x}}`);

  /** Text of a file, and details in the message that refuses it. */
  const CASES: [what: string, text: string | undefined, ...mentions: string[]][] = [
    ['a missing file', undefined],
    ['a truncated file', text.slice(0, text.length / 2), 'JSON'],
    ['an empty file', '', 'JSON'],
    ['a file with a wrong key', changed({ connections: { ...connections, peak: 'many' } }), 'connections.peak'],
    ['a file with a missing key', changed({ latency: undefined }), 'latency'],
    ['a file without keys, with a few of them listed', '{}', 'schemaVersion', 'more'],
    ...['[]', 'null', '"text"'].map((other): [string, string] => [`another document, ${other}`, other]),
    ['a file that is nested too deep', withSample('['.repeat(20_000) + ']'.repeat(20_000))],
    ['a file with millions of values', withSample(`[${'0,'.repeat(1_000_000)}0]`)],
    ['a file with endless names', changed({ connections: { ...connections, failures: endless } })],
    ['a file of a newer schema', changed({ schemaVersion: 5 }), 'schemaVersion'],
    ['a file with a newer key', changed({ run: { ...run, moon: 'full' } }), 'run.moon'],
  ];
  for (const [what, content, ...mentions] of CASES) {
    it(`readResult refuses ${what}`, () => {
      const path = content === undefined ? join(folder, 'none.json') : written(content);
      assert.throws(
        () => readResult(path),
        (error: CapacityError) => {
          for (const mention of [path, ...mentions]) assert.ok(error.message.includes(mention), error.message);
          return error instanceof CapacityError && error.code === 'FILE_UNREADABLE';
        },
      );
    });
  }

  it('readResult refuses a file that is too large to come from a run', () => {
    truncateSync(written(''), 2 ** 40);
    const isTooLarge = ({ code, cause }: CapacityError) => code === 'FILE_UNREADABLE' && /MB/.test(String(cause));
    assert.throws(() => readResult(file), isTooLarge);
  });
});
