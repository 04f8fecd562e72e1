/** All reasons for a verdict other than VALID. docs/reference/errors.md is made from them: npm run docs:reference */
import type { Blame } from '../documents/search.ts';
import { ANSWER_REASONS, type Definition } from './answer-reasons.ts';

/** A code for each thing that a person does about it. Causes come before what they cause, as in the verdict. */
const REASONS = {
  // What all figures rest on
  IMPOSSIBLE_REPORT: {
    meaning: 'the server reported times or broadcasts that cannot be true',
    remedy: "let `instrument(io)`, in the run's version, answer control requests and `broadcast_echo`",
    invalidates: ['run'],
    blame: 'measurement',
    causes: ['MEMBERS_DISAGREE'],
  },
  FAULT_FAILED: {
    meaning: 'the planned fault did not happen, or not as planned',
    remedy: 'see the log of the part that the fault should have hit',
    invalidates: ['run'],
    blame: 'measurement',
  },

  // The generator
  MACHINE_SATURATED: {
    meaning:
      "the generator's machine was less than 10 % idle, and one of its threads waited for a CPU for over 20 % of the time; its container used up its CPU quota in more than 5 % of the periods; or others took half of the CPUs (where something was late: a quarter, or as much as was left idle)",
    remedy: 'give the generator its own machine, add cores or raise its CPU limit, or lower the rate',
    invalidates: ['latency'],
    blame: 'machine',
  },
  SWAPPING: {
    meaning:
      "the generator's machine swapped more than 1 MB, which no layer includes, or programs waited for memory for 10 % of the time",
    remedy: 'run `swapoff -a`, add memory, or use fewer connections',
    invalidates: ['memory', 'latency'],
    blame: 'machine',
    causes: ['READINGS_IMPOSSIBLE'],
  },
  GENERATOR_SILENT: {
    meaning: 'a generator host, a worker of Artillery or a fleet process stopped answering',
    remedy: 'see its output and `dmesg`, and give the generator more CPU and memory',
    invalidates: ['run'],
    blame: 'generator',
  },
  FLEET_PROCESS_DIED: {
    meaning: 'a fleet process of the generator died: what its connections would have shown is unknown',
    remedy: 'see `dmesg` for out-of-memory kills, and give the generator more memory',
    invalidates: ['run'],
    blame: 'generator',
  },
  GENERATOR_FAILED: {
    meaning:
      'connections failed or ended because of the generator: it was out of files, ports or memory, or a part of it died',
    remedy: 'see the causes in `connections.failures` and `connections.lost`',
    invalidates: ['run'],
    blame: 'generator',
  },
  GENERATOR_LATE: {
    meaning:
      'the generator was late: its event loops or messages by over 50 ms, its receivers against the reference receiver, or one stall makes up half of the longest times',
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
    meaning: "a worker's container used up its CPU quota in more than 5 % of the periods",
    remedy: 'raise the CPU limit of that container',
    invalidates: [],
  },
  DEPLOYMENT_CHANGED: {
    meaning:
      'a worker, the proxy, Redis or PM2 restarted or stopped during the run, other than planned; counters that only grow show it, too',
    remedy: 'see its log, and leave the deployment alone during a run',
    invalidates: ['run'],
    causes: ['READINGS_MISSING', 'READINGS_IMPOSSIBLE'],
  },
  RUN_INCOMPLETE: {
    meaning:
      'no connection was made, or the run ended early: somebody stopped it, a measurement failed, or its virtual users left',
    remedy: 'let the run come to its end, and end the flow with `hold: true`',
    invalidates: ['run'],
  },
  WORKER_URLS_WRONG: {
    meaning: 'the control URLs or the pages of metrics do not lead to every worker exactly once, or repeat old figures',
    remedy: 'list every worker once, by an address of its own without a cache in between, and give each its own name',
    invalidates: ['run'],
    blame: 'measurement',
    causes: ['WORKERS_DISAGREE', 'READINGS_MISSING', 'READINGS_IMPOSSIBLE', 'COLLECTION_MISSING', 'PLATEAUS_UNUSABLE'],
  },
  WORKERS_DISAGREE: {
    meaning: 'the workers count more or fewer connections than the generator holds',
    remedy: 'measure a server without other users, and list every worker in `control.urls`',
    invalidates: ['run'],
  },
  SERVER_NOT_IDLE: {
    meaning: 'at a reading without connections, the server had others, or its memory still fell after 20 s',
    remedy: 'measure a server without other users, and let it come to rest before the run',
    invalidates: ['memory'],
    blame: 'measurement',
  },

  // Connections
  LIMIT_REACHED: {
    meaning:
      '1 % of the connections or more failed at a configured limit, or all generator processes stopped at the same number',
    remedy: 'raise the limit that the message names',
    invalidates: ['connections'],
  },
  CLIENTS_REFUSED: {
    meaning: 'the server refused the run’s own clients, so what they measure is missing',
    remedy: 'name a scenario that the server accepts in the option `clients`',
    invalidates: [],
  },
  CONNECTIONS_FAILED: {
    meaning: 'connections or virtual users failed',
    remedy: 'see the causes in `connections.failures`, and the log of the server',
    invalidates: [],
  },
  CONNECTIONS_DROPPED: {
    meaning: 'connections or namespaces ended before the run released them, even if they came back',
    remedy: 'see the logs of the workers and of the proxy at that time',
    invalidates: [],
  },
  NOT_UPGRADED: {
    meaning: 'connections that begin with polling did not upgrade to WebSocket',
    remedy: 'let proxy and server accept WebSocket, and route all requests of a session to the same worker',
    invalidates: [],
  },
  RATE_NOT_REACHED: {
    meaning: 'the run made less than 95 % of the configured connections per second',
    remedy: 'lower `RATE`, or give the machine more cores',
    invalidates: [],
  },
  TARGET_NOT_REACHED: {
    meaning: 'not all virtual users were connected at the same time, or some had not joined 30 s after a ramp',
    remedy: 'see `connections.failures`; lower `RATE`; let every flow join, and end with `hold: true`',
    invalidates: [],
  },

  ...ANSWER_REASONS,
} as const satisfies Record<string, Definition>;

export type ReasonCode = keyof typeof REASONS;

interface ReasonDefinition extends Definition {
  blame: Blame;
  causes?: readonly ReasonCode[];
}

/** In causal order. */
export const REASON_CODES = Object.keys(REASONS) as ReasonCode[];

export const VERDICT_REASONS = Object.fromEntries(
  Object.entries<Definition>(REASONS).map(([code, reason]) => [code, { blame: 'deployment', ...reason }]),
) as Record<ReasonCode, ReasonDefinition>;

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
