import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { exitCodeOfOutcome } from '../../../protocol/codes/exit-codes.ts';
import type { FindingCode } from '../../../protocol/codes/finding-codes.ts';
import type { Result } from '../../../protocol/result/result.ts';
import { compareSets, type RunSet } from '../../../report/compare/compare.ts';
import { comparisonOutcome } from '../../../report/compare/comparison-outcome.ts';
import { comparisonHeadline } from '../../../report/compare/text.ts';
import { invalidatedBy } from '../../../report/figures/figures.ts';
import { finding, withFindings } from '../../helpers/findings.ts';
import { figure, run, setOf } from '../../helpers/run-sets.ts';

const P99 = 'latency.oneWayMs.p99';

function withFinding(code: FindingCode | undefined, change: (result: Result) => unknown = () => {}): Result {
  const result = run(change);
  return code ? withFindings(result, finding(code)) : result;
}

/** Returns five runs with this p99. Findings invalidate the latency in `late` of them. */
function latencies(p99: number, late: number, code: FindingCode = 'GENERATOR_LATE'): RunSet {
  return setOf(
    ...Array.from({ length: 5 }, (_, index) =>
      withFinding(index < late ? code : undefined, ({ latency }) =>
        Object.assign(latency.oneWayMs ?? {}, { p99: p99 + index / 10 }),
      ),
    ),
  );
}

describe('a figure that a finding of its run invalidates', () => {
  it("an invalidated figure is inconclusive if a side has no other run, and the answer has the finding's code", () => {
    const comparison = compareSets([latencies(50, 0), latencies(150, 5)]);
    const late = comparison.figures.find(({ path }) => path === P99);
    assert.deepEqual(
      [late?.spreads[1], late?.differences[0]?.answer, late?.differences[0]?.invalidatedBy],
      [null, 'inconclusive', ['GENERATOR_LATE']],
    );
    const { answer, text } = comparisonHeadline(comparison, 1);
    assert.equal(answer, 'inconclusive');
    assert.match(text, /unknown for B: .*One way p99 \(invalidated by GENERATOR_LATE\)/);
    assert.equal(exitCodeOfOutcome(comparisonOutcome(comparison)), 5);
  });

  it("the answer for a figure has the finding's code also if it invalidates the reference", () => {
    const comparison = compareSets([latencies(50, 5), latencies(150, 0)]);
    const late = comparison.figures.find(({ path }) => path === P99);
    assert.deepEqual(late?.differences[0]?.invalidatedBy, ['GENERATOR_LATE']);
    assert.match(comparisonHeadline(comparison, 1).text, /unknown for A: .*One way p99/);
  });

  it('compares an invalidated figure by the remaining runs if there are some', () => {
    const found = figure([latencies(50, 2), latencies(150, 3)], P99);
    assert.deepEqual(
      found.spreads.map((spread) => spread?.runs),
      [3, 2],
    );
    assert.deepEqual(found.differences[0]?.invalidatedBy, ['GENERATOR_LATE']);
  });

  it('a finding that invalidates a figure leaves the figures that it does not concern unchanged', () => {
    const slower = (code: FindingCode) =>
      setOf(
        ...latencies(50, 5, code).results.map((result) => ({
          ...result,
          connections: { ...result.connections, failed: 400 },
        })),
      );
    const answerTo = (code: FindingCode, path: string) =>
      figure([latencies(50, 0), slower(code)], path).differences[0]?.answer;
    assert.equal(answerTo('GENERATOR_LATE', 'connections.failed'), 'worse');
    assert.equal(answerTo('USERS_SKIPPED', 'connections.failed'), 'inconclusive');
    assert.equal(answerTo('USERS_SKIPPED', P99), 'no-difference');
  });

  it('each compared figure belongs to one group of figures that a finding can invalidate', () => {
    const codes: [code: FindingCode, path: string, isInvalid: boolean][] = [
      ['MACHINE_SATURATED', 'connections.connectMs.p99', true],
      ['GENERATOR_LATE', 'messages.ackMs.p95', true],
      ['GENERATOR_LATE', 'fault.reconnectMs.p99', true],
      ['GENERATOR_LATE', 'cpu.worker.broadcastMicrosecondsPerMessage', false],
      ['READINGS_MISSING', 'cpu.worker.broadcastMicrosecondsPerMessage', true],
      ['MEMORY_GROWS', 'memory.perConnection.bytes', true],
      ['DRAIN_TOO_SHORT', 'delivery.coverage', true],
      ['WRONG_COPIES', 'delivery.duplicates', false],
      ['USERS_SKIPPED', 'connections.held', true],
    ];
    for (const [code, path, isInvalid] of codes) {
      assert.equal(invalidatedBy(withFinding(code), path).length > 0, isInvalid, `${code} ${path}`);
    }
  });
});
