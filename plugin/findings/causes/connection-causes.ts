/** Edges of the causal graph between findings about connections, messages and broadcasts. */
import type { Batch } from '../../../protocol/result/delivery-schema.ts';
import { total } from '../../../report/text/format.ts';
import { interruptionOf, sameAudience, separateGroups } from '../../result/delivery/audience.ts';
import { sum } from '../../result/sums.ts';
import type { Observed } from '../../run/measurements/observations.ts';
import { tooLarge } from '../checks/connections/ends-checks.ts';
import { acksOf } from '../checks/delivery/messages-checks.ts';
import { publishersWereLost } from '../evidence.ts';
import {
  type Causes,
  LOST_WITH_CONNECTIONS,
  OF_NO_CONNECTION,
  OF_NONE_RECEIVED,
  ofMissing,
  UNANSWERED_ON_LOST,
} from './edges.ts';

/** Removes numbers from an error text. The same refusal can contain different numbers, such as a waiting time. */
const withoutNumbers = (words: string) => words.replaceAll(/\d+/g, '0');

const isOnOpenOnly = ({ received, lostDisconnected }: Batch) => received > 0 && lostDisconnected === 0;

export const CONNECTION_CAUSES: Causes = {
  LIMIT_REACHED: [{ effects: ['CONNECTIONS_FAILED', 'TARGET_NOT_REACHED', 'CLIENTS_REFUSED', 'PLATEAUS_UNUSABLE'] }],
  MESSAGES_TOO_LARGE: [
    {
      effects: ['CONNECTIONS_DROPPED', 'CONNECTIONS_FAILED', 'TARGET_NOT_REACHED', 'PLATEAUS_UNUSABLE'],
      holds: ({ result: { connections } }) =>
        sum(tooLarge(connections.ends).map(({ count }) => count)) >=
        Math.max(total(connections.lost), total(connections.failures)),
    },
    { effects: ['MESSAGES_UNACKNOWLEDGED'] },
    OF_NO_CONNECTION,
    LOST_WITH_CONNECTIONS,
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
        const isSame = ({ cause = '', words = '' }: Observed['clientsRefused']) =>
          withoutNumbers(words) === withoutNumbers(connections.failureExamples[cause] ?? '');
        return refusals.length > 0 && refusals.every(isSame) && !observations.has('sentinelRefused');
      },
    },
    OF_NO_CONNECTION,
  ],
  CONNECTIONS_DROPPED: [
    {
      effects: ['TARGET_NOT_REACHED', 'PLATEAUS_UNUSABLE'],
      holds: ({ result: { connections } }) =>
        connections.peak + connections.failed + total(connections.lost) >= connections.target,
    },
    {
      effects: ['BROADCASTS_NOT_SENT'],
      holds: publishersWereLost,
    },
    OF_NO_CONNECTION,
    LOST_WITH_CONNECTIONS,
    UNANSWERED_ON_LOST,
  ],
  QUEUE_GROWS: [{ effects: ['DRAIN_TOO_SHORT', 'BROADCASTS_DELAYED'] }],
  ACKS_CARRY_ERRORS: [
    {
      effects: ['NO_MEMBERS', 'DELIVERY_EVENT_MISSING'],
      holds: ({ result, measurements }) => {
        const { acks, errors } = acksOf(result, measurements);
        return total(errors) === acks;
      },
    },
  ],
  NO_MEMBERS: [{ effects: ['DELIVERY_EVENT_MISSING', 'AUDIENCE_DIFFERS'] }],
  DELIVERY_EVENT_MISSING: [OF_NONE_RECEIVED],
  IDS_NOT_SHARED: [ofMissing((_, batches) => batches.filter((batch) => batch.received <= batch.broadcasts))],
  IDS_NOT_COUNTED: [OF_NONE_RECEIVED],
  IDS_CHANGED: [{ effects: ['COPIES_LOST', 'COPIES_DUPLICATED', 'AUDIENCE_DIFFERS'] }],
  JOINS_LATE: [{ effects: ['COPIES_LOST'] }],
  ADAPTER_MISSING: [{ effects: ['MEMBERS_DISAGREE'] }, ofMissing((_, batches) => batches.filter(isOnOpenOnly))],
  ADAPTER_INTERRUPTED: [
    ofMissing(({ measurements }, batches) =>
      (interruptionOf(measurements, batches)?.during ?? []).filter(isOnOpenOnly),
    ),
  ],
  AUDIENCE_DIFFERS: [
    ofMissing(({ measurements }, batches) =>
      separateGroups(measurements, batches).length > 0
        ? batches.filter(isOnOpenOnly)
        : sameAudience(measurements, batches),
    ),
  ],
  STILL_COUNTED: [{ effects: ['WORKERS_LEAK', 'MACHINE_LEAK'] }],
  CLOCK_UNCERTAIN: [{ effects: ['SENT_AT_UNUSABLE'] }],
};
