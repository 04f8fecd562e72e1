/**
 * Part of the causal graph of findings (problems that a report lists): edges from findings about the generator, its
 * machine and the measurement itself.
 */
import { connectsWaitedForServer } from '../checks/connections/connect-waits.ts';
import { isTimeoutCause } from '../checks/connections/failure-causes.ts';
import { queueGrowthSeconds } from '../checks/delivery/keeping-up-checks.ts';
import { mayLackCpu, saturatedWorkers } from '../checks/server/saturation-checks.ts';
import { stalledServer } from '../checks/server/stalls-checks.ts';
import { longestDelayMs, MAX_DELAY_RATIO, noProcessEnded } from '../evidence.ts';
import {
  allFailedOrLostBy,
  type CauseEdges,
  type CauseEvidence,
  isCausedByGenerator,
  isCausedByMachine,
  LOST_WITH_CONNECTIONS_EDGE,
  noneFailedOrLost,
  wasGeneratorLate,
} from './edges.ts';

function hadCpuLeft({ effect, result }: CauseEvidence): boolean {
  return saturatedWorkers(result)?.window !== (effect.window ?? 'broadcasts') && stalledServer(result) === undefined;
}

export const GENERATOR_CAUSES: CauseEdges = {
  IMPOSSIBLE_REPORT: [{ effects: ['MEMBERS_DISAGREE'] }],
  SOURCE_UNREADABLE: [
    { effects: ['READINGS_MISSING', 'COLLECTION_MISSING', 'PLATEAUS_UNUSABLE'] },
    {
      effects: ['BROADCASTS_NOT_SENT'],
      holds: ({ effect }) => effect.about === 'measurement',
    },
  ],
  SWAPPING: [{ effects: ['READINGS_IMPOSSIBLE'] }],
  MACHINE_SATURATED: [
    { effects: ['GENERATOR_LATE', 'CLOCK_UNCERTAIN'] },
    {
      effects: ['READINGS_MISSING'],
      holds: noProcessEnded,
    },
    {
      effects: ['RATE_NOT_REACHED'],
      holds: ({ result }) => !connectsWaitedForServer(result),
    },
    {
      effects: ['CONNECTIONS_FAILED', 'CONNECTIONS_DROPPED'],
      holds: ({ result }) => isCausedByMachine(result),
    },
    {
      effects: ['TARGET_NOT_REACHED'],
      holds: ({ result }) => noneFailedOrLost(result) || isCausedByMachine(result),
    },
    {
      effects: ['COPIES_LOST'],
      holds: ({ result }) => allFailedOrLostBy(isTimeoutCause, result) && result.delivery?.lostConnected === 0,
    },
    {
      effects: ['BROADCASTS_LATE'],
      holds: hadCpuLeft,
    },
    {
      effects: ['QUEUE_GROWS', 'DRAIN_TOO_SHORT'],
      holds: (evidence) => hadCpuLeft(evidence) && mayLackCpu(evidence.result, evidence.effect.window ?? 'broadcasts'),
    },
  ],
  GENERATOR_SILENT: [
    { effects: ['GENERATOR_FAILED', 'TARGET_NOT_REACHED', 'PLATEAUS_UNUSABLE'] },
    LOST_WITH_CONNECTIONS_EDGE,
  ],
  FLEET_PROCESS_DIED: [
    { effects: ['GENERATOR_FAILED', 'GENERATOR_SILENT', 'GENERATOR_LATE', 'TARGET_NOT_REACHED', 'RATE_NOT_REACHED'] },
    { effects: ['MESSAGES_UNACKNOWLEDGED', 'PLATEAUS_UNUSABLE'] },
    LOST_WITH_CONNECTIONS_EDGE,
  ],
  GENERATOR_FAILED: [
    { effects: ['TARGET_NOT_REACHED', 'RATE_NOT_REACHED', 'PLATEAUS_UNUSABLE'] },
    LOST_WITH_CONNECTIONS_EDGE,
  ],
  GENERATOR_LATE: [
    { effects: ['BROADCASTS_LATE', 'CLOCK_UNCERTAIN'] },
    {
      effects: ['RATE_NOT_REACHED'],
      holds: ({ result }) => !connectsWaitedForServer(result),
    },
    {
      effects: ['CONNECTIONS_FAILED', 'CONNECTIONS_DROPPED'],
      holds: ({ result }) => isCausedByGenerator(result) && wasGeneratorLate(result),
    },
    {
      effects: ['QUEUE_GROWS'],
      holds: ({ effect, result }) =>
        saturatedWorkers(result)?.window !== effect.window &&
        queueGrowthSeconds(effect) * 1000 <= MAX_DELAY_RATIO * longestDelayMs(result),
    },
  ],
};
