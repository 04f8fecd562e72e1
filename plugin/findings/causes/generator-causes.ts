/** Causes among findings about the generator, its machine and the measurement itself. */
import { waitedForServer } from '../checks/connections/connect-waits.ts';
import { isTimeOut } from '../checks/connections/cut-off.ts';
import { growthSeconds } from '../checks/delivery/keeping-up-checks.ts';
import { fullWorkers, mayLackCpu } from '../checks/server/saturation-checks.ts';
import { stalledServer } from '../checks/server/stalls-checks.ts';
import { longestDelayMs, MAX_GROWTH, noneEnded } from '../evidence.ts';
import { type Causes, type Evidence, LOST_WITH_CONNECTIONS } from './edges.ts';
import { allGoneBy, areByGenerator, areByMachine, isLateEnough, NOT_UNANSWERED, noneGone } from './time-outs.ts';

const NOT_FOR_SERVER =
  'while the generator was on time, no connect waited for seconds as the only one, and none of the server’s answers took long while the others came at once';

function hadCpuLeft({ effect, result }: Evidence): boolean {
  return fullWorkers(result)?.window !== (effect.window ?? 'broadcasts') && stalledServer(result) === undefined;
}

export const GENERATOR_CAUSES: Causes = {
  IMPOSSIBLE_REPORT: [{ effects: ['MEMBERS_DISAGREE'] }],
  SOURCE_UNREADABLE: [
    { effects: ['READINGS_MISSING', 'COLLECTION_MISSING', 'PLATEAUS_UNUSABLE'] },
    {
      effects: ['BROADCASTS_NOT_SENT'],
      evidence: 'the workers did not let the run publish',
      holds: ({ effect }) => effect.about === 'measurement',
    },
  ],
  SWAPPING: [{ effects: ['READINGS_IMPOSSIBLE'] }],
  MACHINE_SATURATED: [
    { effects: ['GENERATOR_LATE', 'CLOCK_UNCERTAIN'] },
    {
      effects: ['READINGS_MISSING'],
      evidence: 'no process of the server ended',
      holds: noneEnded,
    },
    {
      effects: ['RATE_NOT_REACHED'],
      evidence: NOT_FOR_SERVER,
      holds: ({ result }) => !waitedForServer(result),
    },
    {
      effects: ['CONNECTIONS_FAILED', 'CONNECTIONS_DROPPED'],
      evidence: `every failed or lost connection timed out, no process of the server was out of files, and ${NOT_UNANSWERED}`,
      holds: ({ result }) => areByMachine(result),
    },
    {
      effects: ['TARGET_NOT_REACHED'],
      evidence: 'no connection failed or was lost, or the machine explains all of these',
      holds: ({ result }) => noneGone(result) || areByMachine(result),
    },
    {
      effects: ['COPIES_LOST'],
      evidence: 'every lost copy is one of a connection that timed out',
      holds: ({ result }) => allGoneBy(isTimeOut, result) && result.delivery?.lostConnected === 0,
    },
    {
      effects: ['BROADCASTS_LATE'],
      evidence: 'the workers had CPU left, and the server did not stand still meanwhile',
      holds: hadCpuLeft,
    },
    {
      effects: ['QUEUE_GROWS', 'TAIL_CUT'],
      evidence:
        'the same, and a process of the deployment can have lacked CPU: what it used, and the longest share of time that a thread of the generator waited for a CPU, fill a core',
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
      evidence: NOT_FOR_SERVER,
      holds: ({ result }) => !waitedForServer(result),
    },
    {
      effects: ['CONNECTIONS_FAILED', 'CONNECTIONS_DROPPED'],
      evidence: `every failed or lost connection timed out, an event loop was late by a tenth of a time-out, or by the ping timeout, and ${NOT_UNANSWERED}`,
      holds: ({ result }) => areByGenerator(result) && isLateEnough(result),
    },
    {
      effects: ['QUEUE_GROWS'],
      evidence: 'the workers had CPU left, and the queue grew by at most four times the delay of an event loop',
      holds: ({ effect, result }) =>
        fullWorkers(result)?.window !== effect.window &&
        growthSeconds(effect) * 1000 <= MAX_GROWTH * longestDelayMs(result),
    },
  ],
};
