/**
 * Facts that a run records in addition to its figures, by kind. `plugin/findings/` converts them to findings (problems
 * that a report lists).
 */
import type { ChangedPart } from './worker-identity.ts';

/** Point in a run at which it checks the deployment. */
export interface CheckMoment {
  /** Number of connections at a plateau, number of the wave, or seconds since the first memory reading. */
  at: 'begin' | 'plateau' | 'wave' | 'reading' | 'before fault' | 'after fault' | 'broadcasts' | 'left' | 'stop';
  count?: number;
}

/** Name of a process that the run knows only by its metrics page. */
export const METRICS_PAGE = 'a process behind a page of metrics';
/** Name of all processes of the server together. Their common identity changes when any of them exits. */
export const SERVER_PROCESSES = "the server's processes";

/** Facts by kind of fact. `held` is the number of connections that the generator holds. */
export interface ObservedFacts {
  connectionsBefore: { others: number };
  countsDiffer: {
    when: CheckMoment;
    /**
     * Number of this run's connections by the workers' count. It is the whole count `all`, less the run's `own` clients
     * and the connections from `before` the run.
     */
    counted: number;
    held: number;
    all: number;
    own: number;
    before: number;
    /** Number of this run's connections that had closed before the check. */
    ended: number;
    /** Whether the workers accepted more connections than the run opened. */
    acceptedOthers: boolean;
    /** Whether the workers accepted all connections that the run opened. */
    acceptedAll: boolean;
    /**
     * Number of servers that the adapter reports. Only set if the workers count fewer connections than the generator.
     */
    servers: number | undefined;
    controlled: number;
  };
  othersAccepted: { when: CheckMoment; connections: number };
  socketsMissing: { when: CheckMoment; sockets: number; held: number };
  othersAtPort: { when: CheckMoment; others: number; held: number };
  /** The workers have used no CPU time since the generator held `connections` connections. */
  cpuStill: { when: CheckMoment; connections: number };
  joinsMisnamed: { workers: { worker: string; connections: number; named: number }[] };
  endsUnnoticed: { when: CheckMoment; connections: number };
  statisticsRepeated: { when: CheckMoment; workers: string[] };
  pagesRepeated: { when: CheckMoment; what: string; urls: string[]; connections: number };
  pagesShared: { pairs: [string, string][] };
  pagesAlternate: { when: CheckMoment; urls: string[] };

  /** `since`: time of the last check before the change, in seconds since the start of the sampler. */
  partsChanged: { when: CheckMoment; parts: ChangedPart[]; since: number };
  redisSilent: { when: CheckMoment; name: string; failure: string };
  enginesSilent: { requests: number; hosts: string[] };
  hostLost: { host: string; why: string };
  faultFailed: { error: string } | { notReplaced: string[] };

  usersUnsettled: {
    arrivals: number;
    seconds: number;
    notStarted: number;
    connecting: number;
    joining: number;
    away: number;
  };
  connectionsStayed: { connections: number; seconds: number };
  warmUpFailed: { error: string; connections: number };
  /** `cause` and `words`: failure code and text, with the same codes as for virtual users. */
  clientsRefused: {
    error: string;
    fix: string;
    lost: string[];
    cause?: string | undefined;
    words?: string | undefined;
  };
  sentinelRefused: { error: string; fix: string };
  sentinelLost: { joinError: string } | { broadcasts: number } | { ended: string };
  roundTripsMissing: { load: 'single' | 'underLoad'; missing: number; asked: number; why: string };
  messagesDiffer: { handled: number; atLeast: number; atMost: number };
  acknowledgementsCut: { unanswered: number };

  waveEmpty: { wave: number };
  waveStayed: { wave: number; connections: number };
  wavesOverlap: { when: CheckMoment };
  plateauMoved: { from: number; to: number };
  /** `falls`: how much the memory fell since the previous reading, when the time limit of `seconds` passed. */
  memoryFalls: { when: CheckMoment; seconds: number; falls: { title: string; bytes: number }[] };
  /** `isInspected`: whether the run forces garbage collections through `workers.inspect`, not control ports. */
  collectionMissing: { when: CheckMoment; workers: string[]; isInspected: boolean };
}

export type ObservedKind = keyof ObservedFacts;

/**
 * Kinds of facts that show that the connection counts include other connections. Only the first fact is reported,
 * because further facts have the same cause.
 */
export const WRONG_COUNTS = [
  ...(['countsDiffer', 'othersAccepted', 'socketsMissing', 'othersAtPort', 'cpuStill', 'joinsMisnamed'] as const),
] as const satisfies ObservedKind[];

/** Kinds of facts that show that some control URLs lead to no worker, to the same worker, or to outdated values. */
export const WRONG_ADDRESSES = [
  ...(['statisticsRepeated', 'pagesRepeated', 'pagesShared', 'pagesAlternate'] as const),
] as const satisfies ObservedKind[];

export class Observations {
  readonly #byKey = new Map<string, { [K in ObservedKind]: { kind: K; fact: ObservedFacts[K] } }[ObservedKind]>();

  /** Records a fact. Keeps only the first fact of a kind and subject, because later facts usually repeat it. */
  note<K extends ObservedKind>(kind: K, fact: ObservedFacts[K], subject: string | number = ''): void {
    const key = `${kind} ${subject}`;
    if (!this.#byKey.has(key)) this.#byKey.set(key, { kind, fact } as never);
  }

  has(...kinds: ObservedKind[]): boolean {
    return kinds.some((kind) => this.of(kind).length > 0);
  }

  of<K extends ObservedKind>(kind: K): ObservedFacts[K][] {
    return this.all.flatMap((noted) => (noted.kind === kind ? [noted.fact as ObservedFacts[K]] : []));
  }

  /** All facts, in the order in which they were recorded. */
  get all() {
    return [...this.#byKey.values()];
  }
}
