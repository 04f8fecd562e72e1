/** All reasons for a verdict other than VALID. docs/reference/errors.md is made from them: node docs/codes.ts */
import type { Blame } from '../documents/search.ts';
import type { Code } from './code.ts';

/** What a run answers. */
export const ANSWERS = ['connections', 'memory', 'delivery', 'latency', 'cpu'] as const;
export type Answer = (typeof ANSWERS)[number];

interface ReasonDefinition extends Code {
  /** Answers whose figures are not to be used. `run`: none is, and the verdict is INVALID; with any other it is SUSPECT. */
  invalidates: readonly (Answer | 'run')[];
  /** Whose limit it shows. */
  blame: Blame;
}

const REASONS = {
  RUN_INCOMPLETE: {
    meaning: 'the run was stopped, or measuring failed, before its end; or the virtual users had left before the end',
    remedy: 'the message says what went wrong; end the flow with `hold: true`, and let the run come to its end',
    invalidates: ['run'],
    blame: 'deployment',
  },
  AGENT_LOST: {
    meaning:
      'a generator host was gone before the end: its connections count as lost, and what they received is not known',
    remedy: 'see the output of Artillery there, and `dmesg`',
    invalidates: ['run'],
    blame: 'generator',
  },
  NO_CONNECTIONS: {
    meaning: 'no connection was made',
    remedy: 'see `connections.failures`',
    invalidates: ['run'],
    blame: 'deployment',
  },
  LEDGER_MISMATCH: {
    meaning: 'for a broadcast, expected is not received + lost',
    remedy: 'a bug: please report it',
    invalidates: ['run'],
    blame: 'measurement',
  },
  COPIES_MISMATCH: {
    meaning: 'the frames that carried the broadcast event are not the sum of the columns that they are counted in',
    remedy: 'a bug: please report it',
    invalidates: ['run'],
    blame: 'measurement',
  },
  RECEIVED_BEFORE_SENT: {
    meaning:
      'broadcasts arrived before they were sent, by more than the clocks may be wrong: a clock or the server is wrong',
    remedy: "take `sentAtUs` from the worker's monotonic clock",
    invalidates: ['run'],
    blame: 'measurement',
  },
  CONFIRMATION_WRONG: {
    meaning: 'a worker confirmed another broadcast than the one that it was asked to send',
    remedy: 'let `instrument(io)` answer the control requests, in the version of the run',
    invalidates: ['run'],
    blame: 'measurement',
  },
  ROUND_TRIPS_IMPOSSIBLE: {
    meaning:
      'the server acknowledged the echo of a broadcast with a round trip that ends before the probe had the broadcast, or after it had the acknowledgement',
    remedy: "let `instrument(io)` acknowledge `broadcast_echo`; take `sentAtUs` from the worker's monotonic clock",
    invalidates: ['run'],
    blame: 'measurement',
  },
  COUNTS_DISAGREE: {
    meaning: 'the server counted a different number of members than the ledger expected',
    remedy:
      'more: let nothing else join this room; fewer: connect all workers by one adapter, and let no member leave the room',
    invalidates: ['run'],
    blame: 'deployment',
  },
  WORKER_RESTARTED: {
    meaning: 'a worker has a different process than at the start, or is missing',
    remedy: 'see its log: `npx socketio-capacity stack status` names the folder',
    invalidates: ['run'],
    blame: 'deployment',
  },
  REDIS_GONE: {
    meaning: 'Redis stopped answering during the run',
    remedy: 'see its log, and restart it',
    invalidates: ['run'],
    blame: 'deployment',
  },
  ACCOUNTS_MISMATCH: {
    meaning: 'an engine and its fleet count a different number of living connections, or of returns of dropped ones',
    remedy: 'a bug: please report it',
    invalidates: ['run'],
    blame: 'measurement',
  },
  TRANSPORTS_MISMATCH: {
    meaning: 'opened connections are not the sum of WebSocket, upgraded and polling ones',
    remedy: 'a bug: please report it',
    invalidates: ['run'],
    blame: 'measurement',
  },
  WORKERS_DISAGREE: {
    meaning:
      'the workers count more or fewer connections than the generator holds, together or, by what joins name, each for itself',
    remedy:
      'measure a server that nobody else uses; name every worker in `control.urls`; acknowledge `join_room` with the worker that holds the connection',
    invalidates: ['run'],
    blame: 'deployment',
  },
  WORKER_UNKNOWN: {
    meaning: 'connections joined on workers that no control URL leads to',
    remedy: 'give the control URL of every worker',
    invalidates: ['run'],
    blame: 'measurement',
  },
  WORKER_REPEATED: {
    meaning: 'two control URLs or two pages of metrics lead to one process, or two workers have the same name',
    remedy: 'give each worker its own name and its own control URL or page of metrics',
    invalidates: ['run'],
    blame: 'measurement',
  },
  STATISTICS_STALE: {
    meaning:
      'a worker sent the same statistics again, or the metrics of a server were the same at another number of connections',
    remedy: 'see the worker logs',
    invalidates: ['run'],
    blame: 'measurement',
  },
  METRICS_ALTERNATE: {
    meaning:
      'at a control URL, or a URL of an option `prometheus`, several processes answered in turn, so the figures are now of one and now of another',
    remedy: 'give each process a port of its own for control or metrics, and list them all',
    invalidates: ['run'],
    blame: 'measurement',
  },
  DEPLOYMENT_CHANGED: {
    meaning: 'PM2, nginx, Redis or a process of the server was reloaded, replaced or stopped during the run',
    remedy: 'see its log; leave the deployment alone during a run',
    invalidates: ['run'],
    blame: 'deployment',
  },
  FAULT_FAILED: {
    meaning: 'the planned fault did not happen, or not as planned: its command failed, or nothing was replaced',
    remedy: 'the message has the reason',
    invalidates: ['run'],
    blame: 'measurement',
  },
  FAULT_MISMATCH: {
    meaning:
      'of the connections at the planned fault, stayed + dropped is not all of them, or back + not back is not those that dropped',
    remedy: 'a bug: please report it',
    invalidates: ['run'],
    blame: 'measurement',
  },
  ENGINE_SILENT: {
    meaning: 'a worker of Artillery did not answer, so what it counted is not known',
    remedy: 'give the generator more CPU, or split the load',
    invalidates: ['run'],
    blame: 'generator',
  },
  CONNECTIONS_DROPPED: {
    meaning: 'open connections dropped, and came back',
    remedy:
      'see the logs of the workers and of the proxy at that time; `connections.reconnection` has the counts and the time away',
    invalidates: [],
    blame: 'deployment',
  },
  CONNECTIONS_LOST: {
    meaning: 'open connections, or namespaces of them, ended before the run released them',
    remedy: 'see the logs of the workers and of the proxy at that time',
    invalidates: [],
    blame: 'deployment',
  },
  NOT_UPGRADED: {
    meaning: 'connections that begin with polling did not upgrade to WebSocket',
    remedy:
      'see the causes in `connections.transports`; proxy and server must take WebSocket, and all requests of a session must reach the same server',
    invalidates: [],
    blame: 'deployment',
  },
  TARGET_NOT_REACHED: {
    meaning: 'virtual users that stay were never all connected at the same time',
    remedy: 'see `connections.failures`',
    invalidates: [],
    blame: 'deployment',
  },
  CONNECTIONS_FAILED: {
    meaning: 'virtual users failed, or additional connections of one failed',
    remedy: 'the message counts the causes',
    invalidates: [],
    blame: 'deployment',
  },
  USERS_SKIPPED: {
    meaning: 'Artillery did not start virtual users, because of `maxVusers` in a phase',
    remedy: 'raise `maxVusers`, or lower the arrivals',
    invalidates: [],
    blame: 'measurement',
  },
  UNKNOWN_ACKS: {
    meaning: 'the server acknowledged what had not been sent, or acknowledged it more than once',
    remedy: 'let the server call each acknowledgement once',
    invalidates: [],
    blame: 'measurement',
  },
  RATE_NOT_REACHED: {
    meaning: 'less than 95 % of the configured connections per second was reached',
    remedy: 'lower `RATE`, or give the machine more cores',
    invalidates: [],
    blame: 'deployment',
  },
  NOT_SETTLED: {
    meaning: '30 s after a ramp, some virtual users had not connected and joined',
    remedy: 'lower `RATE`; does every flow join?',
    invalidates: ['memory'],
    blame: 'deployment',
  },
  PLATEAU_MOVED: {
    meaning: 'connections came or left while memory was read',
    remedy: 'make the pauses between the ramps longer',
    invalidates: ['memory'],
    blame: 'measurement',
  },
  NOBODY_EXPECTED: {
    meaning: 'no connection had joined the room of the broadcasts',
    remedy: "let the flow emit `join_room` with the plugin's `room`, and the server acknowledge that room",
    invalidates: ['delivery', 'latency'],
    blame: 'measurement',
  },
  DUPLICATE_RECEIPTS: {
    meaning: 'connections got a broadcast more than once',
    remedy: 'give the run a room of its own',
    invalidates: [],
    blame: 'deployment',
  },
  LATE_RECEIPTS: {
    meaning: 'broadcasts arrived after the ledger was finalized',
    remedy: 'raise `drain.quiet` and `drain.deadline`',
    invalidates: ['delivery'],
    blame: 'deployment',
  },
  NOT_MEMBER_RECEIPTS: {
    meaning: 'connections that are no members of the room got broadcasts',
    remedy: 'send broadcasts to the room only, join it by `join_room`, and acknowledge the room that was joined',
    invalidates: ['delivery'],
    blame: 'measurement',
  },
  NEVER_ORDERED: {
    meaning: 'broadcasts arrived that the run did not send',
    remedy: 'give the run a room of its own',
    invalidates: [],
    blame: 'measurement',
  },
  UNREADABLE_BROADCASTS: {
    meaning: 'broadcasts arrived whose payload is not as the wire contract has it, or has no id where `delivery` says',
    remedy: 'use the event `broadcast` for nothing else',
    invalidates: [],
    blame: 'measurement',
  },
  WRONG_PAYLOADS: {
    meaning: 'broadcasts arrived whose payload has another length or other characters than were sent',
    remedy: 'give the run a room of its own; does something on the way change messages?',
    invalidates: [],
    blame: 'deployment',
  },
  DELIVERY_EVENT_MISSING: {
    meaning: 'no copy of the event that `delivery` names arrived while it was measured',
    remedy: 'check the name of the event, and what a connection must do to get it',
    invalidates: ['run'],
    blame: 'deployment',
  },
  BROADCASTS_UNSEEN: {
    meaning: 'publishers of the run provoked more broadcasts than ids arrived',
    remedy: "let the ids be the run's own: `$id` in `publish.emit`",
    invalidates: ['delivery'],
    blame: 'deployment',
  },
  IDS_NOT_SHARED: {
    meaning: 'nearly all ids that `delivery.id` names came to one connection only, so they are not ids of broadcasts',
    remedy: 'name the place of an id that all copies of a broadcast have',
    invalidates: ['run'],
    blame: 'measurement',
  },
  AUDIENCE_DIFFERS: {
    meaning:
      'broadcasts of the event that `delivery` names went again and again to the same part of the connections, and not to the others, which count as having lost them',
    remedy:
      'let all connections be where the server sends to; if they are, see why its other processes do not pass broadcasts on',
    invalidates: ['delivery'],
    blame: 'measurement',
  },
  SENT_AT_UNUSABLE: {
    meaning:
      'the times in the payload of the event that `delivery` names are no times, too coarse, or by a clock that disagrees with that of the generator: they are not shown as latency',
    remedy: "set the server's clock, or leave `delivery.sentAt` out",
    invalidates: ['latency'],
    blame: 'measurement',
  },
  IDS_NOT_COUNTED: {
    meaning:
      'more broadcasts of the event that `delivery` names came than the ledgers have room for (64 MB in each process)',
    remedy: 'measure for a shorter time, or count an event that comes less often',
    invalidates: ['delivery'],
    blame: 'measurement',
  },
  MESSAGES_MISMATCH: {
    meaning:
      'of the messages that connections send again and again, those that were due are not sent + not sent, or those that were sent are not acknowledged + unanswered',
    remedy: 'a bug: report it with the folder of the run',
    invalidates: ['run'],
    blame: 'measurement',
  },
  MESSAGES_DISAGREE: {
    meaning: 'the workers handled more or fewer messages in the hold than the connections sent, and had acknowledged',
    remedy: 'let middlewares (`socket.use`) pass each message once, and acknowledge none',
    invalidates: [],
    blame: 'measurement',
  },
  MESSAGES_MISSED: {
    meaning: 'the generator did not send messages that were due, because it was behind by more than a period',
    remedy: 'give the generator cores of its own, or let connections send less often',
    invalidates: ['latency'],
    blame: 'generator',
  },
  MESSAGES_LATE: {
    meaning: 'the generator sent messages that were due in the hold more than 50 ms late (p99)',
    remedy: 'give the generator cores of its own, or let connections send less often',
    invalidates: ['latency'],
    blame: 'generator',
  },
  BASELINE_NOT_EMPTY: {
    meaning: 'connections existed before the run',
    remedy: 'measure a server that nobody else uses',
    invalidates: [],
    blame: 'measurement',
  },
  CLOCK_UNCERTAIN: {
    meaning:
      'workers, or generators, are on several hosts, and the offsets of their clocks, which are removed from the latencies, are not known precisely enough for them',
    remedy: 'move the generator nearer to the workers, or use the round trips only',
    invalidates: ['latency'],
    blame: 'measurement',
  },
  WARM_UP_FAILED: {
    meaning: 'the server did not accept all of the short connections before the baseline',
    remedy: 'see its log; or set `warmUp: 0`',
    invalidates: ['memory'],
    blame: 'deployment',
  },
  GENERATOR_LAGS: {
    meaning:
      'an event loop of the generator was more than 50 ms late (p99) during a ramp, the messages of the hold, or the broadcasts; or a fleet process once stood still for at least half of the longest times measured meanwhile',
    remedy: 'give the generator cores of its own, or lower the load',
    invalidates: ['latency'],
    blame: 'generator',
  },
  FLEET_PROCESS_SILENT: {
    meaning: 'a process of the generator did not answer, so what its connections received is not known',
    remedy: 'give the generator a machine of its own',
    invalidates: ['run'],
    blame: 'generator',
  },
  FLEET_PROCESS_DIED: {
    meaning: 'a process of the generator died; its connections count as lost while disconnected',
    remedy: 'give the generator more memory',
    invalidates: ['delivery'],
    blame: 'generator',
  },
  GENERATOR_QUEUES: {
    meaning:
      'receivers (p99) lag behind the reference receiver (`sentinel`), which their worker serves last: by more than 50 ms, or by more than a quarter of its median latency if that is more; and a fleet process stood still for at least half of that lag, or the machine was saturated',
    remedy: 'read `latency.sentinelMs`; give the generator cores, or a machine, of its own',
    invalidates: ['latency'],
    blame: 'generator',
  },
  SENTINEL_MISSING: {
    meaning:
      'the reference receiver could not join, its connection ended during the broadcasts, or it got none of them',
    remedy: 'see the worker logs',
    invalidates: ['latency'],
    blame: 'deployment',
  },
  MACHINE_SATURATED: {
    meaning:
      "less than 10 % of the generator's machine was idle during the ramp, the messages of the hold, or the broadcasts, and a thread of the generator waited for a CPU in more than 20 % of the time it wanted to run",
    remedy: 'give the generator a machine of its own, or this one more cores; or lower the rate',
    invalidates: ['latency'],
    blame: 'machine',
  },
  CPU_THROTTLED: {
    meaning:
      "the quota of CPU time of the generator's container was used up in more than 5 % of its periods during a ramp, the messages of the hold, or the broadcasts",
    remedy:
      "raise the container's CPU limit (`docker run --cpus`, `resources.limits.cpu` in Kubernetes), or lower the load",
    invalidates: ['latency'],
    blame: 'machine',
  },
  WORKERS_THROTTLED: {
    meaning:
      "the quota of CPU time of a worker's container was used up in more than 5 % of its periods during a ramp, the messages of the hold, or the broadcasts",
    remedy: "raise that container's CPU limit, or take the figures as those of this limit",
    invalidates: [],
    blame: 'deployment',
  },
  SWAPPING: {
    meaning: "the generator's machine swapped more than 1 MB in or out during the run",
    remedy: '`swapoff -a`, more memory, or fewer connections',
    invalidates: ['memory'],
    blame: 'machine',
  },
  SAMPLER_GAPS: {
    meaning:
      'more than 5 % of the samples are missing or failed, or there is a gap of more than five intervals: peaks may have been missed',
    remedy: 'give the generator more CPU; where a source failed, see whether it still answers, and in time',
    invalidates: ['memory'],
    blame: 'measurement',
  },
  UNIFORM_CEILING: {
    meaning:
      '1 % of the connections or more failed, nine in ten of them at one limit (`EMFILE`, `ENFILE`, `EADDRNOTAVAIL`, `http_500`, `http_502`, `http_503`); or as many are missing, and at least three fleet processes stopped at the same number',
    remedy: 'the message names the limit; Doctor explains how to raise it',
    invalidates: [],
    blame: 'deployment',
  },
  METRICS_GONE: {
    meaning:
      'a page of metrics that an option `prometheus` names could not be read at a plateau, or has a CPU time that cannot be: the memory and CPU of its layer are missing',
    remedy: "see the log of what serves them; reach it from the generator's machine during the whole run",
    invalidates: ['memory'],
    blame: 'measurement',
  },
  MEMORY_MISSING: {
    meaning: "the workers' memory was read at some plateaus and not at others, so there are no bytes per connection",
    remedy: 'name the processes that are there during the whole run, and run as root or as their user',
    invalidates: ['memory'],
    blame: 'measurement',
  },
  TOO_FEW_PLATEAUS: {
    meaning:
      'memory was read at fewer than three different numbers of connections, including zero, so the bytes per connection have no interval',
    remedy: 'use two ramps or more, with a `pause` phase after each',
    invalidates: ['memory'],
    blame: 'measurement',
  },
  MEMORY_NOT_LINEAR: {
    meaning:
      "the workers' memory is not a straight line: from the first connection to the last, the cost of one changes by more than 20 % and by more than the error (99 %)",
    remedy: 'measure at the size that you expect, and read the plateaus',
    invalidates: ['memory'],
    blame: 'measurement',
  },
  MEMORY_GROWS: {
    meaning:
      "the workers' memory grew while the number of connections stayed the same, and a garbage collection did not free it: by more than 20 % of what the connections seem to cost, in one step or at this rate",
    remedy: 'look for a leak in the server; a longer `hold` shows it better',
    invalidates: ['memory'],
    blame: 'measurement',
  },
  MEMORY_FALLS: {
    meaning:
      'at the baseline, or after all had left, the memory of the deployment still fell after 20 s, although nobody was connected',
    remedy: 'does something else work on this server, or does it free memory by a timer? let it come to rest first',
    invalidates: ['memory'],
    blame: 'measurement',
  },
  COLLECTION_MISSING: {
    meaning: 'a worker confirmed a garbage collection without making one, so memory at rest is not known',
    remedy: 'does the control URL lead to this worker only, and is its `instrument(io)` up to date?',
    invalidates: ['memory'],
    blame: 'measurement',
  },
  BROADCAST_NOT_SENT: {
    meaning: 'a worker did not send a broadcast that it was asked to send, or the connection of a publisher had ended',
    remedy: 'see the worker logs; for a publisher, the logs and time-outs of server and proxy',
    invalidates: [],
    blame: 'deployment',
  },
  BROADCASTS_LATE: {
    meaning:
      'more than a tenth of the broadcasts left later than planned by more than 50 ms and half of their interval: they left in bursts',
    remedy: 'raise `broadcasts.interval` or `delivery.publish.every`, or give workers and generator more CPU',
    invalidates: ['latency'],
    blame: 'deployment',
  },
  ROUND_TRIPS_MISSING: {
    meaning:
      'round trips of the probe, unloaded or under load, were not sent, not answered, or across a jump of a clock',
    remedy: 'the message says why; see the worker logs',
    invalidates: ['latency'],
    blame: 'deployment',
  },
  NOT_GONE: {
    meaning:
      'connections remained when memory without them was to be read: at the end of a wave, or after that of the run, when 120 s and 1 ms for each had passed',
    remedy: 'see the worker logs; after a wave, make the pause longer than the `think` of the flow',
    invalidates: ['memory'],
    blame: 'measurement',
  },
} satisfies Record<string, ReasonDefinition>;

export type ReasonCode = keyof typeof REASONS;

export const VERDICT_REASONS: Record<ReasonCode, ReasonDefinition> = REASONS;

/** As in the result document, whose schema accepts any code, for documents of other versions. */
export interface Reason {
  code: ReasonCode;
  message: string;
  /** In the place of the catalogue's remedy, where more is known. */
  fix?: string;
}

/** @returns the definition; undefined of a code of another version */
export function definitionOf(code: string): ReasonDefinition | undefined {
  return Object.hasOwn(VERDICT_REASONS, code) ? VERDICT_REASONS[code as ReasonCode] : undefined;
}

/** @returns the answers whose figures are not to be used: all of them if a reason invalidates the run */
export function unusableAnswers(reasons: { code: string }[]): Answer[] {
  const all = new Set(reasons.flatMap(({ code }) => definitionOf(code)?.invalidates ?? []));
  return ANSWERS.filter((answer) => all.has('run') || all.has(answer));
}
