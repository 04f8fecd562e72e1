import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { describeReport, type Report } from '../../../docs/reports/reports.ts';
import { PUBLISHED_SIZES, TECHRACERS } from '../../../docs/studies/published.ts';
import { deliveryByItsOwnFigures, slopeOf } from '../../../docs/studies/published-report.ts';
import { studies } from '../../../docs/studies/studies.data.ts';
import type { Result } from '../../../protocol/result/result.ts';
import { perfectResult, resultWithMessages } from '../../helpers/results.ts';
import { waves } from '../../helpers/waves.ts';

function report(connections: number): Report {
  const result = perfectResult();
  result.connections.target = connections;
  return describeReport(`${connections / 1000}k`, result);
}

/** @returns text of the cells, by row */
function cells(table: string): string[][] {
  return [...table.matchAll(/<tr>([\s\S]*?)<\/tr>/g)].map(([, row]) =>
    [...(row as string).matchAll(/<t[hd][^>]*>([\s\S]*?)<\/t[hd]>/g)].map(([, cell]) => cell as string),
  );
}

describe('the published benchmark report', () => {
  const [five, ten, twenty, thirtyTwo] = PUBLISHED_SIZES.map(deliveryByItsOwnFigures);

  it('lost exactly one broadcast at 10,000 and at 20,000', () => {
    assert.equal(five?.missing, 0);
    assert.equal(ten?.missingBroadcasts, 1);
    assert.equal(twenty?.missingBroadcasts, 1);
  });

  it('has a delivery at 32,000 that is the one of 120 broadcasts and not of its 100', () => {
    assert.equal(thirtyTwo?.percent.toFixed(1), '92.7');
    assert.equal(thirtyTwo?.broadcastsByRate.toFixed(0), '120');
  });

  it('printed figures that were typed in rightly: rate × ramp, and 2 GiB × N ÷ peak', () => {
    for (const size of PUBLISHED_SIZES) {
      assert.ok(
        Math.abs(size.achievedRatePerSec * size.rampSeconds - size.connections) < 2,
        `${size.connections}: ramp`,
      );
      const max = (2048 * size.connections) / size.peakMb;
      assert.ok(Math.abs(max / size.theoreticalMax - 1) < 0.001, `${size.connections}: theoretical max`);
      assert.ok((slopeOf(size) ?? 0) > 0);
    }
  });
});

it('the Techracers study divided as it says', () => {
  const { systemMb, nodeMb, connections } = TECHRACERS;
  assert.equal(((systemMb.after - systemMb.before) / connections).toFixed(4), String(systemMb.perConnection));
  assert.equal(((nodeMb.after - nodeMb.before) / connections).toFixed(3), String(nodeMb.perConnection));
});

describe('the page on the studies', () => {
  it('puts our run beside the published one of its size, and says where there is none', () => {
    const rows = cells(studies([report(32_000)]).sideBySide);
    const ofSize = (size: string) => rows.filter(([first]) => first === size).map(([, by]) => by);
    assert.deepEqual(ofSize('32,000'), ['the report', 'us: VALID']);
    assert.deepEqual(ofSize('5,000'), ['the report', 'us: no report yet']);
    assert.ok(rows.every((row) => row.length === rows[0]?.length));
  });

  it('has a column or a row for each of our runs elsewhere', () => {
    const page = studies([report(5000), report(32_000)]);
    assert.deepEqual(cells(page.techracers)[0], ['', 'The study', 'us, 5,000', 'us, 32,000']);
    assert.equal(cells(page.linearity).length, 3);
  });

  it('has our waves, those with collections first, and none of them among the sizes', () => {
    const [collected, not] = [waves(), waves({ collected: false })].map((result) => {
      result.run.scenario = 'waves';
      return result;
    }) as [Result, Result];
    const reports = [describeReport('waves-uncollected', not), describeReport('waves', collected), report(5000)];
    assert.deepEqual(
      reports.map(({ title }) => title),
      [
        '3 waves of 5,000 connections, waves, garbage not collected',
        '3 waves of 5,000 connections, waves',
        '5,000 connections',
      ],
    );
    const page = studies(reports);
    assert.match(
      page.overTime,
      /collected after each[\s\S]*garbage not collected[\s\S]*leaks 20\.0 KB[\s\S]*grows by 20\.0 KB per connection/,
    );
    assert.equal(cells(page.linearity).length, 2);
  });

  it('puts runs whose connections send batches below Raccoon’s, and nowhere else', () => {
    const result = resultWithMessages();
    result.connections.target = 10_000;
    const sending = describeReport('10k', result);
    assert.equal(sending.title, '10,000 connections, messages of clients');
    const page = studies([report(5000), sending]);
    const [own, ...others] = cells(page.raccoon).filter(([first]) => first?.startsWith('us'));
    assert.deepEqual(others, []);
    const events = ['us: VALID', '10 s', '5,000', '2', '7,500,000', '0.031 ms', '2.40 ms', '–', '–'];
    assert.deepEqual(own, [...events, '4.20 ms (18.0 ms)', '8.75 ms (28.0 ms)', '111', '45.3', '0.11']);
    assert.ok(cells(page.raccoon).every((row) => row.length === own?.length));
    assert.match(page.sideBySide, /10,000<\/th>\s*<td[^>]*>us: no report yet/);
    assert.match(studies([report(5000)]).raccoon, /us: no report yet/);
  });

  it('fills itself from nothing, and takes no INVALID run', () => {
    const invalid = report(5000);
    invalid.result.verdict.status = 'INVALID';
    for (const page of [studies([]), studies([invalid])]) {
      assert.equal(cells(page.techracers)[0]?.length, 2);
      assert.doesNotMatch(page.sideBySide, /us: VALID|us: INVALID/);
      assert.match(page.overTime, /no report here yet/);
    }
  });
});
