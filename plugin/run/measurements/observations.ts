/** Facts that a run notes in addition to its figures, by kind. `plugin/findings/` makes findings from them. */
import type { ChangedPart } from './worker-identity.ts';

/** Point of a run at which the deployment is checked. */
export interface Moment {
  /** `plateau`, `wave` and `reading` have a `count`: connections, number of the wave, seconds since the first reading. */
  at: 'begin' | 'plateau' | 'wave' | 'reading' | 'before fault' | 'after fault' | 'broadcasts' | 'left' | 'stop';
  count?: number;
}

/** Part of a deployment that only its metrics identify. */
export const METRICS_PAGE = 'a process behind a page of metrics';
/** Part of a deployment that changes when one of its processes exits. */
export const SERVER_PROCESSES = "the server's processes";

/** Facts by kind. `held` is the generator's number of connections. */
export interface Observed {
  connectionsBefore: { others: number };
  countsDiffer: {
    when: Moment;
    /** The workers' count `all`, less the run's `own` clients and connections from `before` the run. */
    counted: number;
    held: number;
    all: number;
    own: number;
    before: number;
    /** Connections of the run that had closed. */
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
  /** The workers have used no CPU time since the number of connections was `connections`. */
  cpuStill: { when: Moment; connections: number };
  joinsMisnamed: { workers: { worker: string; connections: number; named: number }[] };
  endsUnnoticed: { when: Moment; connections: number };
  statisticsRepeated: { when: Moment; workers: string[] };
  pagesRepeated: { when: Moment; what: string; urls: string[]; connections: number };
  pagesShared: { pairs: [string, string][] };
  pagesAlternate: { when: Moment; urls: string[] };

  /** `since`: last check at which the parts were unchanged, in seconds of the sampler. */
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
  /** `cause` and `words` are the failure code and its text, as of the virtual users. */
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
  wavesOverlap: { when: Moment };
  plateauMoved: { from: number; to: number };
  /** `falls`: decrease since the reading before, when the time limit of `seconds` passed. */
  memoryFalls: { when: Moment; seconds: number; falls: { title: string; bytes: number }[] };
  /** `isInspected`: the run collects by `workers.inspect`, not by control ports. */
  collectionMissing: { when: Moment; workers: string[]; isInspected: boolean };
}

export type ObservedKind = keyof Observed;

/** Kinds that mean that counts include other connections. Only the first is reported, as further ones have the same cause. */
export const WRONG_COUNTS = [
  ...(['countsDiffer', 'othersAccepted', 'socketsMissing', 'othersAtPort', 'cpuStill', 'joinsMisnamed'] as const),
] as const satisfies ObservedKind[];

/** Kinds that mean that addresses do not lead to every worker exactly once, or not to current figures. */
export const WRONG_ADDRESSES = [
  ...(['statisticsRepeated', 'pagesRepeated', 'pagesShared', 'pagesAlternate'] as const),
] as const satisfies ObservedKind[];

export class Observations {
  readonly #byKey = new Map<string, { [K in ObservedKind]: { kind: K; fact: Observed[K] } }[ObservedKind]>();

  /** Keeps the first fact of a kind and subject, as later ones usually repeat it. */
  note<K extends ObservedKind>(kind: K, fact: Observed[K], subject: string | number = ''): void {
    const key = `${kind} ${subject}`;
    if (!this.#byKey.has(key)) this.#byKey.set(key, { kind, fact } as never);
  }

  has(...kinds: ObservedKind[]): boolean {
    return kinds.some((kind) => this.of(kind).length > 0);
  }

  of<K extends ObservedKind>(kind: K): Observed[K][] {
    return this.all.flatMap((noted) => (noted.kind === kind ? [noted.fact as Observed[K]] : []));
  }

  /** All facts in order of time. */
  get all() {
    return [...this.#byKey.values()];
  }
}
