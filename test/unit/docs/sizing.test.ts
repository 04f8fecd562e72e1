import assert from 'node:assert/strict';
import { it } from 'node:test';
import { machineSizing } from '../../../docs/guide/sizing.data.ts';
import { describeReport } from '../../../docs/reports/reports.ts';
import { resultWithPings } from '../../helpers/results.ts';

it('the page sizes by the largest report that can be used, for each headroom', () => {
  const large = resultWithPings();
  large.connections.target = 10_000;
  const invalid = resultWithPings();
  invalid.verdict = { status: 'INVALID', reasons: [] };
  const reports = [resultWithPings(), large, invalid].map((result, index) => describeReport(`${index}k`, result));
  const { report, machine, limits, headrooms } = machineSizing(reports);
  assert.equal(report?.link, '/reports/1k');
  assert.match(machine, /2 cores, 8 GiB/);
  assert.match(limits, /with a ping every 25 s/);
  assert.deepEqual(
    headrooms.map(({ note }) => /(\d+) % of every limit/.exec(note)?.[1]),
    ['30', '50'],
  );
  // 5,000 were held, of which 70 % are 3,500.
  assert.match(headrooms[0]?.table ?? '', /1,000,000[\s\S]*at most 286/);
  assert.equal(machineSizing([]).report, null);
});
