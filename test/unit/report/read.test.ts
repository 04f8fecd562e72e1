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
  it('refuses a link to what never ends', { skip: process.platform === 'win32' }, () => {
    const link = join(folder, 'endless.json');
    symlinkSync('/dev/zero', link);
    assert.throws(() => readResult(link), { code: 'FILE_UNREADABLE' });
  });

  it('reads a file, and the folder of a run', () => {
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

  /** What the file has; what its refusal names beside it. */
  const CASES: [what: string, text: string | undefined, ...mentions: string[]][] = [
    ['one that is not there', undefined],
    ['a truncated one', text.slice(0, text.length / 2), 'JSON'],
    ['an empty one', '', 'JSON'],
    ['one with a key that is wrong', changed({ connections: { ...connections, peak: 'many' } }), 'connections.peak'],
    ['one with a key that is missing', changed({ latency: undefined }), 'latency'],
    ['one without any, of which it names a few', '{}', 'schemaVersion', 'more'],
    ...['[]', 'null', '"text"'].map((other): [string, string] => [`another document, ${other}`, other]),
    ['one that is too deep', withSample('['.repeat(20_000) + ']'.repeat(20_000))],
    ['one of millions of values', withSample(`[${'0,'.repeat(1_000_000)}0]`)],
    ['one with names without end', changed({ connections: { ...connections, failures: endless } })],
    ['one of a newer schema', changed({ schemaVersion: 4 }), 'schemaVersion'],
    ['one with a newer key', changed({ run: { ...run, moon: 'full' } }), 'run.moon'],
  ];
  for (const [what, content, ...mentions] of CASES) {
    it(`refuses ${what}`, () => {
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

  it('does not even read a file that no run writes', () => {
    truncateSync(written(''), 2 ** 40);
    const isTooLarge = ({ code, cause }: CapacityError) => code === 'FILE_UNREADABLE' && /MB/.test(String(cause));
    assert.throws(() => readResult(file), isTooLarge);
  });
});
