/** Causes of failed and lost connections: which ones the generator brought about, and which ones show the deployment. */
import { generatorFaultOf } from '../../../../protocol/codes/failure-codes.ts';

type Counts = Record<string, number>;

/** Prefix of a virtual user's failure whose connection had been open. */
const LOST = 'disconnected_';

/** Returns failures during the setup or in a step, without those by a lost connection. */
export function withoutLosses(failures: Counts): Counts {
  return only(failures, (cause) => !cause.startsWith(LOST));
}

/** Returns the failures by a lost connection or namespace. */
export function lossesAmong(failures: Counts): Counts {
  return only(failures, (cause) => cause.startsWith(LOST));
}

/** Returns what the generator did not cause. */
export function ofDeployment(counts: Counts): Counts {
  return only(counts, (cause) => generatorFaultOf(cause) === undefined);
}

/**
 * Returns what the generator caused.
 * @param stoppedByUser a stop can end the processes of the fleet before their connections
 */
export function ofGenerator(counts: Counts, stoppedByUser: boolean): Counts {
  const isOfStop = (cause: string) => stoppedByUser && /^fleet[ _]/.test(cause);
  return only(counts, (cause) => generatorFaultOf(cause) !== undefined && !isOfStop(cause));
}

export function only(counts: Counts, isMeant: (cause: string) => boolean): Counts {
  return Object.fromEntries(Object.entries(counts).filter(([cause]) => isMeant(cause)));
}

/** Returns causes with their counts, the most frequent first. */
export function byFrequency(counts: Counts): [cause: string, count: number][] {
  return Object.entries(counts).toSorted(([, a], [, b]) => b - a);
}

/** Returns `transport close 12, ping timeout 3`. */
export function listed(counts: Counts): string {
  return byFrequency(counts)
    .map(([cause, count]) => `${cause} ${count}`)
    .join(', ');
}
