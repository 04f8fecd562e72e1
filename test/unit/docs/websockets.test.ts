import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { addStudy } from '../../../docs/studies/add.ts';
import { type MeasuredStudy, readMeasuredStudy } from '../../../docs/studies/measured.ts';
import { webSockets } from '../../../docs/studies/websockets.data.ts';
import type { Result } from '../../../protocol/result/result.ts';
import { perfectResult } from '../../helpers/results.ts';
import { measuredStudy } from '../../helpers/studies.ts';

const KB = 1024;
const PLAN = { scenario: '10k.yml', vary: { CAPACITY_WEBSOCKETS: ['ws', 'eiows', 'plain-ws'] } };

function resultOn(heapKb: number): Result {
  const result = perfectResult();
  const { workerHeapUsed } = result.memory.perConnectionBytes;
  if (workerHeapUsed) workerHeapUsed.slope = heapKb * KB;
  return result;
}

/** eiows was not installed. */
function measured(): MeasuredStudy {
  const runs = [
    { levels: { CAPACITY_WEBSOCKETS: 'ws' }, result: resultOn(9) },
    { levels: { CAPACITY_WEBSOCKETS: 'eiows' }, result: undefined },
    { levels: { CAPACITY_WEBSOCKETS: 'plain-ws' }, result: resultOn(4) },
  ];
  return measuredStudy('websockets', PLAN, runs);
}

it('the page has a row for each server, its hole, the published figures, and what Socket.IO adds', () => {
  const page = webSockets(measured());
  const rows = [...page.table.matchAll(/<tr>([\s\S]*?)<\/tr>/g)].map(([row]) => row);
  assert.equal(rows.length, 4);
  for (const [name, published] of [
    ['Socket.IO on ws', '9.3 (8.11.0)'],
    ['Socket.IO on eiows', '6.0 (6.7.2)'],
    ['plain ws, no Socket.IO', '4.1 (8.11.0)'],
  ] as const) {
    assert.ok(
      rows.some((row) => row.includes(name) && row.includes(published)),
      name,
    );
  }
  assert.match(rows.find((row) => row.includes('eiows')) ?? '', /no run/);
  assert.match(page.holes.join(), /CAPACITY_WEBSOCKETS=eiows: .*NOT_INSTALLED/);
  assert.match(page.answer[0] ?? '', /Socket\.IO on ws 9\.0.*; plain ws, no Socket\.IO 4\.0/);
  assert.match(page.answer.join(), /add 5\.0\d* of 9\.0\d* KB of heap/);
});

it('the page has a row for each server with and without compression', () => {
  const plan = { scenario: '5k.yml', vary: { CAPACITY_WEBSOCKETS: ['ws', 'eiows'], COMPRESSION: ['off', 'on'] } };
  const runs = [
    { levels: { CAPACITY_WEBSOCKETS: 'ws', COMPRESSION: 'off' }, result: resultOn(9) },
    { levels: { CAPACITY_WEBSOCKETS: 'ws', COMPRESSION: 'on' }, result: resultOn(300) },
  ];
  const { compression } = webSockets(undefined, measuredStudy('websockets-compression', plan, runs));
  const rows = [...compression.table.matchAll(/<tr>([\s\S]*?)<\/tr>/g)].map(([row]) => row);
  assert.equal(rows.length, 5);
  assert.match(rows[2] ?? '', /ws[\s\S]*on[\s\S]*300\.0/);
  assert.equal(rows.filter((row) => row.includes('no run')).length, 2);
  assert.equal(compression.answer.length, 1);
  assert.match(compression.answer[0] ?? '', /^Socket\.IO on ws: .* KB of PSS per connection instead of .*, and .* µs/);
});

it('without a run, the page has no figure', () => {
  const { answer, table, heap, full, compression } = webSockets();
  assert.deepEqual([answer, table, full], [[], '', null]);
  assert.match(heap, /has not been run yet/);
  assert.match(compression.table, /has not been run yet/);
});

it('a study is added with its results, but without their time series', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'docs-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const given = measured();
  mkdirSync(join(folder, 'websockets'));
  writeFileSync(join(folder, 'websockets/old'), '');
  const read = readMeasuredStudy(addStudy(given, folder));
  assert.deepEqual(read?.study.combinations, given.study.combinations);
  assert.deepEqual(
    read?.runs.map(({ result }) => result && { ...result, samples: [] }),
    given.runs.map(({ result }) => result && { ...result, samples: [] }),
  );
  assert.deepEqual(read?.runs[0]?.result?.samples, []);
  assert.equal(readMeasuredStudy(join(folder, 'nowhere')), undefined);
});
