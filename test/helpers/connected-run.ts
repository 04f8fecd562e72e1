/** Results with invented connections, for tests of the verdict. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { concludeFigures } from '../../plugin/findings/conclude.ts';
import { rootFindings } from '../../plugin/findings/find.ts';
import { connectionFigures } from '../../plugin/result/assemble-connections.ts';
import type { EngineSnapshot } from '../../plugin/run/link.ts';
import type { Measurements } from '../../plugin/run/measurements/measurements.ts';
import type { Result } from '../../protocol/result/result.ts';
import { measurements, snapshot } from './measurements.ts';
import { perfectResult } from './results.ts';
import { assertNames, assertValues, fleetProcesses } from './verdict.ts';

const ACCOUNTS: EngineSnapshot['accounts'] = {
  asked: 600,
  pending: 0,
  alive: 600,
  peak: 0,
  failed: {},
  ended: {},
  returned: 0,
};

export interface Changes {
  accounts?: Partial<EngineSnapshot['accounts']>;
  /** Failures of virtual users by cause. */
  failures?: Record<string, number>;
  measured?: Partial<Measurements>;
  result?: Partial<Result>;
  snapshot?: Partial<EngineSnapshot>;
}

/** Returns a run of 600 virtual users that stay connected. */
export function run({ accounts, failures = {}, measured: ofRun, result, snapshot: ofFleet }: Changes = {}) {
  const all = { ...ACCOUNTS, ...accounts };
  const opened = all.alive + Object.values(all.ended).reduce((total, count) => total + count, 0);
  const { connecting } = snapshot();
  const engineSnapshot = snapshot({
    ...{ accounts: all, failures, connected: all.alive, processes: fleetProcesses([600]) },
    transports: { websocket: opened, upgraded: 0, polling: 0 },
    connecting: { ...connecting, opened: { ...connecting.opened, counts: [opened] } },
    ...ofFleet,
  });
  const measured = measurements({
    ...{ targetConnections: 600, expectedAtOnce: 600, peakConnections: 600, snapshots: [engineSnapshot] },
    ...ofRun,
  });
  const connections = connectionFigures(measured);
  const { findings, verdict, outcome } = concludeFigures(measured, { ...perfectResult(), ...result, connections });
  for (const found of findings) assertValues(found);
  const reasons = rootFindings(findings);
  return { connections, verdict, outcome, findings, reasons, codes: reasons.map(({ code }) => code) };
}

type Case = [situation: string, changes: Changes, ...reasons: [code: string, ...details: (string | number)[]][]];

export function testRuns(cases: Case[]): void {
  for (const [situation, changes, ...expected] of cases) {
    it(`the verdict reports ${expected.map(([code]) => code).join(', ') || 'nothing'} for: ${situation}`, () => {
      const { codes, reasons } = run(changes);
      assert.deepEqual(
        codes,
        expected.map(([code]) => code),
      );
      for (const [index, [, ...details]] of expected.entries()) assertNames(reasons[index]?.message, details);
    });
  }
}
