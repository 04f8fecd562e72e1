import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import {
  calibrationMarkdown,
  mergeCalibration,
  readCalibration,
  serializeCalibration,
} from '../../../bench/calibrate/calibration-report.ts';
import { compareExactly, compareWithin, type TruthComparison } from '../../../bench/calibrate/comparison.ts';
import { divisionsIntoHalves } from '../../../bench/calibrate/differences.ts';

const machine = { cpu: 'A', cores: 2, memoryGiB: 4, kernel: 'Linux 6', versions: { node: 'v24' }, gitCommit: null };
const section = (title: string, date: string, rows: TruthComparison[] = [compareExactly('copies', 3, 3)]) => ({
  title,
  text: 'Why.',
  rows,
  when: { date, commit: 'abc', load: 0.1, attempts: 1 },
});
const whole = mergeCalibration(machine, [section('One', '2026-01-01'), section('Two', '2026-01-01')], undefined);

describe('the data of the calibration', () => {
  it('calibration data keep the order of their sections, including sections of older versions', () => {
    const { sections } = mergeCalibration(machine, [section('One', '2026-02-02'), section('New', '2026-02-02')], whole);
    const dates = sections.map(({ title, measured }) => `${title} ${measured.slice(0, 10)}`);
    assert.deepEqual(dates, ['One 2026-02-02', 'Two 2026-01-01', 'New 2026-02-02']);
  });

  it('calibration data report which section was measured on another machine', () => {
    const onSecondMachine = mergeCalibration({ ...machine, cores: 8 }, [section('One', '2026-02-02')], whole);
    assert.equal(onSecondMachine.machine, whole.machine);
    assert.match(
      onSecondMachine.sections[0]?.measured ?? '',
      /; on another machine: A, 8 cores, 4 GiB of memory, Linux 6$/,
    );
    assert.doesNotMatch(onSecondMachine.sections[1]?.measured ?? '', /another machine/);
    const onFirstMachine = mergeCalibration(machine, [section('One', '2026-03-03')], onSecondMachine);
    assert.doesNotMatch(calibrationMarkdown(onFirstMachine), /another machine/);
  });

  it('refuses to merge calibration data of two versions', () => {
    const other = { ...machine, versions: { node: 'v26' } };
    assert.throws(() => mergeCalibration(other, [section('One', '2026-02-02')], whole), /of other versions/);
  });

  it('calibration data are the same after writing and reading, even with a missing figure', () => {
    const written = mergeCalibration(
      machine,
      [section('One', '2026-01-01', [compareExactly('copies', 3, Infinity)])],
      undefined,
    );
    assert.deepEqual(readCalibration(JSON.stringify(written)), written);
  });
});

describe('the page of the calibration', () => {
  const pageOf = (rows: TruthComparison[]) =>
    calibrationMarkdown(mergeCalibration(machine, [section('One', '2026-01-01', rows)], undefined));
  const time = (what: string, measured: number) => compareWithin(what, 'ms', 50, measured, { absolute: 1 });

  it('the calibration page shows the largest error of each kind, and how many error bounds hold', () => {
    const times = [time('p50', 50.1), time('p99', 49.2), time('max', 50.5)];
    const page = pageOf([...times, compareExactly('a', 1, 1), compareExactly('b', 2, 2)]);
    assert.match(page, /\|p99\|50\.00 ms\|49\.20 ms\|± 1\.00 ms\|3 of 3\|\n.*\|exact\|2 of 2\|/);
  });

  it('the calibration page shows an error beyond its bound rather than a larger error within another bound', () => {
    const page = pageOf([
      compareExactly('few', 7, 6),
      compareExactly('many', 7, 7),
      compareWithin('p99', 'ms', 500, 504, { share: 0.01 }),
    ]);
    assert.match(page, /\|few\|7\|6\|exact\|1 of 2\|/);
  });

  it('the stored calibration page equals the page generated from its data', () => {
    const data = readCalibration(readFileSync('docs/calibration.json', 'utf8'));
    assert.equal(readFileSync('docs/calibration.md', 'utf8'), calibrationMarkdown(data));
    assert.equal(readFileSync('docs/calibration.json', 'utf8'), serializeCalibration(data));
    assert.ok(data.sections.length > 10);
  });
});

it('four values can be split into equal halves in three ways', () => {
  const halves = divisionsIntoHalves(['a', 'b', 'c', 'd']).map(([half, other]) => `${half} | ${other}`);
  assert.deepEqual(halves, ['a,b | c,d', 'a,c | b,d', 'a,d | b,c']);
});

it('ten values can be split into equal halves in 126 ways', () => {
  const halves = divisionsIntoHalves([...'abcdefghij']);
  assert.equal(halves.length, 126);
  assert.equal(new Set(halves.map(([half]) => half.join())).size, 126);
});
