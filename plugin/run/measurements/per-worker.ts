/** How many connections each worker holds now, as far as that is known of all of them. */
import { sumCounts } from '../../../protocol/helpers/sum-counts.ts';
import type { EngineSnapshot } from '../link.ts';
import type { Measurements } from './measurements.ts';

type Snapshot = Pick<EngineSnapshot, 'perWorker' | 'perSessionPrefix' | 'connected' | 'returns'>;

/** @returns empty where restored sessions, which have no new join that would name their worker, can be on any of several */
export function connectionsPerWorker(
  { workersAtStart }: Pick<Measurements, 'workersAtStart'>,
  snapshots: Snapshot[],
): Record<string, number> {
  // Session ids of other servers can begin with anything.
  const isWorker = ([name]: [string, number]) => workersAtStart.some(({ worker }) => worker === name);
  const named = sumCounts([
    ...snapshots.map(({ perWorker }) => perWorker),
    ...snapshots.map(({ perSessionPrefix }) => Object.fromEntries(Object.entries(perSessionPrefix).filter(isWorker))),
  ]);
  const count = (value: (one: Snapshot) => number) => snapshots.reduce((total, one) => total + value(one), 0);
  const connected = count((one) => one.connected);
  const known = Object.values(named).reduce((total, one) => total + one, 0);
  if (count(({ returns }) => returns.recovered) === 0 || known >= connected) return named;
  const [only, ...others] = workersAtStart;
  const isOnly = only !== undefined && others.length === 0 && Object.keys(named).every((name) => name === only.worker);
  return isOnly ? { [only.worker]: connected } : {};
}
