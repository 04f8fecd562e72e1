/**
 * Tests names of workers, rooms and causes. Other programs choose them, so they may be names of JavaScript's own
 * properties.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { limitsChecks } from '../../../plugin/findings/checks/connections/limits-checks.ts';
import { runChecks } from '../../../plugin/findings/find.ts';
import { type ConnectionAccount, ConnectionAccounts } from '../../../plugin/fleet/connection-accounts.ts';
import { ConnectionCounts } from '../../../plugin/fleet/process/counts/connection-counts.ts';
import { connectionFigures } from '../../../plugin/result/assemble-connections.ts';
import { serverDescription } from '../../../plugin/result/assemble-environment.ts';
import { FlowError } from '../../../plugin/virtual-user/flow-error.ts';
import { countFailure, newUserTally } from '../../../plugin/virtual-user/tally.ts';
import { sumCounts } from '../../../protocol/base/sum-counts.ts';
import type { FailureCode } from '../../../protocol/codes/failure-codes.ts';
import { loneConnection } from '../../helpers/idle-process.ts';
import { measurements, snapshot } from '../../helpers/measurements.ts';
import { perfectResult } from '../../helpers/results.ts';

for (const name of ['constructor', 'toString', '__proto__']) {
  /** Returns `{name: count}`, also for `__proto__`. An object literal would set the prototype. */
  const counted = (count: number): Record<string, number> => Object.fromEntries([[name, count]]);
  const assertCounted = (found: object, count: unknown) => assert.deepEqual(Object.entries(found), [[name, count]]);

  describe(`a name such as ${name}`, () => {
    it(`a broadcast id such as ${name} counts like any other in a fleet process`, () => {
      const counts = new ConnectionCounts();
      for (const connection of [loneConnection(), loneConnection()]) counts.assign(connection, name, true);
      assertCounted(structuredClone(counts.perWorker), 2);
      const connection = loneConnection();
      counts.assign(connection, name, false);
      counts.assign(connection, '', false);
      assert.deepEqual(Object.entries(counts.perSessionPrefix), []);
    });

    it(`a connection can be closed with a reason such as ${name}`, () => {
      const [accounts, account] = [new ConnectionAccounts(), { state: 'idle', cause: '' } as ConnectionAccount];
      accounts.begin(account);
      accounts.opened(account);
      accounts.ended(account, name);
      const { disconnects, accounts: all } = accounts.read();
      for (const found of [disconnects, all.ended]) assertCounted(found, 1);
    });

    it(`sums can have a key such as ${name}`, () => assertCounted(sumCounts([counted(2), counted(2)]), 4));

    it(`virtual users can fail with a code such as ${name}, and keep its example`, () => {
      const tally = newUserTally();
      const error = new FlowError(name as FailureCode, 'why');
      for (let n = 0; n < 2; n++) countFailure({ tally, meter: { error: () => {} } }, error, 'failures');
      const failed = { failures: { ...tally.failures }, failureExamples: { ...tally.examples } };
      const figures = connectionFigures(measurements({ snapshots: [snapshot(failed), snapshot(failed)] }));
      assertCounted(figures.failures, 4);
      assertCounted(figures.failureExamples, 'why');
    });

    it(`a worker or a cause of failures can have a name such as ${name}`, () => {
      const snapshots = [snapshot({ perWorker: counted(2), failures: counted(2) })];
      const measured = measurements({ targetConnections: 2, snapshots });
      const connections = connectionFigures(measured);
      assertCounted(connections.perWorker, 2);
      assert.deepEqual(runChecks(limitsChecks, { ...perfectResult(), connections }, measured), []);
    });
  });
}

it('reports an option with the name of an object property if only some workers set it', () => {
  const server = (options: object) => ({ server: { kind: 'own', tunings: {}, options } }) as never;
  const described = serverDescription([server({ constructor: 'on' }), server({})]);
  assert.deepEqual(described?.options, { constructor: 'on or not set' });
});
