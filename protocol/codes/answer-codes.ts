/** Catalogue of findings about broadcasts, messages, memory, leaks and internal errors. Part of `finding-codes.ts`. */
import type { FindingSubject, InvalidatedPart } from '../result/findings.ts';
import type { CodeDefinition } from './error-codes.ts';
import type { ExpectationName } from './expectations.ts';

export interface Definition extends CodeDefinition {
  /**
   * Parts of the answer that the finding invalidates. `run` stands for all of them and makes the measurement INVALID.
   * Any other entry makes it SUSPECT.
   */
  invalidates: readonly InvalidatedPart[];
  /** Subject of the finding (such as the generator or the application); default: the deployment. */
  about?: FindingSubject;
  /** Expectation that the finding fails. Most findings either fail an expectation or invalidate figures. */
  fails?: ExpectationName;
}

export const ANSWER_FINDINGS = {
  // Findings about broadcasts and messages.
  ACKS_CARRY_ERRORS: {
    meaning: 'acknowledgements contain an error object, and count as acknowledged',
    remedy: 'let the flow send what the server requires: see the text of the error, and the log of the server',
    invalidates: [],
    about: 'application',
  },
  NO_MEMBERS: {
    meaning: 'no connection had joined the room before the broadcasts',
    remedy: "let the flow emit `join_room` with the plugin's `room`, and the server acknowledge it",
    invalidates: ['delivery', 'latency'],
    about: 'measurement',
  },
  ADAPTER_MISSING: {
    meaning: 'each broadcast reached only the connections of one process of the server',
    remedy: 'give the processes an adapter, such as Redis or the cluster adapter',
    invalidates: [],
    fails: 'every member receives every broadcast',
  },
  ADAPTER_INTERRUPTED: {
    meaning: 'for a time, broadcasts reached only the connections of one process',
    remedy:
      'see the logs of the processes and of what connects them at that time (Redis, a broker); name it in `layers`, and the run sees its end',
    invalidates: [],
    fails: 'every member receives every broadcast',
  },
  MEMBERS_DISAGREE: {
    meaning: 'server and generator count different numbers of members of the room',
    remedy: 'connect all workers with one adapter, and give the run its own room',
    invalidates: ['run'],
  },
  DELIVERY_EVENT_MISSING: {
    meaning: 'no copy of the event of `delivery` arrived',
    remedy: 'check the event’s name, what a client must do to receive it, and the room to which the server sends it',
    invalidates: [],
    fails: 'every member receives every broadcast',
  },
  IDS_NOT_SHARED: {
    meaning: 'nearly all ids at `delivery.id` reached one connection: they identify copies',
    remedy: 'use the path of an id that all copies of a broadcast share',
    invalidates: ['run'],
    about: 'measurement',
  },
  IDS_NOT_COUNTED: {
    meaning: 'ledgers were full (64 MB in each process), or one event carries several ids',
    remedy: 'measure for a shorter time, or count a less frequent event; for several ids, see the message',
    invalidates: ['delivery'],
    about: 'measurement',
  },
  IDS_CHANGED: {
    meaning: 'as many copies are missing as came with another or an unknown id',
    remedy: 'let the server return the id of each message unchanged, with any length and type',
    invalidates: ['delivery'],
    about: 'application',
  },
  JOINS_LATE: {
    meaning: 'connections received nothing until some time after their connect or join',
    remedy:
      'publish later (a longer `hold`), or name the event whose acknowledgement makes a connection a receiver in `delivery.join`; let the server acknowledge a join only after `socket.join`',
    invalidates: [],
    about: 'application',
  },
  AUDIENCE_DIFFERS: {
    meaning: 'the event always went to the same part of the connections, and `delivery.audience` names no rooms',
    remedy: 'let all connections join the room that the server sends to, or name its rooms in `delivery.audience`',
    invalidates: ['delivery'],
    about: 'application',
  },
  SENT_AT_UNUSABLE: {
    meaning: 'the values at `delivery.sentAt` are no times, too coarse, or from another clock',
    remedy: "set the server's clock, or leave `delivery.sentAt` out",
    invalidates: ['latency'],
    about: 'measurement',
  },
  PUBLISHES_UNACKNOWLEDGED: {
    meaning: 'the server acknowledged published messages late or never',
    remedy: 'let its handler call the acknowledgement, or set `publish.acknowledge: false` in `delivery`',
    invalidates: [],
  },
  BROADCASTS_NOT_SENT: {
    meaning: 'broadcasts were not sent, or no connection received them',
    remedy: 'see the logs of server and proxy, and their time-outs',
    invalidates: [],
    fails: 'every broadcast is sent',
  },
  BROADCASTS_UNCONFIRMED: {
    meaning: 'broadcasts neither confirmed nor received: perhaps not sent',
    remedy: 'see the worker logs at that time; raise `drain.deadline` if a worker only needs more time',
    invalidates: ['delivery', 'latency'],
  },
  QUEUE_GROWS: {
    meaning: 'copies or acknowledgements came later and later',
    remedy: 'send less, or give the part of the deployment that is at its limit more CPU',
    invalidates: [],
    fails: 'the deployment keeps up with the load',
  },
  DRAIN_TOO_SHORT: {
    meaning: 'copies or acknowledgements still arrived when the drain ended: latencies are too low, losses too high',
    remedy: 'raise `drain.deadline`, or the interval of the broadcasts: the server cannot keep up with it',
    invalidates: ['delivery', 'latency'],
  },
  BROADCASTS_LATE: {
    meaning: 'over a tenth of the broadcasts were sent over 50 ms and half of their interval late',
    remedy: 'raise the interval of the broadcasts, or give workers and generator more CPU',
    invalidates: ['latency'],
  },
  BROADCASTS_DELAYED: {
    meaning:
      'broadcasts took half a second and ten times as long as the others; or all ten times as long as a round trip, without a busy CPU',
    remedy: 'see what these broadcasts wait for: a timer, a lock, a slow query or a retry of the application',
    invalidates: [],
    about: 'application',
  },
  EVENT_COUNTS_DIFFER: {
    meaning: 'connections got different numbers of copies of an event without ids, or none',
    remedy:
      'if it is meant for all, give it an id and name it in `delivery`, which tells which copies are missing where',
    invalidates: [],
  },
  COPIES_LOST: {
    meaning: 'members of the room missed broadcasts',
    remedy: 'see the logs of workers, proxy and Redis at the times of the incomplete broadcasts',
    invalidates: [],
    fails: 'every member receives every broadcast',
  },
  COPIES_DUPLICATED: {
    meaning: 'connections received a broadcast more than once',
    remedy: 'give the run its own room, or its own ids, which no other run or publisher uses',
    invalidates: [],
    fails: 'nobody receives a broadcast twice',
  },
  WRONG_COPIES: {
    meaning: 'copies arrived too late, at non-members, changed, unreadable, or of other broadcasts',
    remedy: 'give the run its own room and event; find the component that repeats, delays or changes messages',
    invalidates: ['delivery'],
  },
  MESSAGES_UNACKNOWLEDGED: {
    meaning: 'messages of the step `every` were not acknowledged',
    remedy: 'see the log of the server: its handler of the event must call the acknowledgement once',
    invalidates: [],
    fails: 'every message is acknowledged',
  },
  MESSAGES_DISAGREE: {
    meaning: 'messages were handled or acknowledged twice, or never sent',
    remedy: 'let the server handle and acknowledge each message once',
    invalidates: ['delivery'],
    about: 'measurement',
  },
  PROBE_INCOMPLETE: {
    meaning: 'the probe or the reference receiver was disconnected or got no answer',
    remedy: 'see the logs of the workers',
    invalidates: ['latency'],
  },
  CLOCK_UNCERTAIN: {
    meaning: 'other hosts’ clocks may be off by over 1 ms and a tenth of the median latency',
    remedy: 'move the generator nearer to the workers, or use the round trips, which need a single clock',
    invalidates: ['latency'],
    about: 'measurement',
  },

  // Memory
  READINGS_IMPOSSIBLE: {
    meaning: 'a source reported impossible figures, which are left out',
    remedy: 'let the source report the measured process, live, in bytes and seconds',
    invalidates: ['memory', 'cpu'],
    about: 'measurement',
  },
  READINGS_MISSING: {
    meaning: 'over 5 % of the samples, or five in a row, are missing',
    remedy: 'let the source answer during the whole run, and give the generator enough CPU to read it',
    invalidates: ['memory', 'cpu'],
    about: 'measurement',
  },
  PROCESS_WITHOUT_CONNECTIONS: {
    meaning: 'a process in the workers’ figures held no connection, and grew',
    remedy: 'name the processes of the server alone in the option `workers`',
    invalidates: ['memory', 'cpu'],
    about: 'measurement',
  },
  MEMORY_UNEXPLAINED: {
    meaning: 'memory of the machine grew beyond the measured processes',
    remedy:
      'add shared and kernel memory to the cost of a connection, name all parts of the deployment in `workers` and `layers`, and let other programs rest',
    invalidates: ['memory'],
    about: 'measurement',
  },
  COLLECTION_MISSING: {
    meaning: 'a worker made no garbage collection when asked',
    remedy:
      'let each control URL, or URL of `workers.inspect`, lead to one process only; update `instrument(io)`, and disconnect debuggers during the run',
    invalidates: ['memory'],
    about: 'measurement',
  },
  PLATEAUS_UNUSABLE: {
    meaning: 'connections changed while memory was read, or there are fewer than three plateaus, zero included',
    remedy: 'use two ramps or more, with a `pause` after each that is long enough for the joins and the readings',
    invalidates: ['memory'],
    about: 'measurement',
  },
  MEMORY_GROWS: {
    meaning: 'memory grew with constant connections, by over 20 % of their cost',
    remedy: 'look for a leak, or memory that connections allocate later; a longer `hold` shows both',
    invalidates: ['memory'],
    about: 'measurement',
  },
  MEMORY_NOT_LINEAR: {
    meaning: 'the cost of a connection changes with their number, by over 20 % and its 99 % interval',
    remedy: 'measure with as many connections as you expect, and read the table of plateaus',
    invalidates: ['memory'],
    about: 'measurement',
  },

  // Leaks
  STILL_COUNTED: {
    meaning: 'the workers still count connections, rooms, namespaces, files or sockets of closed connections',
    remedy:
      'let `disconnect` handlers close what they opened, and set `cleanupEmptyChildNamespaces` for dynamic namespaces',
    invalidates: [],
    about: 'application',
  },
  WORKERS_LEAK: {
    meaning: 'the workers keep memory of closed connections, or grow over time',
    remedy: 'compare two heap snapshots of a worker, and look at what its `connection` and `disconnect` handlers keep',
    invalidates: [],
    about: 'application',
  },
  REDIS_LEAK: {
    meaning: 'Redis keeps memory of closed connections, or grows over time',
    remedy: 'delete the data of a connection when it closes, or let it expire (`EXPIRE`), and unsubscribe',
    invalidates: [],
  },
  PROXY_LEAK: {
    meaning: 'a proxy, or another part of the deployment, keeps memory of closed connections',
    remedy: 'see the time-outs and modules of that part, and update it',
    invalidates: [],
  },
  MACHINE_LEAK: {
    meaning: 'sockets or shared memory keep memory of closed connections',
    remedy:
      'look for sockets in CLOSE_WAIT (`ss -tanp`) and for files in /dev/shm, and for the processes that have them open',
    invalidates: [],
  },

  // A bug
  ACCOUNTS_MISMATCH: {
    meaning: 'counts of this tool that must add up do not',
    remedy: 'a bug: please report it with the folder of the run',
    invalidates: ['run'],
    about: 'measurement',
  },
} as const satisfies Record<string, Definition>;
