/** Describes connection counts from workers, kernel and metrics pages that differ from the generator's count. */
import { type FindingValue, findingValues } from '../../../../protocol/result/findings.ts';
import { countText } from '../../../../report/text/format.ts';
import type { CheckMoment, ObservedFacts } from '../../../run/measurements/observations.ts';
import type { CodedFindingDetail } from '../../check.ts';

const WRONG_COUNT = 'find what the server counts as a connection: the count itself is wrong';
const OTHER_USERS = 'measure a server that has no other users';

export const COUNT_FINDINGS = {
  connectionsBefore: ({ others }: ObservedFacts['connectionsBefore']): CodedFindingDetail => ({
    code: 'SERVER_NOT_IDLE',
    message: `connections that existed before the run, and are in the baseline: ${others}`,
    fix: OTHER_USERS,
  }),
  countsDiffer: (fact: ObservedFacts['countsDiffer']): CodedFindingDetail => ({
    code: 'WORKERS_DISAGREE',
    ...(fact.counted > fact.held ? tooMany(fact) : tooFew(fact)),
  }),
  othersAccepted: ({ when, connections }: ObservedFacts['othersAccepted']): CodedFindingDetail => ({
    code: 'WORKERS_DISAGREE',
    message: `${momentText(when)}, the workers had accepted ${connections} connections that the generator did not make`,
    fix: OTHER_USERS,
  }),
  socketsMissing: ({ when, sockets, held }: ObservedFacts['socketsMissing']): CodedFindingDetail => ({
    code: 'WORKERS_DISAGREE',
    message: `${momentText(when)}, the processes of the server have ${sockets} sockets and files more than before the load, and the generator holds ${held} connections: other processes hold the rest`,
    fix: 'name all processes of the server: those of every worker, or the one that starts them',
  }),
  othersAtPort: ({ when, others, held }: ObservedFacts['othersAtPort']): CodedFindingDetail => ({
    code: 'WORKERS_DISAGREE',
    message: `${momentText(when)}, the target had ${others} connections beside the ${held} of the generator`,
    fix: OTHER_USERS,
  }),
  cpuStill: ({ when, connections }: ObservedFacts['cpuStill']): CodedFindingDetail => ({
    code: 'WORKERS_DISAGREE',
    message: `${momentText(when)}, the workers had used no CPU time since ${connections} connections: other processes hold the connections`,
    fix: 'name the processes of the server: ss -tlnp names those of its port',
  }),
  joinsMisnamed: ({ workers }: ObservedFacts['joinsMisnamed']): CodedFindingDetail => ({
    code: 'WORKERS_DISAGREE',
    values: workers.flatMap(({ worker, connections, named }) =>
      findingValues({ [`connections of ${worker}`]: connections, [`joins with ${worker}`]: named }),
    ),
    message: `after the broadcasts, ${workers
      .map(
        ({ worker, connections, named }) => `${worker} counts ${connections} connections, joins name it for ${named}`,
      )
      .join('; ')}`,
    fix: 'let the server acknowledge `join_room` with the worker that holds the connection, named as in `instrument(io)`',
  }),
  endsUnnoticed: ({ when, connections }: ObservedFacts['endsUnnoticed']): CodedFindingDetail => ({
    code: 'PLATEAUS_UNUSABLE',
    message: `${momentText(when)}, the workers still count ${connections} closed connections`,
    fix: 'find what drops packets silently: a firewall, NAT or connection tracking that forgets idle connections; a server notices by `pingInterval` and `pingTimeout`',
  }),
  statisticsRepeated: ({ when, workers }: ObservedFacts['statisticsRepeated']): CodedFindingDetail => ({
    code: 'WORKER_URLS_WRONG',
    message: `${momentText(when)}, ${workers.join(', ')} sent the same statistics as before`,
    fix: 'let control reach the server itself: a cache or a gateway in between repeats old statistics',
  }),
  pagesRepeated: ({ when, what, urls, connections }: ObservedFacts['pagesRepeated']): CodedFindingDetail => ({
    code: 'WORKER_URLS_WRONG',
    message: `${momentText(when)}, ${urls.join(' and ')} had the same ${what} as at ${connections}`,
    fix: 'read the metrics of the server itself: a cache or a gateway in between repeats old ones',
  }),
  pagesShared: ({ pairs }: ObservedFacts['pagesShared']): CodedFindingDetail => ({
    code: 'WORKER_URLS_WRONG',
    message: `two pages of metrics showed the same process whenever memory was read: ${pairs.map((pair) => pair.join(' and ')).join('; ')}`,
    fix: 'name the page of each process once in `workers.prometheus`',
  }),
  pagesAlternate: ({ when, urls }: ObservedFacts['pagesAlternate']): CodedFindingDetail => ({
    code: 'WORKER_URLS_WRONG',
    message: `${momentText(when)}, several processes had answered in turn at ${urls.join(' and ')}`,
    fix: 'give each process a port of its own for its metrics, and list them all in `prometheus`',
  }),
};

function tooMany(fact: ObservedFacts['countsDiffer']) {
  const { ended, acceptedOthers } = fact;
  if (acceptedOthers) return { message: countsText(fact), fix: OTHER_USERS };
  const ends = ended > 0 ? `only ${ended}` : 'none';
  return {
    message: `${countsText(fact)}; ${ends} of the run's connections ended, and the workers accepted no others`,
    fix: WRONG_COUNT,
  };
}

function tooFew(fact: ObservedFacts['countsDiffer']) {
  const { servers, controlled, acceptedAll } = fact;
  if (acceptedAll) return { message: `${countsText(fact)}; they accepted all that the run made`, fix: WRONG_COUNT };
  if (servers !== undefined && servers <= controlled)
    return {
      message: `${countsText(fact)}; the adapter counts ${servers} servers, and the run controls all of them`,
      fix: 'find which connections the workers do not count: see their logs',
    };
  return {
    message: countsText(fact),
    fix: 'name every worker in `control.urls`; a worker that is missing there holds connections that are not measured',
  };
}

/**
 * Describes how many connections the workers count. The text contains no number if the workers count fewer connections
 * than the run's own clients.
 */
function countsText({ when, counted, held, all, own, before }: ObservedFacts['countsDiffer']): string {
  const others = before > 0 ? ` and ${before} from before it` : '';
  const connections =
    counted < 0
      ? `${all} connections in all, fewer than the ${own} of the run itself${others}`
      : `${counted} connections`;
  return `${momentText(when)}, the workers count ${connections}, the generator ${held}`;
}

/** Texts for the point of the run at which something was observed. */
const TEXTS: Record<CheckMoment['at'], (count: number) => string> = {
  begin: () => 'before the load',
  plateau: (count) => (count === 0 ? 'while no connection was open' : `at ${countText(count, 'connection')}`),
  wave: (count) => `after wave ${count}`,
  reading: (count) => `after ${count} s`,
  'before fault': () => 'just before the planned fault',
  'after fault': () => 'after the planned fault',
  broadcasts: () => 'after the broadcasts',
  left: () => 'after all connections had closed',
  stop: () => 'when the run stopped',
};

export function momentText({ at, count = 0 }: CheckMoment): string {
  return TEXTS[at](count);
}

/** Returns the first number in the text for the point of the run, as a value of a finding. */
export function momentValues({ at, count = 0 }: CheckMoment): FindingValue[] {
  if (at === 'plateau') return findingValues({ 'connections of the plateau': count });
  if (at === 'wave') return findingValues({ wave: count });
  return at === 'reading' ? findingValues({ 'time of the reading': count }, 's') : [];
}
