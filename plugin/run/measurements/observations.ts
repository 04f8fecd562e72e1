/** Observations of a run beside its figures: numbers and names by kind. `plugin/findings/` makes the findings from them. */
import type { ChangedPart } from './deployment-parts.ts';

/** Point of a run at which the deployment is checked. */
export interface Moment {
  /** `plateau`, `wave` and `reading` have a `count`: connections, number of the wave, seconds since the first reading. */
  at: 'begin' | 'plateau' | 'wave' | 'reading' | 'before fault' | 'after fault' | 'broadcasts' | 'left' | 'stop';
  count?: number;
}

/** Part of a deployment whose identity only its metrics tell. */
export const METRICS_PAGE = 'a process behind a page of metrics';
/** Part of a deployment that changes if one of its processes starts or ends. */
export const SERVER_PROCESSES = "the server's processes";

/** Numbers and names of each kind of observation. Connections are counts, `held` those of the generator. */
export interface Observed {
  connectionsBefore: { others: number };
  countsDiffer: {
    when: Moment;
    /** The workers' count without `own` connections of the run and those from `before` it; these are part of `all`. */
    counted: number;
    held: number;
    all: number;
    own: number;
    before: number;
    /** Connections of the run that had ended. */
    ended: number;
    /** The workers accepted more connections than the run made. */
    acceptedOthers: boolean;
    /** The workers accepted all connections that the run made. */
    acceptedAll: boolean;
    /** The adapter's count, if the workers count fewer connections than are held. */
    servers: number | undefined;
    controlled: number;
  };
  othersAccepted: { when: Moment; connections: number };
  socketsMissing: { when: Moment; sockets: number; held: number };
  othersAtPort: { when: Moment; others: number; held: number };
  /** The workers used no CPU time since `connections`. */
  cpuStill: { when: Moment; connections: number };
  joinsMisnamed: { workers: { worker: string; connections: number; named: number }[] };
  endsUnnoticed: { when: Moment; connections: number };
  statisticsRepeated: { when: Moment; workers: string[] };
  pagesRepeated: { when: Moment; what: string; urls: string[]; connections: number };
  pagesShared: { pairs: [string, string][] };
  pagesAlternate: { when: Moment; urls: string[] };

  /** `since`: when they were last unchanged, on the sampler's time. */
  partsChanged: { when: Moment; parts: ChangedPart[]; since: number };
  redisSilent: { when: Moment; name: string; failure: string };
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
  clientsRefused: { error: string; fix: string; lost: string[] };
  sentinelRefused: { error: string; fix: string };
  sentinelLost: { joinError: string } | { broadcasts: number } | { ended: string };
  roundTripsMissing: { load: 'single' | 'underLoad'; missing: number; asked: number; why: string };
  messagesDiffer: { handled: number; atLeast: number; atMost: number };
  acknowledgementsCut: { unanswered: number };

  waveStayed: { wave: number; connections: number };
  wavesOverlap: { when: Moment };
  plateauMoved: { from: number; to: number };
  /** `bytes` since the reading before, after `seconds`. */
  memoryFalls: { when: Moment; seconds: number; falls: { title: string; bytes: number }[] };
  collectionMissing: { when: Moment; workers: string[] };
}

export type ObservedKind = keyof Observed;

/** Counts that are not of the generator's connections. One of them is enough: the others are about the same connections. */
export const WRONG_COUNTS = [
  ...(['countsDiffer', 'othersAccepted', 'socketsMissing', 'othersAtPort', 'cpuStill', 'joinsMisnamed'] as const),
] as const satisfies ObservedKind[];

/** Addresses that do not lead to every worker exactly once, now. */
export const WRONG_ADDRESSES = [
  ...(['statisticsRepeated', 'pagesRepeated', 'pagesShared', 'pagesAlternate'] as const),
] as const satisfies ObservedKind[];

export class Observations {
  readonly #byKey = new Map<string, { [K in ObservedKind]: { kind: K; fact: Observed[K] } }[ObservedKind]>();

  /** Keeps the first observation of a kind and subject: what is wrong at one moment is usually wrong at the next ones. */
  note<K extends ObservedKind>(kind: K, fact: Observed[K], subject: string | number = ''): void {
    const key = `${kind} ${subject}`;
    if (!this.#byKey.has(key)) this.#byKey.set(key, { kind, fact } as never);
  }

  has(...kinds: ObservedKind[]): boolean {
    return kinds.some((kind) => this.of(kind).length > 0);
  }

  of<K extends ObservedKind>(kind: K): Observed[K][] {
    return this.all.flatMap((one) => (one.kind === kind ? [one.fact as Observed[K]] : []));
  }

  /** Returns the observations in the order of time. */
  get all() {
    return [...this.#byKey.values()];
  }
}
