/** Virtual users that did not settle, and what the run's own clients could not measure. */
import type { Observed } from '../../../run/measurements/observations.ts';
import type { CodedDetail } from '../../check.ts';

const ROUND_TRIPS_FIX =
  'see whether others missed the same broadcasts, and the worker logs: a worker refuses control requests, does not acknowledge `broadcast_echo`, or drops connections';

export const OF_CLIENTS = {
  usersUnsettled: (fact: Observed['usersUnsettled']): CodedDetail => {
    const { arrivals, seconds, notStarted, connecting, joining, away } = fact;
    const open = [
      ...(notStarted > 0 ? [`${notStarted} had not started`] : []),
      ...(connecting > 0 ? [`${connecting} were connecting`] : []),
      ...(joining > 0 ? [`${joining} joins were not acknowledged`] : []),
      ...(away > 0 ? [`${away} were about to come back`] : []),
    ];
    const detail = open.length > 0 ? `: ${open.join(', ')}` : '';
    return {
      code: 'TARGET_NOT_REACHED',
      message: `some of ${arrivals} virtual users had not connected and joined ${seconds} s after the ramp${detail}`,
      fix:
        joining > 0
          ? 'lower `RATE`; let every flow join, and the server acknowledge each `join_room`'
          : 'lower `RATE`, or see what keeps the server from answering connections in time',
    };
  },
  warmUpFailed: ({ error }: Observed['warmUpFailed']): CodedDetail => ({
    code: 'CONNECTIONS_FAILED',
    message: `the short connections before the baseline failed: ${error}`,
    fix: 'see the worker logs; or set `warmUp: 0`, which adds first-time costs to the memory per connection',
  }),
  clientsRefused: ({ error, fix, lost }: Observed['clientsRefused']): CodedDetail => ({
    code: 'CLIENTS_REFUSED',
    message: `the server refused the run’s own clients: ${error}; the run does without ${lost.join(', ')}`,
    fix,
  }),
  sentinelRefused: ({ error, fix }: Observed['sentinelRefused']): CodedDetail => ({
    code: 'CLIENTS_REFUSED',
    message: `there is no reference receiver: ${error}`,
    fix,
  }),
  sentinelLost: (fact: Observed['sentinelLost']): CodedDetail => ({
    code: 'PROBE_INCOMPLETE',
    message: `there is no reference receiver (sentinel), so the generator's own queue is unknown: ${sentinelText(fact)}`,
    fix: 'see the worker logs: the server refuses or drops single connections',
  }),
  roundTripsMissing: ({ load, missing, asked, why }: Observed['roundTripsMissing']): CodedDetail => {
    const trips = load === 'single' ? 'unloaded round trips' : 'round trips under load';
    return {
      code: 'PROBE_INCOMPLETE',
      message: `${missing} of ${asked} ${trips} are missing: ${why}`,
      fix: ROUND_TRIPS_FIX,
    };
  },
  messagesDiffer: ({ handled, atLeast, atMost }: Observed['messagesDiffer']): CodedDetail => {
    const [bound, share] = handled > atMost ? ['at most', atMost] : ['at least', atLeast];
    return {
      code: 'MESSAGES_DISAGREE',
      message: `the workers handled ${handled} messages in the hold, the connections sent ${bound} ${share}`,
    };
  },
  acknowledgementsCut: ({ unanswered }: Observed['acknowledgementsCut']): CodedDetail => ({
    code: 'TAIL_CUT',
    message: `acknowledgements still came when the drain ended, and ${unanswered} were missing: the times to an acknowledgement are lower bounds`,
    fix: 'raise `drain.deadline`, or send less: the server cannot keep up with it',
  }),
};

function sentinelText(fact: Observed['sentinelLost']): string {
  if ('joinError' in fact) return `it could not join: ${fact.joinError}`;
  if ('ended' in fact) return 'its connection ended during the broadcasts';
  return `it received none of ${fact.broadcasts} broadcasts, although the server had acknowledged its join`;
}
