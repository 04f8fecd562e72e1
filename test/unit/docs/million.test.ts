import assert from 'node:assert/strict';
import { it } from 'node:test';
import { million } from '../../../docs/guide/million.data.ts';
import { readReportsBySize } from '../../../docs/reports/reports.ts';
import { pingIntervalOf } from '../../../report/figures/idle-cpu.ts';

const reports = readReportsBySize();

it('the page computes from the largest VALID report with the usual ping interval', () => {
  const { report, generators, deployment } = million(reports);
  const valid = reports.filter(({ result }) => result.verdict.status === 'VALID');
  const usual = valid.filter(({ result }) => (pingIntervalOf(result) ?? 25_000) === 25_000);
  assert.ok(usual.length < valid.length, 'there is a report with another interval');
  assert.equal(report?.link, `/reports/${usual.at(-1)?.size}`);
  // One million by 50,000; by 28,232 and 55,296 ports.
  assert.match(generators, /<td class="number">20<\/td><td class="number">200<\/td>/);
  assert.match(generators, /28,232 ports<\/th><td class="number">36<\/td>/);
  assert.match(generators, /55,296 ports.*<\/th><td class="number">19<\/td>/);
  assert.doesNotMatch(generators + deployment, /NaN|null|undefined/);
});

it('ten times the connections need ten times the memory and CPU', () => {
  const twice = [...million(reports).deployment.matchAll(/>([\d,.]+) (?:GiB|cores|core-seconds|Gbit)/g)];
  const values = twice.map(([, text = '']) => Number(text.replaceAll(',', '')));
  assert.ok(values.length >= 10 && values.length % 2 === 0, values.join());
  for (let index = 0; index < values.length; index += 2) {
    const [one = 0, ten = 0] = values.slice(index, index + 2);
    assert.ok(Math.abs(ten - 10 * one) <= 10, `${one} and ${ten}`);
  }
});

it('its prices are sums that anybody can repeat', () => {
  const { costs } = million(reports);
  // 20 tasks of 2 × 0.04048 + 4 × 0.004445.
  assert.match(costs, /\$1\.97/);
  assert.match(costs, /\$1\.70/);
  assert.match(costs, /\$1\.50/);
  // 334 units for the connections, 200 for the connects.
  assert.match(costs, /\$2\.69/);
});

it('without a report, there is nothing to compute from', () => {
  assert.equal(million([]).report, null);
});
