/** Converts each recorded observation of a run to its finding. */

import { findingValues } from '../../../../protocol/result/findings.ts';
import { withUnit } from '../../../../report/model/amount.ts';
import { decimalsText } from '../../../../report/text/format.ts';
import {
  type CheckMoment,
  METRICS_PAGE,
  type Observations,
  type ObservedFacts,
  type ObservedKind,
  WRONG_ADDRESSES,
  WRONG_COUNTS,
} from '../../../run/measurements/observations.ts';
import type { CodedFindingDetail } from '../../check.ts';
import { COUNT_FINDINGS, momentText, momentValues } from './counts-of.ts';

const ROUND_TRIPS_FIX =
  'see whether others missed the same broadcasts, and the worker logs: a worker refuses control requests, does not acknowledge `broadcast_echo`, or drops connections';

const OF_CLIENTS = {
  usersUnsettled: (fact: ObservedFacts['usersUnsettled']): CodedFindingDetail => {
    const { arrivals, seconds, notStarted, connecting, joining, away } = fact;
    const open = [
      ...(notStarted > 0 ? [`${notStarted} had not started`] : []),
      ...(connecting > 0 ? [`${connecting} were connecting`] : []),
      ...(joining > 0 ? [`${joining} joins were not acknowledged`] : []),
      ...(away > 0 ? [`${away} were waiting to reconnect`] : []),
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
  warmUpFailed: ({ error }: ObservedFacts['warmUpFailed']): CodedFindingDetail => ({
    code: 'CONNECTIONS_FAILED',
    message: `the short connections before the baseline failed: ${error}`,
    fix: 'see the worker logs; or set `warmUp: 0`, which adds first-time costs to the memory per connection',
  }),
  clientsRefused: ({ error, fix, lost }: ObservedFacts['clientsRefused']): CodedFindingDetail => ({
    code: 'CLIENTS_REFUSED',
    message: `the server refused the run’s own clients: ${error}; so the run has no ${lost.join(', and no ')}`,
    fix,
  }),
  sentinelRefused: ({ error, fix }: ObservedFacts['sentinelRefused']): CodedFindingDetail => ({
    code: 'CLIENTS_REFUSED',
    message: `there is no reference receiver: ${error}`,
    fix,
  }),
  sentinelLost: (fact: ObservedFacts['sentinelLost']): CodedFindingDetail => ({
    code: 'PROBE_INCOMPLETE',
    message: `there is no reference receiver (sentinel), so the generator's own queue is unknown: ${sentinelText(fact)}`,
    fix: 'see the worker logs: the server refuses or drops single connections',
  }),
  roundTripsMissing: ({ load, missing, asked, why }: ObservedFacts['roundTripsMissing']): CodedFindingDetail => {
    const trips = load === 'single' ? 'unloaded round trips' : 'round trips under load';
    return {
      code: 'PROBE_INCOMPLETE',
      message: `${missing} of ${asked} ${trips} are missing: ${why}`,
      ...(load !== 'single' && { window: 'broadcasts' }),
      fix: ROUND_TRIPS_FIX,
    };
  },
  messagesDiffer: ({ handled, atLeast, atMost }: ObservedFacts['messagesDiffer']): CodedFindingDetail => {
    const [bound, share] = handled > atMost ? ['at most', atMost] : ['at least', atLeast];
    return {
      code: 'MESSAGES_DISAGREE',
      message: `the workers handled ${handled} messages in the hold, the connections sent ${bound} ${share}`,
    };
  },
  acknowledgementsCut: ({ unanswered }: ObservedFacts['acknowledgementsCut']): CodedFindingDetail => ({
    code: 'DRAIN_TOO_SHORT',
    message: `acknowledgements still came when the drain ended, and ${unanswered} were missing: the times to an acknowledgement are lower bounds`,
    fix: 'raise `drain.deadline`, or send less: the server cannot keep up with it',
  }),
};

function sentinelText(fact: ObservedFacts['sentinelLost']): string {
  if ('joinError' in fact) return `it could not join: ${fact.joinError}`;
  if ('ended' in fact) return `its connection ended during the broadcasts: ${fact.ended}`;
  return `it received none of ${fact.broadcasts} broadcasts, although the server had acknowledged its join`;
}

const OF_READINGS = {
  connectionsStayed: ({ connections, seconds }: ObservedFacts['connectionsStayed']): CodedFindingDetail => ({
    code: 'PLATEAUS_UNUSABLE',
    message: `${connections} connections were still open ${seconds} s after they were released: the residual is unknown`,
    fix: 'see the worker logs: what keeps these connections open?',
  }),
  waveEmpty: ({ wave }: ObservedFacts['waveEmpty']): CodedFindingDetail => ({
    code: 'PLATEAUS_UNUSABLE',
    message: `no connection was open when wave ${wave} had arrived: its virtual users had left, or none connected`,
    fix: 'let them stay until the ramp has ended, by a longer `think`; or write overTime: {every: 10}',
  }),
  waveStayed: ({ wave, connections }: ObservedFacts['waveStayed']): CodedFindingDetail => ({
    code: 'PLATEAUS_UNUSABLE',
    message: `${connections} connections of wave ${wave} had not left in time, so what it leaves behind is unknown`,
    fix: 'make the pause after the wave longer, or the `think` in the flow shorter',
  }),
  wavesOverlap: ({ when }: ObservedFacts['wavesOverlap']): CodedFindingDetail => ({
    code: 'PLATEAUS_UNUSABLE',
    message: `the next wave began while memory was read ${momentText(when)}`,
    fix: 'make the pauses after the waves longer',
  }),
  plateauMoved: ({ from, to }: ObservedFacts['plateauMoved']): CodedFindingDetail => ({
    code: 'PLATEAUS_UNUSABLE',
    message: `connections changed from ${from} to ${to} while memory was read`,
    fix:
      to < from
        ? 'see why connections ended; if their flow did, end it with `hold: true`'
        : 'make the pauses between the ramps longer',
  }),
  memoryFalls: ({ when, seconds, falls }: ObservedFacts['memoryFalls']): CodedFindingDetail => {
    const what = falls.map(
      ({ title, bytes }) => `${title} (by ${withUnit('megabytes', bytes)} since the reading before)`,
    );
    return {
      code: 'SERVER_NOT_IDLE',
      values: falls.flatMap(({ title, bytes }) => findingValues({ [`fall of ${title}`]: bytes }, 'bytes')),
      message: `${momentText(when)}, the memory of ${what.join(' and ')} still fell after ${seconds} s: ${CONSEQUENCE[when.at]}`,
      fix: 'see what else works on this server, or frees memory by a timer, and let it come to rest first',
    };
  },
  collectionMissing: ({ when, workers, isInspected }: ObservedFacts['collectionMissing']): CodedFindingDetail => ({
    code: 'COLLECTION_MISSING',
    message: `${momentText(when)}, ${workers.join(', ')} made no garbage collection when the run asked for it`,
    fix: isInspected
      ? 'end programs that the message names, disconnect debuggers from the workers during the run, and let each URL of `workers.inspect` lead to one process'
      : 'let each control URL lead to one worker only, and update its `instrument(io)`',
  }),
};

/** Text about the effect on the figures if memory was still falling, by the point of the run. */
const CONSEQUENCE: Partial<Record<CheckMoment['at'], string>> = {
  plateau: 'the baseline is too high, and there is no memory per connection',
  wave: 'the wave seems to leave more behind than it does',
  left: 'there is no residual',
};

const OF_PARTS = {
  partsChanged: ({ when, parts, since }: ObservedFacts['partsChanged']): CodedFindingDetail =>
    // The page itself shows the restart by its start time and its counters.
    parts.every(({ name }) => name === METRICS_PAGE)
      ? { code: 'PROCESS_ENDED', message: `${momentText(when)}, ${METRICS_PAGE} had restarted` }
      : {
          code: 'DEPLOYMENT_CHANGED',
          message: `${momentText(when)}, ${parts.map(({ name }) => name).join(' and ')} had changed since ${decimalsText(since, 1)} s: reloaded, replaced or stopped`,
        },
  redisSilent: ({ when, name, failure }: ObservedFacts['redisSilent']): CodedFindingDetail => ({
    code: 'DEPLOYMENT_CHANGED',
    message: `${name} no longer answered ${momentText(when)}: ${failure}`,
  }),
  enginesSilent: ({ requests, hosts }: ObservedFacts['enginesSilent']): CodedFindingDetail => ({
    code: 'GENERATOR_SILENT',
    message: `Artillery's workers${hosts.length > 0 ? ` on ${hosts.join(', ')}` : ''} left ${requests} requests of the run unanswered`,
  }),
  hostLost: ({ host, why }: ObservedFacts['hostLost']): CodedFindingDetail => ({
    code: 'GENERATOR_SILENT',
    message: `generator host ${host} disconnected before the end: ${why}; all of its connections count as lost`,
    fix: 'see the output of Artillery there, and `dmesg`; then repeat the run',
    subject: host,
  }),
  faultFailed: (fact: ObservedFacts['faultFailed']): CodedFindingDetail => {
    const why = 'error' in fact ? fact.error : `${fact.notReplaced.join(', ')} should have been replaced, and was not`;
    return { code: 'FAULT_FAILED', message: `the planned fault did not happen as planned: ${why}` };
  },
};

type Finds = { [K in ObservedKind]: (fact: ObservedFacts[K]) => CodedFindingDetail };

const FINDS: Finds = { ...COUNT_FINDINGS, ...OF_PARTS, ...OF_CLIENTS, ...OF_READINGS };

/** Groups of kinds of observations. All observations in a group usually have the same cause. */
const GROUPS: readonly (readonly ObservedKind[])[] = [WRONG_COUNTS, WRONG_ADDRESSES];

/** Converts camel case to words, such as `atLeast` to `at least`. */
const wordsOf = (name: string) => name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);

/** Names and units of the numbers in observations. Numbers without an entry are counts. */
const NAMED: Record<string, { name?: string; unit: string }> = {
  seconds: { unit: 's' },
  since: { name: 'last seen unchanged', unit: 's' },
} satisfies { [K in keyof (ObservedFacts['partsChanged'] & ObservedFacts['memoryFalls'])]?: object };

/** Returns the finding of an observation. The observation's numbers become the values of the finding. */
export function findingOfObservation<K extends ObservedKind>(kind: K, fact: ObservedFacts[K]): CodedFindingDetail {
  const counts = Object.entries(fact).flatMap(([key, value]) => {
    const { name = wordsOf(key), unit = '' } = NAMED[key] ?? {};
    return typeof value === 'number' ? findingValues({ [name]: value }, unit) : [];
  });
  const { values: more = [], ...detail } = FINDS[kind](fact);
  const values = [...counts, ...('when' in fact ? momentValues(fact.when) : []), ...more];
  return values.length > 0 ? { ...detail, values } : detail;
}

/** Returns the findings in the order in which they were observed, with one finding for each group. */
export function observedFindings({ all }: Observations): CodedFindingDetail[] {
  const groupOf = (kind: ObservedKind) => GROUPS.find((kinds) => kinds.includes(kind));
  return all
    .filter(({ kind }, index) => {
      const group = groupOf(kind);
      return group === undefined || all.findIndex((one) => group.includes(one.kind)) === index;
    })
    .map(({ kind, fact }) => findingOfObservation(kind, fact as never));
}
