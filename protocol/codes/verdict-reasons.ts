/**
 * All reasons for a verdict other than VALID, with the causes that docs/reference/errors.md gives for them. One that
 * `invalidates` makes the run INVALID: its figures cannot be trusted. Any other makes it SUSPECT.
 */

interface Definition {
  invalidates: boolean;
  meaning: string;
}

export const VERDICT_REASONS = {
  RUN_INCOMPLETE: {
    invalidates: true,
    meaning: 'the run was stopped, or measuring failed, before its end; or the virtual users had left before the end',
  },
  AGENT_LOST: {
    invalidates: true,
    meaning:
      'a generator host was gone before the end: its connections count as lost, and what they received is not known',
  },
  NO_CONNECTIONS: { invalidates: true, meaning: 'no connection was made' },
  LEDGER_MISMATCH: { invalidates: true, meaning: 'for a broadcast, expected is not received + lost' },
  COPIES_MISMATCH: {
    invalidates: true,
    meaning: 'the frames that carried the broadcast event are not the sum of the columns that they are counted in',
  },
  RECEIVED_BEFORE_SENT: {
    invalidates: true,
    meaning:
      'broadcasts arrived before they were sent, by more than the clocks may be wrong: a clock or the server is wrong',
  },
  CONFIRMATION_WRONG: {
    invalidates: true,
    meaning: 'a worker confirmed another broadcast than the one that it was asked to send',
  },
  ROUND_TRIPS_IMPOSSIBLE: {
    invalidates: true,
    meaning:
      'the server acknowledged the echo of a broadcast with a round trip that ends before the probe had the broadcast, or after it had the acknowledgement',
  },
  COUNTS_DISAGREE: {
    invalidates: true,
    meaning: 'the server counted a different number of members than the ledger expected',
  },
  WORKER_RESTARTED: { invalidates: true, meaning: 'a worker has a different process than at the start, or is missing' },
  REDIS_GONE: { invalidates: true, meaning: 'Redis stopped answering during the run' },
  ACCOUNTS_MISMATCH: {
    invalidates: true,
    meaning: 'an engine and its fleet count a different number of living connections, or of returns of dropped ones',
  },
  TRANSPORTS_MISMATCH: {
    invalidates: true,
    meaning: 'opened connections are not the sum of WebSocket, upgraded and polling ones',
  },
  WORKERS_DISAGREE: {
    invalidates: true,
    meaning:
      'the workers count more or fewer connections than the generator holds, together or, by what joins name, each for itself',
  },
  WORKER_UNKNOWN: {
    invalidates: true,
    meaning: 'connections joined on workers that no control URL leads to',
  },
  WORKER_REPEATED: {
    invalidates: true,
    meaning: 'two control URLs or two pages of metrics lead to one process, or two workers have the same name',
  },
  STATISTICS_STALE: {
    invalidates: true,
    meaning:
      'a worker sent the same statistics again, or the metrics of a server were the same at another number of connections',
  },
  METRICS_ALTERNATE: {
    invalidates: true,
    meaning:
      'at a control URL, or a URL of `workers.prometheus`, several processes answered in turn, so the figures are now of one and now of another',
  },
  DEPLOYMENT_CHANGED: {
    invalidates: true,
    meaning: 'PM2, nginx, Redis or a process of the server was reloaded, replaced or stopped during the run',
  },
  FAULT_FAILED: {
    invalidates: true,
    meaning: 'the planned fault did not happen, or not as planned: its command failed, or nothing was replaced',
  },
  FAULT_MISMATCH: {
    invalidates: true,
    meaning:
      'of the connections at the planned fault, stayed + dropped is not all of them, or back + not back is not those that dropped',
  },
  ENGINE_SILENT: {
    invalidates: true,
    meaning: 'a worker of Artillery did not answer, so what it counted is not known',
  },
  CONNECTIONS_DROPPED: { invalidates: false, meaning: 'open connections dropped, and came back' },
  CONNECTIONS_LOST: {
    invalidates: false,
    meaning: 'open connections, or namespaces of them, ended before the run released them',
  },
  NOT_UPGRADED: {
    invalidates: false,
    meaning: 'connections that begin with polling did not upgrade to WebSocket',
  },
  TARGET_NOT_REACHED: {
    invalidates: false,
    meaning: 'virtual users that stay were never all connected at the same time',
  },
  CONNECTIONS_FAILED: { invalidates: false, meaning: 'virtual users failed, or additional connections of one failed' },
  USERS_SKIPPED: {
    invalidates: false,
    meaning: 'Artillery did not start virtual users, because of `maxVusers` in a phase',
  },
  UNKNOWN_ACKS: {
    invalidates: false,
    meaning: 'the server acknowledged what had not been sent, or acknowledged it more than once',
  },
  RATE_NOT_REACHED: {
    invalidates: false,
    meaning: 'less than 95 % of the configured connections per second was reached',
  },
  NOT_SETTLED: { invalidates: false, meaning: '30 s after a ramp, some virtual users had not connected and joined' },
  PLATEAU_MOVED: { invalidates: false, meaning: 'connections came or left while memory was read' },
  NOBODY_EXPECTED: { invalidates: false, meaning: 'no connection had joined the room of the broadcasts' },
  DUPLICATE_RECEIPTS: { invalidates: false, meaning: 'connections got a broadcast more than once' },
  LATE_RECEIPTS: { invalidates: false, meaning: 'broadcasts arrived after the ledger was finalized' },
  NOT_MEMBER_RECEIPTS: {
    invalidates: false,
    meaning: 'connections that are no members of the room got broadcasts',
  },
  NEVER_ORDERED: { invalidates: false, meaning: 'broadcasts arrived that the run did not send' },
  UNREADABLE_BROADCASTS: {
    invalidates: false,
    meaning: 'broadcasts arrived whose payload is not as the wire contract has it, or has no id where `delivery` says',
  },
  WRONG_PAYLOADS: {
    invalidates: false,
    meaning: 'broadcasts arrived whose payload has another length or other characters than were sent',
  },
  DELIVERY_EVENT_MISSING: {
    invalidates: true,
    meaning: 'no copy of the event that `delivery` names arrived while it was measured',
  },
  BROADCASTS_UNSEEN: {
    invalidates: false,
    meaning: 'publishers of the run provoked more broadcasts than ids arrived',
  },
  IDS_NOT_SHARED: {
    invalidates: true,
    meaning: 'nearly all ids that `delivery.id` names came to one connection only, so they are not ids of broadcasts',
  },
  AUDIENCE_DIFFERS: {
    invalidates: false,
    meaning:
      'broadcasts of the event that `delivery` names went again and again to the same part of the connections, and not to the others, which count as having lost them',
  },
  SENT_AT_UNUSABLE: {
    invalidates: false,
    meaning:
      'the times in the payload of the event that `delivery` names are no times, too coarse, or by a clock that disagrees with that of the generator: they are not shown as latency',
  },
  IDS_NOT_COUNTED: {
    invalidates: false,
    meaning:
      'more broadcasts of the event that `delivery` names came than the ledgers have room for (64 MB in each process)',
  },
  MESSAGES_MISMATCH: {
    invalidates: true,
    meaning:
      'of the messages that connections send again and again, those that were due are not sent + not sent, or those that were sent are not acknowledged + unanswered',
  },
  MESSAGES_DISAGREE: {
    invalidates: false,
    meaning: 'the workers handled more or fewer messages in the hold than the connections sent, and had acknowledged',
  },
  MESSAGES_MISSED: {
    invalidates: false,
    meaning: 'the generator did not send messages that were due, because it was behind by more than a period',
  },
  MESSAGES_LATE: {
    invalidates: false,
    meaning: 'the generator sent messages that were due in the hold more than 50 ms late (p99)',
  },
  BASELINE_NOT_EMPTY: { invalidates: false, meaning: 'connections existed before the run' },
  CLOCK_UNCERTAIN: {
    invalidates: false,
    meaning:
      'workers, or generators, are on several hosts, and the offsets of their clocks, which are removed from the latencies, are not known precisely enough for them',
  },
  WARM_UP_FAILED: {
    invalidates: false,
    meaning: 'the server did not accept all of the short connections before the baseline',
  },
  GENERATOR_LAGS: {
    invalidates: false,
    meaning:
      'an event loop of the generator was more than 50 ms late (p99) during a ramp, the messages of the hold, or the broadcasts; or a fleet process once stood still for at least half of the longest times measured meanwhile',
  },
  FLEET_PROCESS_SILENT: {
    invalidates: true,
    meaning: 'a process of the generator did not answer, so what its connections received is not known',
  },
  FLEET_PROCESS_DIED: {
    invalidates: false,
    meaning: 'a process of the generator died; its connections count as lost while disconnected',
  },
  GENERATOR_QUEUES: {
    invalidates: false,
    meaning:
      'receivers (p99) lag behind the reference receiver (`sentinel`), which their worker serves last: by more than 50 ms, or by more than a quarter of its median latency if that is more; and a fleet process stood still for at least half of that lag, or the machine was saturated',
  },
  SENTINEL_MISSING: {
    invalidates: false,
    meaning:
      'the reference receiver could not join, its connection ended during the broadcasts, or it got none of them',
  },
  MACHINE_SATURATED: {
    invalidates: false,
    meaning:
      "less than 10 % of the generator's machine was idle during the ramp, the messages of the hold, or the broadcasts, and a thread of the generator waited for a CPU in more than 20 % of the time it wanted to run",
  },
  CPU_THROTTLED: {
    invalidates: false,
    meaning:
      "the quota of CPU time of the generator's container was used up in more than 5 % of its periods during a ramp, the messages of the hold, or the broadcasts",
  },
  WORKERS_THROTTLED: {
    invalidates: false,
    meaning:
      "the quota of CPU time of a worker's container was used up in more than 5 % of its periods during a ramp, the messages of the hold, or the broadcasts",
  },
  SWAPPING: {
    invalidates: false,
    meaning: "the generator's machine swapped more than 1 MB in or out during the run",
  },
  SAMPLER_GAPS: {
    invalidates: false,
    meaning:
      'more than 5 % of the samples are missing or failed, or there is a gap of more than five intervals: peaks may have been missed',
  },
  UNIFORM_CEILING: {
    invalidates: false,
    meaning:
      '1 % of the connections or more failed, nine in ten of them at one limit (`EMFILE`, `ENFILE`, `EADDRNOTAVAIL`, `http_500`, `http_502`, `http_503`); or as many are missing, and at least three fleet processes stopped at the same number',
  },
  METRICS_GONE: {
    invalidates: false,
    meaning: "metrics that `workers.prometheus` names could not be read at a plateau: the server's memory is missing",
  },
  OBSERVER_GONE: {
    invalidates: false,
    meaning: 'an observer of a proxy or of Redis no longer answered: the memory and CPU of its layer are missing',
  },
  MEMORY_MISSING: {
    invalidates: false,
    meaning: "the workers' memory was read at some plateaus and not at others, so there are no bytes per connection",
  },
  TOO_FEW_PLATEAUS: {
    invalidates: false,
    meaning:
      'memory was read at fewer than three different numbers of connections, including zero, so the bytes per connection have no interval',
  },
  MEMORY_NOT_LINEAR: {
    invalidates: false,
    meaning:
      "the workers' memory is not a straight line: from the first connection to the last, the cost of one changes by more than 20 % and by more than the error (99 %)",
  },
  MEMORY_GROWS: {
    invalidates: false,
    meaning:
      "the workers' memory grew while the number of connections stayed the same, and a garbage collection did not free it: by more than 20 % of what the connections seem to cost, in one step or at this rate",
  },
  MEMORY_FALLS: {
    invalidates: false,
    meaning:
      'at the baseline, or after all had left, the memory of the deployment still fell after 20 s, although nobody was connected',
  },
  COLLECTION_MISSING: {
    invalidates: false,
    meaning: 'a worker confirmed a garbage collection without making one, so memory at rest is not known',
  },
  BROADCAST_NOT_SENT: {
    invalidates: false,
    meaning: 'a worker did not send a broadcast that it was asked to send, or the connection of a publisher had ended',
  },
  BROADCASTS_LATE: {
    invalidates: false,
    meaning:
      'more than a tenth of the broadcasts left later than planned by more than 50 ms and half of their interval: they left in bursts',
  },
  ROUND_TRIPS_MISSING: {
    invalidates: false,
    meaning:
      'round trips of the probe, unloaded or under load, were not sent, not answered, or across a jump of a clock',
  },
  NOT_GONE: {
    invalidates: false,
    meaning:
      'connections remained when memory without them was to be read: at the end of a wave, or after that of the run, when 120 s and 1 ms for each had passed',
  },
} as const satisfies Record<string, Definition>;

export type ReasonCode = keyof typeof VERDICT_REASONS;

/** As in the result document, whose schema accepts any code, for documents of other versions. */
export interface Reason {
  code: ReasonCode;
  message: string;
  fix?: string;
}
