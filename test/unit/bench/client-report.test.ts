import assert from 'node:assert/strict';
import { test } from 'node:test';
import { barPanels } from '../../../bench/chart.ts';
import type { Measured } from '../../../bench/client/measure.ts';
import { chart, rowsOf, tableHead, tableRows } from '../../../bench/client/report.ts';

function measured(cpuPerConnectionUs: number, cpuPerMessageUs: number, memoryPerConnectionBytes: number): Measured {
  return {
    cpuPerConnectionUs,
    cpuPerMessageUs,
    memoryPerConnectionBytes,
    rampSeconds: 10,
    idlePercent: 1,
    messages: 100_000,
  };
}

const GENERATORS = [
  { name: 'floor', label: 'floor' },
  { name: 'ours', label: 'socketio-capacity' },
  { name: 'failed', label: 'failed' },
];
// The second round ran on a machine that was half as fast.
const ROUNDS = [
  { floor: measured(100, 5, 24), ours: measured(300, 10, 4096) },
  { floor: measured(200, 10, 24), ours: measured(500, 20, 5120) },
];

test('multiples compare within a round; the median is over rounds', () => {
  const [floor, ours, ...others] = rowsOf(ROUNDS, GENERATORS, false);
  assert.deepEqual(others, []);
  assert.deepEqual(floor?.figures.cpuPerMessageUs.timesFloor, { median: 1, min: 1, max: 1 });
  assert.deepEqual(ours?.figures.cpuPerMessageUs, {
    median: 15,
    min: 10,
    max: 20,
    timesFloor: { median: 2, min: 2, max: 2 },
  });
  assert.deepEqual(ours?.figures.cpuPerConnectionUs.timesFloor, { median: 2.75, min: 2.5, max: 3 });
  assert.equal(ours?.figures.memoryPerConnectionBytes.timesFloor, undefined);
});

test('the table has a cell for every column, also without a floor', () => {
  const rows = tableRows(rowsOf([{ ours: measured(300, 10, 4096) }], GENERATORS, false), false);
  assert.deepEqual(rows, [['socketio-capacity', '300', '–', '10.00', '–', '4.0']]);
  assert.equal(tableHead(false).length, rows[0]?.length);
});

test('over TLS the floor has memory to compare with', () => {
  const rows = rowsOf([{ floor: measured(100, 5, 10_240), ours: measured(300, 10, 20_480) }], GENERATORS, true);
  assert.deepEqual(rows[1]?.figures.memoryPerConnectionBytes.timesFloor, { median: 2, min: 2, max: 2 });
  assert.deepEqual(tableRows(rows, true)[1]?.slice(-2), ['20.0', '2.00']);
  assert.equal(tableHead(true).length, 7);
});

test('the chart names every row and shows its figures', () => {
  const svg = chart(rowsOf(ROUNDS, GENERATORS, false));
  assert.match(svg, /^<svg /);
  for (const text of ['floor', 'socketio-capacity', '15.00', '4.5']) assert.ok(svg.includes(`>${text}<`), text);
});

test('the chart has room for its longest label', () => {
  const label = 'a generator with a label as long as a line of this test';
  const svg = barPanels(['floor', label], [{ title: 'CPU', values: [1, 2], format: String }], () => false);
  const right = new RegExp(`translate\\((\\d+) [^>]*>${label}<`).exec(svg)?.[1];
  // Six and a half pixels are a wide font's average at this size.
  assert.ok(Number(right) >= label.length * 6.5, `${right} px for ${label.length} characters`);
});
