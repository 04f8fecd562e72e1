/** All reasons for a verdict other than VALID. docs/reference/errors.md is made from them: npm run docs:reference */
import type { Blame } from '../documents/search.ts';
import type { Code } from './code.ts';

/** What a run answers. */
export const ANSWERS = ['connections', 'memory', 'delivery', 'latency', 'cpu'] as const;
export type Answer = (typeof ANSWERS)[number];

interface Definition extends Code {
  /** Answers whose figures are not to be used. `run`: none is, and the verdict is INVALID; with any other it is SUSPECT. */
  invalidates: readonly (Answer | 'run')[];
  /** Whose limit it shows. */
  blame: Blame;
  /** Reasons that say nothing new beside this one: the verdict leaves them out. */
  causes?: readonly string[];
}

/** A code for each thing that a person does about it. Causes come before what they cause, as in the verdict. */
const REASONS = {
  // The run
  RUN_INCOMPLETE: {
    meaning: 'the run ended early: it was stopped, a measurement failed, or the virtual users left before the end',
    remedy: 'let the run come to its end, and end the flow with `hold: true`',
    invalidates: ['run'],
    blame: 'deployment',
  },
  FAULT_FAILED: {
    meaning: 'the planned fault did not happen, or not as planned',
    remedy: 'see the log of what the fault was to hit',
    invalidates: ['run'],
    blame: 'measurement',
  },

  // The generator
  MACHINE_SATURATED: {
    meaning:
      "less than 10 % of the generator's machine was idle in a window, and one of its threads waited for a CPU for more than 20 % of its runnable time: times and rates are those of the machine",
    remedy: 'give the generator its own machine, add cores to this one, or lower the rate',
    invalidates: ['latency'],
    blame: 'machine',
  },
  GENERATOR_THROTTLED: {
    meaning:
      "the generator's container used up its CPU quota in more than 5 % of the periods of a window: times and rates are those of the quota",
    remedy:
      'raise the CPU limit of the container (`docker run --cpus`, Kubernetes `resources.limits.cpu`), or lower the load',
    invalidates: ['latency'],
    blame: 'machine',
  },
  SWAPPING: {
    meaning: "the generator's machine swapped more than 1 MB in or out: swapped-out memory is missing from every layer",
    remedy: 'run `swapoff -a`, add memory, or use fewer connections',
    invalidates: ['memory', 'latency'],
    blame: 'machine',
  },
  GENERATOR_SILENT: {
    meaning:
      'a generator host, a worker of Artillery or a fleet process stopped answering, so what its connections received is unknown',
    remedy: 'see its output and `dmesg`, give the generator more CPU and memory, and repeat the run',
    invalidates: ['run'],
    blame: 'generator',
  },
  FLEET_PROCESS_DIED: {
    meaning: 'a fleet process of the generator died: its connections count as lost',
    remedy: 'see `dmesg` for out-of-memory kills, and give the generator more memory',
    invalidates: ['connections', 'delivery'],
    blame: 'generator',
  },
  GENERATOR_LATE: {
    meaning:
      'the generator was late: event loops or messages by more than 50 ms (99 %) or a whole period, receivers behind the reference receiver, or one stall behind half of the longest times',
    remedy: 'give the generator its own cores or its own machine, or lower the load',
    invalidates: ['latency'],
    blame: 'generator',
  },
  USERS_SKIPPED: {
    meaning: 'Artillery skipped virtual users, because as many as `maxVusers` were present',
    remedy: 'raise `maxVusers`, or lower the arrivals',
    invalidates: ['connections'],
    blame: 'measurement',
  },

  // The deployment
  WORKERS_THROTTLED: {
    meaning: "a worker's container used up its CPU quota in more than 5 % of the periods of a window",
    remedy: 'raise the CPU limit of that container, or take the figures as those of this limit',
    invalidates: [],
    blame: 'deployment',
  },
  DEPLOYMENT_CHANGED: {
    meaning: 'a worker, the proxy, Redis or PM2 was restarted, replaced or stopped during the run, other than planned',
    remedy: 'see its log, and leave the deployment alone during a run',
    invalidates: ['run'],
    blame: 'deployment',
    causes: ['READINGS_MISSING'],
  },
  WORKER_URLS_WRONG: {
    meaning: 'the control URLs or the pages of metrics do not lead to every worker exactly once',
    remedy:
      'list control URL or metrics of every worker once (not of a load balancer), and give each worker its own name',
    invalidates: ['run'],
    blame: 'measurement',
    causes: ['WORKERS_DISAGREE', 'READINGS_MISSING'],
  },
  STATISTICS_STALE: {
    meaning: 'a worker or a page of metrics repeated old figures',
    remedy: 'see the log of the worker; read the server itself, without a cache or gateway in between',
    invalidates: ['run'],
    blame: 'measurement',
    causes: ['WORKERS_DISAGREE'],
  },
  WORKERS_DISAGREE: {
    meaning: 'the workers count more or fewer connections than the generator holds',
    remedy: 'measure a server that has no other users, and list every worker in `control.urls`',
    invalidates: ['run'],
    blame: 'deployment',
  },
  SERVER_NOT_IDLE: {
    meaning:
      'when memory without connections was read, the server had other connections, or its memory still fell after 20 s',
    remedy: 'measure a server that has no other users, and let it come to rest before the run',
    invalidates: ['memory'],
    blame: 'measurement',
  },
  IMPOSSIBLE_REPORT: {
    meaning: 'the server reported times or broadcasts that the measurements of the run rule out',
    remedy: "let `instrument(io)`, in the run's version, answer control requests and `broadcast_echo`",
    invalidates: ['run'],
    blame: 'measurement',
  },

  // Connections
  LIMIT_REACHED: {
    meaning:
      '1 % of the connections or more failed or are missing because of a configured limit: nine in ten failures are of one limit, or three fleet processes stopped at the same number',
    remedy:
      'raise the limit that the message names: `npx socketio-capacity doctor <scenario>` shows those of this machine',
    invalidates: ['connections'],
    blame: 'deployment',
  },
  NO_CONNECTIONS: {
    meaning: 'no connection was made',
    remedy: 'see the causes in `connections.failures`',
    invalidates: ['run'],
    blame: 'deployment',
  },
  CLIENTS_REFUSED: {
    meaning: 'the server lets the run’s own clients in as little as a stranger, so what they measure is missing',
    remedy: 'name a scenario that they can come by in the option `clients`',
    invalidates: [],
    blame: 'deployment',
  },
  CONNECTIONS_FAILED: {
    meaning: 'connections or virtual users failed',
    remedy: 'see the causes in `connections.failures`, and the log of the server',
    invalidates: [],
    blame: 'deployment',
  },
  CONNECTIONS_DROPPED: {
    meaning:
      'open connections, or namespaces of them, ended before the run released them: for good, or until they came back',
    remedy: 'see the logs of the workers and of the proxy at that time',
    invalidates: [],
    blame: 'deployment',
  },
  NOT_UPGRADED: {
    meaning: 'connections that begin with polling did not upgrade to WebSocket',
    remedy: 'let proxy and server accept WebSocket, and route all requests of a session to the same worker',
    invalidates: [],
    blame: 'deployment',
  },
  RATE_NOT_REACHED: {
    meaning: 'less than 95 % of the configured connections per second was reached',
    remedy: 'lower `RATE`, or give the machine more cores',
    invalidates: [],
    blame: 'deployment',
  },
  TARGET_NOT_REACHED: {
    meaning: 'virtual users that stay were not all connected at the same time, or not all had joined 30 s after a ramp',
    remedy: 'see `connections.failures`; lower `RATE`; let every flow join, and end with `hold: true`',
    invalidates: [],
    blame: 'deployment',
  },

  // Broadcasts and messages
  NOBODY_JOINED: {
    meaning: 'no connection had joined the room of the broadcasts when they were sent',
    remedy:
      "let the flow emit `join_room` with the plugin's `room`, and the server acknowledge it with that room, or without one",
    invalidates: ['delivery', 'latency'],
    blame: 'measurement',
  },
  MEMBERS_DISAGREE: {
    meaning: 'the server counted more or fewer members of the room than the generator',
    remedy: 'connect all workers with one adapter, and give the run its own room',
    invalidates: ['run'],
    blame: 'deployment',
  },
  DELIVERY_EVENT_MISSING: {
    meaning: 'no copy of the event that `delivery` names arrived while it was measured',
    remedy:
      'check the name of the event, and what a connection must do to get it; without `publish`, measure for longer',
    invalidates: ['run'],
    blame: 'deployment',
  },
  IDS_NOT_SHARED: {
    meaning: 'nearly all ids at `delivery.id` came to one connection only: they tell copies apart, not broadcasts',
    remedy: 'name the place of an id that all copies of a broadcast share, or count an event that goes to everybody',
    invalidates: ['run'],
    blame: 'measurement',
  },
  IDS_NOT_COUNTED: {
    meaning: 'more broadcasts of the event came than the ledgers have room for (64 MB in each process)',
    remedy: 'measure for a shorter time, or count an event that comes less often',
    invalidates: ['delivery'],
    blame: 'measurement',
  },
  AUDIENCE_DIFFERS: {
    meaning:
      'broadcast after broadcast of the event went to the same part of the connections; the others count as having lost it',
    remedy:
      'let all connections join the room and namespace that the server sends to; or see why its processes do not pass broadcasts on',
    invalidates: ['delivery'],
    blame: 'measurement',
  },
  SENT_AT_UNUSABLE: {
    meaning:
      'the times at `delivery.sentAt` are no times, too coarse, or from a clock that disagrees, so no latency uses them',
    remedy: "set the server's clock, or leave `delivery.sentAt` out",
    invalidates: ['latency'],
    blame: 'measurement',
  },
  BROADCASTS_NOT_SENT: {
    meaning: 'broadcasts that the run asked for did not leave the server, or nobody received them',
    remedy: 'see the logs of server and proxy, and their time-outs',
    invalidates: [],
    blame: 'deployment',
  },
  BROADCASTS_LATE: {
    meaning:
      'more than a tenth of the broadcasts left late, by more than 50 ms and half of their interval: they left in bursts',
    remedy: 'raise the interval of the broadcasts, or give workers and generator more CPU',
    invalidates: ['latency'],
    blame: 'deployment',
  },
  WRONG_COPIES: {
    meaning:
      'copies came twice, after the drain, outside of the room, changed, unreadable, or of broadcasts that the run did not send',
    remedy: 'give the run its own room and event; find what repeats, delays or changes messages on the way',
    invalidates: ['delivery'],
    blame: 'deployment',
  },
  MESSAGES_DISAGREE: {
    meaning: 'the server handled or acknowledged messages that no connection sent, or some of them twice',
    remedy: 'let the server, with its middlewares (`socket.use`), handle and acknowledge each message once',
    invalidates: ['delivery'],
    blame: 'measurement',
  },
  PROBE_INCOMPLETE: {
    meaning: 'the probe or the reference receiver lost its connection or got no answer',
    remedy: 'see the logs of the workers: the server refuses or drops connections, or answers late',
    invalidates: ['latency'],
    blame: 'deployment',
  },
  CLOCK_UNCERTAIN: {
    meaning: 'the clocks of other hosts are known less precisely than to 1 ms and to a tenth of the median latency',
    remedy: 'move the generator nearer to the workers, or use the round trips, which need a single clock',
    invalidates: ['latency'],
    blame: 'measurement',
  },

  // Memory
  READINGS_MISSING: {
    meaning:
      'readings of memory or CPU are missing: a source stopped answering or gave an impossible CPU time, or more than 5 % of the samples or five in a row were not taken',
    remedy: 'let the source answer during the whole run, and give the generator enough CPU to read it',
    invalidates: ['memory', 'cpu'],
    blame: 'measurement',
  },
  COLLECTION_MISSING: {
    meaning: 'a worker confirmed a garbage collection but made none, so memory at rest is unknown',
    remedy: 'let the control URL lead to this worker only, and update its `instrument(io)`',
    invalidates: ['memory'],
    blame: 'measurement',
  },
  PLATEAU_MOVED: {
    meaning: 'connections came, left or remained when memory was to be read',
    remedy: 'make the pauses between ramps or after waves longer',
    invalidates: ['memory'],
    blame: 'measurement',
  },
  TOO_FEW_PLATEAUS: {
    meaning:
      'memory was read at fewer than three numbers of connections, zero included: bytes per connection have no interval',
    remedy: 'use two ramps or more, with a `pause` phase after each',
    invalidates: ['memory'],
    blame: 'measurement',
  },
  MEMORY_NOT_LINEAR: {
    meaning:
      'memory against connections is no straight line: the cost of a connection changes by more than 20 % and its error (99 %)',
    remedy: 'measure with as many connections as you expect, and read the table of plateaus',
    invalidates: ['memory'],
    blame: 'measurement',
  },
  MEMORY_GROWS: {
    meaning:
      'memory grew while connections did not, by more than 20 % of their cost, and no garbage collection freed it: the slope includes that growth',
    remedy:
      'look for a leak (timers, caches, listeners), or for memory that a connection takes later: a longer `hold` shows both',
    invalidates: ['memory'],
    blame: 'measurement',
  },

  // A bug
  ACCOUNTS_MISMATCH: {
    meaning: 'counts of this tool that must add up do not',
    remedy: 'a bug: please report it with the folder of the run',
    invalidates: ['run'],
    blame: 'measurement',
  },
} as const satisfies Record<string, Definition>;

export type ReasonCode = keyof typeof REASONS;

interface ReasonDefinition extends Definition {
  causes?: readonly ReasonCode[];
}

export const VERDICT_REASONS: Record<ReasonCode, ReasonDefinition> = REASONS;

/** In causal order. */
export const REASON_CODES = Object.keys(REASONS) as ReasonCode[];

/** As in the result document, whose schema accepts any code, for documents of other versions. */
export interface Reason {
  code: ReasonCode;
  /** The detail alone: numbers and names. */
  message: string;
  /** In the place of the catalogue's remedy, where more is known. */
  fix?: string;
}

/** @returns the definition; undefined of a code of another version */
export function definitionOf(code: string): ReasonDefinition | undefined {
  return Object.hasOwn(VERDICT_REASONS, code) ? VERDICT_REASONS[code as ReasonCode] : undefined;
}
