/** Edges of the causal graph from findings about the generator, its machine and the measurement itself. */
import { waitedForServer } from '../checks/connections/connect-waits.ts';
import { isTimeOut } from '../checks/connections/failure-causes.ts';
import { growthSeconds } from '../checks/delivery/keeping-up-checks.ts';
import { fullWorkers, mayLackCpu } from '../checks/server/saturation-checks.ts';
import { stalledServer } from '../checks/server/stalls-checks.ts';
import { longestDelayMs, MAX_GROWTH, noneEnded } from '../evidence.ts';
import {
  allGoneBy,
  areByGenerator,
  areByMachine,
  type Causes,
  type Evidence,
  isLateEnough,
  LOST_WITH_CONNECTIONS,
  noneGone,
} from './edges.ts';

function hadCpuLeft({ effect, result }: Evidence): boolean {
  return fullWorkers(result)?.window !== (effect.window ?? 'broadcasts') && stalledServer(result) === undefined;
}

export const GENERATOR_CAUSES: Causes = {
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
      holds: noneEnded,
    },
    {
      effects: ['RATE_NOT_REACHED'],
      holds: ({ result }) => !waitedForServer(result),
    },
    {
      effects: ['CONNECTIONS_FAILED', 'CONNECTIONS_DROPPED'],
      holds: ({ result }) => areByMachine(result),
    },
    {
      effects: ['TARGET_NOT_REACHED'],
      holds: ({ result }) => noneGone(result) || areByMachine(result),
    },
    {
      effects: ['COPIES_LOST'],
      holds: ({ result }) => allGoneBy(isTimeOut, result) && result.delivery?.lostConnected === 0,
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
    LOST_WITH_CONNECTIONS,
  ],
  FLEET_PROCESS_DIED: [
    { effects: ['GENERATOR_FAILED', 'GENERATOR_SILENT', 'GENERATOR_LATE', 'TARGET_NOT_REACHED', 'RATE_NOT_REACHED'] },
    { effects: ['MESSAGES_UNACKNOWLEDGED', 'PLATEAUS_UNUSABLE'] },
    LOST_WITH_CONNECTIONS,
  ],
  GENERATOR_FAILED: [
    { effects: ['TARGET_NOT_REACHED', 'RATE_NOT_REACHED', 'PLATEAUS_UNUSABLE'] },
    LOST_WITH_CONNECTIONS,
  ],
  GENERATOR_LATE: [
    { effects: ['BROADCASTS_LATE', 'CLOCK_UNCERTAIN'] },
    {
      effects: ['RATE_NOT_REACHED'],
      holds: ({ result }) => !waitedForServer(result),
    },
    {
      effects: ['CONNECTIONS_FAILED', 'CONNECTIONS_DROPPED'],
      holds: ({ result }) => areByGenerator(result) && isLateEnough(result),
    },
    {
      effects: ['QUEUE_GROWS'],
      holds: ({ effect, result }) =>
        fullWorkers(result)?.window !== effect.window &&
        growthSeconds(effect) * 1000 <= MAX_GROWTH * longestDelayMs(result),
    },
  ],
};
