/** Which worker holds a connection, and so which copies came from another worker. */
import type { Measurements } from '../../run/measurements/measurements.ts';
import { sum } from '../sums.ts';

const RESTORED =
  'connections came back with restored sessions: these do not join again, so nothing names the worker that holds them';

type Placing = Pick<Measurements, 'frozen' | 'sent' | 'snapshots' | 'ownEvent' | 'misnamed'>;

/** @returns why latencies within a worker and across workers cannot be told apart; undefined if they can */
export function whyNotPlaced({ frozen, sent, snapshots, ownEvent, misnamed }: Placing): string | undefined {
  if (ownEvent) return undefined;
  if (misnamed) return 'acknowledgements of `join_room` name other workers than those that count the connections';
  if (!frozen.some(({ unplaced }) => unplaced) && sent.every(({ worker }) => worker !== '')) return undefined;
  if (snapshots.some(({ returns }) => returns.recovered > 0)) return RESTORED;
  const connected = sum(snapshots.map((snapshot) => snapshot.connected));
  const named = sum(snapshots.flatMap(({ perWorker }) => Object.values(perWorker)));
  return `the server named no worker in its acknowledgement of \`join_room\` for ${connected - named} of ${connected} connections`;
}
