import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { CapacityError } from '../../../protocol/errors.ts';
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
  const { latency: _, ...older } = perfectResult();
  const broken = { ...older, connections: { ...older.connections, peak: 'many' } };
  const others = ['[]', 'null', '"text"', '{"schemaVersion":0}'];
  const { run } = perfectResult();
  const unreadable = 'FILE_UNREADABLE';
  const keys = ['connections.peak', 'latency'];

  /** What the file has; what its refusal names beside it. */
  type Refusal = [what: string, text: string | undefined, code: string, ...mentions: string[]];
  const deep = '['.repeat(20_000) + ']'.repeat(20_000);
  const withSample = (sample: string) => JSON.stringify({ ...perfectResult(), samples: ['@'] }).replace('"@"', sample);

  const CASES: Refusal[] = [
    ['one that is not there', undefined, unreadable],
    ['a truncated one', text.slice(0, text.length / 2), unreadable, 'JSON'],
    ['an empty one', '', unreadable, 'JSON'],
    ['one with keys that are wrong or missing', JSON.stringify(broken), unreadable, ...keys],
    ['one without any, of which it names a few', '{}', unreadable, 'schemaVersion', 'more'],
    ...others.map((other): Refusal => [`another document, ${other}`, other, unreadable]),
    ['one that is too deep', withSample(`{"t":0,"connections":0,"x":${deep}}`), unreadable],
    ['one of millions of values', withSample(`{"t":0,"connections":0,"x":[${'0,'.repeat(1_000_000)}0]}`), unreadable],
    [
      'one with names without end',
      JSON.stringify({
        ...perfectResult(),
        connections: {
          ...perfectResult().connections,
          failures: Object.fromEntries(Array.from({ length: 6000 }, (_, index) => [`e${index}`, 1])),
        },
      }),
      unreadable,
    ],
    ['one of a newer schema', JSON.stringify({ ...perfectResult(), schemaVersion: 4 }), unreadable, 'schemaVersion'],
    [
      'one with a newer key',
      JSON.stringify({ ...perfectResult(), run: { ...run, moon: 'full' } }),
      unreadable,
      'run.moon',
    ],
  ];
  for (const [what, content, code, ...mentions] of CASES) {
    it(`refuses ${what}`, () => {
      const path = content === undefined ? join(folder, 'none.json') : written(content);
      assert.throws(
        () => readResult(path),
        (error: CapacityError) => {
          for (const mention of [path, ...mentions]) assert.ok(error.message.includes(mention), error.message);
          return error instanceof CapacityError && error.code === code;
        },
      );
    });
  }

  it('does not even read a file that no run writes', () => {
    truncateSync(written(''), 2 ** 40);
    assert.throws(
      () => readResult(file),
      ({ code, cause }: CapacityError) => {
        return code === unreadable && /MB/.test(String(cause));
      },
    );
  });
});
