import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { exactly } from '../../../bench/calibrate/comparison.ts';
import { markdown } from '../../../bench/calibrate/report.ts';

const machine = { cpu: 'A', cores: 2, memoryGiB: 4, kernel: 'Linux 6', versions: { node: 'v24' }, gitCommit: null };
const section = (title: string, date: string) => ({
  title,
  text: 'Why.',
  rows: [exactly('copies', 3, 3)],
  attempts: 1,
  measured: { date, commit: 'abc', load: 0.1 },
});
const whole = markdown({ machine, sections: [section('One', '2026-01-01'), section('Two', '2026-01-01')] }, undefined);

describe('the page of the calibration', () => {
  it('keeps the sections that are not measured again, in their order', () => {
    const page = markdown({ machine, sections: [section('One', '2026-02-02'), section('New', '2026-02-02')] }, whole);
    const found = page.match(/^(## .*|Measured on \S+)/gm);
    const [first, second] = ['Measured on 2026-02-02', 'Measured on 2026-01-01'];
    assert.deepEqual(found, ['## One', first, '## Two', second, '## New', first]);
    assert.equal(markdown({ machine, sections: [] }, page), page);
  });

  it('says which section was measured on another machine', () => {
    const page = markdown({ machine: { ...machine, cores: 8 }, sections: [section('One', '2026-02-02')] }, whole);
    assert.match(page, /^- Machine: A, 2 cores/m);
    assert.match(page, /^Measured on 2026-02-02 .*; on another machine: A, 8 cores, 4 GiB of memory, Linux 6\.$/m);
    assert.match(page, /^Measured on 2026-01-01 at commit abc; load average before: 0\.10\.$/m);
    const back = markdown({ machine, sections: [section('One', '2026-03-03')] }, page);
    assert.doesNotMatch(back, /another machine/);
  });

  it('is not put together from two versions', () => {
    const other = { machine: { ...machine, versions: { node: 'v26' } }, sections: [section('One', '2026-02-02')] };
    assert.throws(() => markdown(other, whole), /of other versions/);
  });
});
