import assert from 'node:assert/strict';
import { it } from 'node:test';
import { connectSum } from '../../../docs/benchmarks/cost.data.ts';
import { describeReport } from '../../../docs/reports/reports.ts';
import { perfectResult } from '../../helpers/results.ts';

it('adds up what 1,000 connects take of each process, and says which rate that allows beside the pings', () => {
  const { report, table, sentence } = connectSum([describeReport('5k', perfectResult())]);
  assert.equal(report?.link, '/reports/5k');
  // 0.52 of the workers, 0.21 of nginx and 0.01 of Redis; 2.3, 0.4 and 0.1 % while idle.
  assert.match(table, /Sum<[\s\S]*>0\.740<[\s\S]*>0\.03</);
  assert.match(sentence, /^At the end of the ramp, 5,000 connections take 0\.03 of 2 cores.*connects 2,664 per second/);
  assert.equal(connectSum([]).report, null);
});
