/** All findings that a run can report. `npm run docs:reference` generates docs/reference/errors.md from this list. */
import type { FindingSubject } from '../result/findings.ts';
import { ANSWER_FINDINGS, type Definition } from './answer-codes.ts';

/**
 * Catalogue with one code for each action that the user can take. A cause comes before its consequences, and a result
 * lists its findings in this order.
 */
const CATALOGUE = {
  // Findings that concern all figures.
  IMPOSSIBLE_REPORT: {
    meaning: 'the server reported impossible times or broadcasts',
    remedy: "let `instrument(io)`, in the run's version, answer control requests and `broadcast_echo`",
    invalidates: ['run'],
    about: 'measurement',
  },
  FAULT_FAILED: {
    meaning: 'the planned fault did not happen as planned',
    remedy: 'see the log of the part that the fault should have hit',
    invalidates: ['run'],
    about: 'measurement',
  },

  SOURCE_UNREADABLE: {
    meaning: 'a control port, page of metrics or Redis stopped answering; later figures are missing',
    remedy: 'keep the source readable during the whole run',
    invalidates: [],
    about: 'measurement',
  },

  // The generator
  MACHINE_SATURATED: {
    meaning:
      'the generator’s machine was less than 10 % idle and a thread waited for a CPU over 20 % of the time; its CPU quota was used up in over 5 % of the periods; or others took half of the CPUs (a quarter if something was late)',
    remedy: 'give the generator its own machine, add cores or raise its CPU limit, or lower the rate',
    invalidates: ['latency'],
    about: 'machine',
  },
  SWAPPING: {
    meaning: 'the generator’s machine swapped over 1 MB, or programs waited for memory 10 % of the time',
    remedy: 'run `swapoff -a`, add memory, or use fewer connections',
    invalidates: ['memory', 'latency'],
    about: 'machine',
  },
  GENERATOR_SILENT: {
    meaning: 'a generator host, an Artillery worker or a fleet process stopped answering',
    remedy: 'see its output and `dmesg`, and give the generator more CPU and memory',
    invalidates: ['run'],
    about: 'generator',
  },
  FLEET_PROCESS_DIED: {
    meaning: 'a fleet process died, with the measurements of its connections',
    remedy: 'see `dmesg` for out-of-memory kills, and give the generator more memory',
    invalidates: ['run'],
    about: 'generator',
  },
  GENERATOR_FAILED: {
    meaning: 'the generator ran out of files, ports or memory, or a part of it died',
    remedy: 'see the causes in `connections.failures` and `connections.lost`',
    invalidates: ['run'],
    about: 'generator',
  },
  GENERATOR_LATE: {
    meaning:
      'the generator’s event loops or messages were over 50 ms late, receivers lagged behind the reference receiver, or one stall makes up half of the longest times',
    remedy: 'give the generator its own cores or its own machine, or lower the load',
    invalidates: ['latency'],
    about: 'generator',
  },
  FUNCTION_FAILED: {
    meaning: 'a function for received events failed, or was too slow',
    remedy: 'see its message: the server sent what the function rejects, or the function has a mistake',
    invalidates: [],
    about: 'application',
  },
  OTHER_USERS_FAILED: {
    meaning: 'virtual users of other engines failed',
    remedy: 'see `otherUsers.failures` and `http`, and the log of the server',
    invalidates: [],
    about: 'application',
  },
  USERS_SKIPPED: {
    meaning: 'Artillery skipped virtual users (`maxVusers`)',
    remedy: 'raise `maxVusers`, or lower the arrivals',
    invalidates: ['connections'],
    about: 'measurement',
  },

  // The deployment
  MEMORY_FULL: {
    meaning: 'over 95 % of the memory of machine or container was used',
    remedy: 'add memory, or use fewer connections',
    invalidates: [],
  },
  WORKERS_SATURATED: {
    meaning: 'the workers used over 90 % of a core each, or half of the time that a broadcast took',
    remedy: 'add workers or faster cores, or profile what they do',
    invalidates: [],
  },
  REDIS_BEHIND: {
    meaning: 'over 8 MB of Redis’s output waited for the workers',
    remedy: 'give the workers more CPU, or send less through the adapter',
    invalidates: [],
  },
  WORKERS_THROTTLED: {
    meaning: "a worker's container used up its CPU quota in over 5 % of the periods",
    remedy: 'raise the CPU limit of that container',
    invalidates: [],
  },
  PROCESS_ENDED: {
    meaning: 'a process of the server, a proxy or Redis ended or restarted, unplanned',
    remedy:
      'see its log for what ended it: an uncaught error, its own exit, or a kill (`dmesg` shows those for memory)',
    // Memory and counters of the ended process are lost. The generator's counts are not affected.
    invalidates: ['memory', 'cpu'],
    fails: 'the deployment keeps running',
  },
  DEPLOYMENT_CHANGED: {
    meaning: 'the proxy, Redis or PM2 restarted or stopped, unplanned, or a worker no longer answered',
    remedy: 'see its log, and leave the deployment alone during a run',
    // Memory and counters from before the restart are lost. The generator's counts are not affected.
    invalidates: ['memory', 'cpu'],
    fails: 'the deployment keeps running',
  },
  PROCESS_HALTED: {
    meaning: 'a process of the deployment did not run for half a second: stopped, or waiting in the kernel',
    remedy: 'see what stopped it',
    invalidates: [],
  },
  WORKER_STALLED: {
    meaning: 'a worker’s event loop stood still so long that connect times or latencies show it',
    remedy: 'find what held that worker up: code that blocks, garbage collection, or a stop of its process',
    invalidates: [],
  },
  RUN_INCOMPLETE: {
    meaning: 'no connection was made, or the run ended early',
    remedy: 'let the run complete, and end the flow with `hold: true`',
    invalidates: ['run'],
  },
  WORKER_URLS_WRONG: {
    meaning: 'control URLs or pages of metrics do not lead to every worker once, or repeat old figures',
    remedy: 'list every worker once, by an address of its own without a cache in between, and give each its own name',
    invalidates: ['run'],
    about: 'measurement',
  },
  WORKERS_DISAGREE: {
    meaning: 'workers and generator count different numbers of connections',
    remedy: 'measure a server without other users, and list every worker in `control.urls`',
    invalidates: ['run'],
  },
  SERVER_NOT_IDLE: {
    meaning: 'at a reading without connections, the server had some, or its memory still fell after 20 s',
    remedy: 'measure a server without other users, and let it come to rest before the run',
    invalidates: ['memory'],
    about: 'measurement',
  },

  // Connections
  LIMIT_REACHED: {
    meaning: '1 % of the connections failed at a configured limit, or all fleet processes stopped at one number',
    remedy: 'raise the limit that the message names',
    invalidates: [],
  },
  MESSAGES_TOO_LARGE: {
    meaning: 'connections closed by a message larger than server or proxy accepts',
    remedy: 'send smaller messages, or raise `maxHttpBufferSize` of the server (and the limit of the proxy)',
    invalidates: [],
  },
  CLIENTS_REFUSED: {
    meaning: 'the server refused the run’s own clients',
    remedy: 'name a scenario that the server accepts in the option `clients`',
    invalidates: [],
    fails: 'the server accepts the clients of the run',
  },
  CONNECTIONS_FAILED: {
    meaning: 'connections or virtual users failed',
    remedy: 'see the causes in `connections.failures`, and the log of the server',
    invalidates: [],
    fails: 'no connection fails',
  },
  CONNECTIONS_DROPPED: {
    meaning: 'connections or namespaces closed before their release, even if they reconnected',
    remedy: 'see the logs of the workers and of the proxy at that time',
    invalidates: [],
    fails: 'no connection is lost',
  },
  NOT_UPGRADED: {
    meaning: 'connections did not upgrade from polling to WebSocket',
    remedy: 'let proxy and server accept WebSocket, and route all requests of a session to the same worker',
    invalidates: [],
    fails: 'every connection upgrades to WebSocket',
  },
  RATE_NOT_REACHED: {
    meaning: 'less than 95 % of the configured connections per second',
    remedy: 'lower `RATE`, or give the machine more cores',
    invalidates: [],
    fails: 'connections are made at the configured rate',
  },
  TARGET_NOT_REACHED: {
    meaning: 'not all virtual users were connected at once, or some had not joined 30 s after a ramp',
    remedy: 'see `connections.failures`; lower `RATE`; let every flow join, and end with `hold: true`',
    invalidates: [],
    fails: 'all virtual users are connected at once',
  },
  NOT_RECONNECTED: {
    meaning: 'connections did not reconnect after a planned fault',
    remedy: 'see `fault.notReconnected`, and the options of `reconnection`',
    invalidates: [],
    fails: 'every connection reconnects after the planned fault',
  },

  ...ANSWER_FINDINGS,
} as const satisfies Record<string, Definition>;

export type FindingCode = keyof typeof CATALOGUE;

export interface FindingDefinition extends Definition {
  about: FindingSubject;
}

/** Codes of all findings. A cause comes before its consequences. */
export const FINDING_CODES = Object.keys(CATALOGUE) as FindingCode[];

export const FINDINGS = Object.fromEntries(
  Object.entries<Definition>(CATALOGUE).map(([code, definition]) => [code, { about: 'deployment', ...definition }]),
) as Record<FindingCode, FindingDefinition>;
