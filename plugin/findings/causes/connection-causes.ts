/**
 * Part of the causal graph of findings (problems that a report lists): edges between findings about connections,
 * messages and broadcasts.
 */
import type { BroadcastBatch } from '../../../protocol/result/delivery-schema.ts';
import { totalOfCounts } from '../../../report/text/format.ts';
import { audienceInterruption, sameAudience, separateGroups } from '../../result/delivery/audience.ts';
import { sum } from '../../result/sums.ts';
import type { ObservedFacts } from '../../run/measurements/observations.ts';
import { closedByTooLargeMessage } from '../checks/connections/closes-checks.ts';
import { ackCounts } from '../checks/delivery/messages-checks.ts';
import { publishersWereLost } from '../evidence.ts';
import {
  type CauseEdges,
  LOST_WITH_CONNECTIONS_EDGE,
  missingCopiesEdge,
  NO_CONNECTIONS_EDGES,
  UNACKNOWLEDGED_ON_LOST_EDGE,
  UNRECEIVED_COPIES_EDGE,
} from './edges.ts';

/** Removes numbers from an error text. The same refusal can contain different numbers, for example a waiting time. */
const withoutNumbers = (words: string) => words.replaceAll(/\d+/g, '0');

const isOnOpenOnly = ({ received, lostDisconnected }: BroadcastBatch) => received > 0 && lostDisconnected === 0;

export const CONNECTION_CAUSES: CauseEdges = {
  LIMIT_REACHED: [{ effects: ['CONNECTIONS_FAILED', 'TARGET_NOT_REACHED', 'CLIENTS_REFUSED', 'PLATEAUS_UNUSABLE'] }],
  MESSAGES_TOO_LARGE: [
    {
      effects: ['CONNECTIONS_DROPPED', 'CONNECTIONS_FAILED', 'TARGET_NOT_REACHED', 'PLATEAUS_UNUSABLE'],
      holds: ({ result: { connections } }) =>
        sum(closedByTooLargeMessage(connections.ends).map(({ count }) => count)) >=
        Math.max(totalOfCounts(connections.lost), totalOfCounts(connections.failures)),
    },
    { effects: ['MESSAGES_UNACKNOWLEDGED'] },
    NO_CONNECTIONS_EDGES,
    LOST_WITH_CONNECTIONS_EDGE,
  ],
  CONNECTIONS_FAILED: [
    {
      effects: ['TARGET_NOT_REACHED', 'PLATEAUS_UNUSABLE'],
      holds: ({ result: { connections } }) => connections.peak + connections.failed >= connections.target,
    },
    {
      effects: ['CLIENTS_REFUSED'],
      holds: ({ result: { connections }, measurements: { observations } }) => {
        const refusals = observations.of('clientsRefused');
        const isSame = ({ cause = '', words = '' }: ObservedFacts['clientsRefused']) =>
          withoutNumbers(words) === withoutNumbers(connections.failureExamples[cause] ?? '');
        return refusals.length > 0 && refusals.every(isSame) && !observations.has('sentinelRefused');
      },
    },
    NO_CONNECTIONS_EDGES,
  ],
  CONNECTIONS_DROPPED: [
    {
      effects: ['TARGET_NOT_REACHED', 'PLATEAUS_UNUSABLE'],
      holds: ({ result: { connections } }) =>
        connections.peak + connections.failed + totalOfCounts(connections.lost) >= connections.target,
    },
    {
      effects: ['BROADCASTS_NOT_SENT'],
      holds: publishersWereLost,
    },
    NO_CONNECTIONS_EDGES,
    LOST_WITH_CONNECTIONS_EDGE,
    UNACKNOWLEDGED_ON_LOST_EDGE,
  ],
  QUEUE_GROWS: [{ effects: ['DRAIN_TOO_SHORT', 'BROADCASTS_DELAYED'] }],
  ACKS_CARRY_ERRORS: [
    {
      effects: ['NO_MEMBERS', 'DELIVERY_EVENT_MISSING'],
      holds: ({ result, measurements }) => {
        const { acks, errors } = ackCounts(result, measurements);
        return totalOfCounts(errors) === acks;
      },
    },
  ],
  NO_MEMBERS: [{ effects: ['DELIVERY_EVENT_MISSING', 'AUDIENCE_DIFFERS'] }],
  DELIVERY_EVENT_MISSING: [UNRECEIVED_COPIES_EDGE],
  IDS_NOT_SHARED: [missingCopiesEdge((_, batches) => batches.filter((batch) => batch.received <= batch.broadcasts))],
  IDS_NOT_COUNTED: [UNRECEIVED_COPIES_EDGE],
  IDS_CHANGED: [{ effects: ['COPIES_LOST', 'COPIES_DUPLICATED', 'AUDIENCE_DIFFERS'] }],
  JOINS_LATE: [{ effects: ['COPIES_LOST'] }],
  ADAPTER_MISSING: [{ effects: ['MEMBERS_DISAGREE'] }, missingCopiesEdge((_, batches) => batches.filter(isOnOpenOnly))],
  ADAPTER_INTERRUPTED: [
    missingCopiesEdge(({ measurements }, batches) =>
      (audienceInterruption(measurements, batches)?.during ?? []).filter(isOnOpenOnly),
    ),
  ],
  AUDIENCE_DIFFERS: [
    missingCopiesEdge(({ measurements }, batches) =>
      separateGroups(measurements, batches).length > 0
        ? batches.filter(isOnOpenOnly)
        : sameAudience(measurements, batches),
    ),
  ],
  STILL_COUNTED: [{ effects: ['WORKERS_LEAK', 'MACHINE_LEAK'] }],
  CLOCK_UNCERTAIN: [{ effects: ['SENT_AT_UNUSABLE'] }],
};
