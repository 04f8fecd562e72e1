import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { MeasuredStudy } from '../../../docs/studies/measured.ts';
import { pingIntervals } from '../../../docs/studies/ping-interval.data.ts';
import type { Result } from '../../../protocol/result/result.ts';
import { computeCapacity } from '../../../report/figures/capacity.ts';
import { resultWithPings } from '../../helpers/results.ts';
import { measuredStudy } from '../../helpers/studies.ts';

const LEVELS = [25_000, 120_000];
const PLAN = { scenario: '10k.yml', vary: { CAPACITY_PING_INTERVAL_MS: LEVELS } };

/** Little more than a fifth of the pings take a quarter of the CPU. */
function resultAt(intervalMs: number): Result {
  const result = resultWithPings();
  if (result.environment.server) result.environment.server.options.pingInterval = String(intervalMs);
  result.stages = [
    { name: 'hold', t: 0 },
    { name: 'broadcasts', t: 120 },
  ];
  if (intervalMs > 25_000) {
    for (const layer of ['worker', 'nginx']) {
      const cpu = result.cpu[layer];
      if (cpu) cpu.idleConnectionsPercent = (cpu.idleConnectionsPercent ?? 0) / 4;
    }
  }
  return { ...result, capacity: computeCapacity(result, 2 ** 31) };
}

function measured(): MeasuredStudy {
  const runs = LEVELS.map((level) => ({
    levels: { CAPACITY_PING_INTERVAL_MS: level },
    result: resultAt(level),
  }));
  return measuredStudy('ping-interval', PLAN, runs);
}

it('the page says for each interval how many connections the CPU can ping, and what a ping costs', () => {
  const { answer, table, chart } = pingIntervals(measured());
  assert.match(answer[0] ?? '', /take 2 cores.*: 400,000 with a ping every 25 s; 1,600,000 with a ping every 120 s\.$/);
  assert.match(answer[1] ?? '', /4\.8 times fewer pings.* room for 4\.0 times the connections/);
  const rows = [...table.matchAll(/<tr>([\s\S]*?)<\/tr>/g)].map(([row]) => row);
  assert.equal(rows.length, 3);
  // 2.1 % of a core for 5,000 connections, each pinged every 25 s: 105 µs.
  assert.match(rows[1] ?? '', />25<[\s\S]*VALID[\s\S]*>0\.420<[\s\S]*>105</);
  assert.match(chart, /pings per second/);
});

it('without a run, the page has no figure', () => {
  const { answer, table, chart, full } = pingIntervals(undefined);
  assert.deepEqual([answer, table, full], [[], '', null]);
  assert.match(chart, /has not been run yet/);
});
