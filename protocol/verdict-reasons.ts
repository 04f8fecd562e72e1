/**
 * Every reason for a verdict other than VALID, with the cause that docs/reference/errors.md gives for it. One that
 * `invalidates` makes the run INVALID: its figures cannot be trusted. Any other one makes it SUSPECT.
 */

interface Definition {
  invalidates: boolean;
  meaning: string;
}

export const VERDICT_REASONS = {
  RUN_INCOMPLETE: {
    invalidates: true,
    meaning: 'the run was stopped, or measuring failed, before its end; or the virtual users had left by then',
  },
  NO_CONNECTIONS: { invalidates: true, meaning: 'not one connection was made' },
  LEDGER_MISMATCH: { invalidates: true, meaning: 'for a broadcast, expected is not received + lost' },
  COUNTS_DISAGREE: { invalidates: true, meaning: 'the server counted other members than the ledger expected' },
  WORKER_RESTARTED: { invalidates: true, meaning: 'a worker has another process than at the start, or is missing' },
  REDIS_GONE: { invalidates: true, meaning: 'Redis stopped answering during the run' },
  ACCOUNTS_MISMATCH: {
    invalidates: true,
    meaning: 'an engine and its fleet count other numbers of living connections',
  },
  CONNECTIONS_LOST: {
    invalidates: false,
    meaning: 'connections that had been open ended before they were told to',
  },
  TARGET_NOT_REACHED: {
    invalidates: false,
    meaning: 'virtual users that stay were never all connected at the same time',
  },
  CONNECTIONS_FAILED: { invalidates: false, meaning: 'virtual users failed, or further connections of one' },
  RATE_NOT_REACHED: { invalidates: false, meaning: 'less than 95 % of the configured connections per second' },
  NOT_SETTLED: { invalidates: false, meaning: '30 s after a ramp not all had connected and joined' },
  PLATEAU_MOVED: { invalidates: false, meaning: 'connections came or went while memory was read' },
  NOBODY_EXPECTED: { invalidates: false, meaning: 'no connection had joined the room of the broadcasts' },
  DUPLICATE_RECEIPTS: { invalidates: false, meaning: 'connections got a broadcast more than once' },
  BASELINE_NOT_EMPTY: { invalidates: false, meaning: 'connections were there before the run' },
  CLOCK_UNCERTAIN: {
    invalidates: false,
    meaning:
      "a worker on another host: its clock's difference, which is taken out, is not known well enough for the latencies seen",
  },
  WARM_UP_FAILED: {
    invalidates: false,
    meaning: 'the server did not take all of the short connections before the baseline',
  },
  GENERATOR_LAGS: {
    invalidates: false,
    meaning: 'an event loop of the generator was more than 50 ms late (p99) while it ramped or received',
  },
  FLEET_PROCESS_SILENT: {
    invalidates: true,
    meaning: 'a process of the generator did not answer: what its connections received is not known',
  },
  FLEET_PROCESS_DIED: {
    invalidates: false,
    meaning: 'a process of the generator died; its connections count as lost while disconnected',
  },
  GENERATOR_QUEUES: {
    invalidates: false,
    meaning:
      "receivers (p99) got a broadcast later than the sentinel, which their worker serves last: by more than 50 ms, or by more than a quarter of the sentinel's median if that is more",
  },
  SENTINEL_MISSING: {
    invalidates: false,
    meaning: 'the sentinel could not join, or its connection ended during the broadcasts',
  },
  MACHINE_SATURATED: {
    invalidates: false,
    meaning:
      "less than 10 % of the generator's machine was idle during the ramp or the broadcasts, and a thread of the generator waited for a CPU in more than 20 % of the time it wanted to run",
  },
  SWAPPING: {
    invalidates: false,
    meaning: "the generator's machine moved more than 1 MB to or from swap during the run",
  },
  SAMPLER_GAPS: {
    invalidates: false,
    meaning:
      'more than 5 % of the samples are missing or failed, or there is a gap of more than five intervals: peaks may have been overlooked',
  },
  UNIFORM_CEILING: {
    invalidates: false,
    meaning:
      '1 % of the connections or more failed, nine in ten of them at one limit (`EMFILE`, `ENFILE`, `EADDRNOTAVAIL`, `http_500`, `http_502`, `http_503`); or as many are missing, and three fleet processes or more stopped at the same number',
  },
  TOO_FEW_PLATEAUS: {
    invalidates: false,
    meaning:
      'memory was read at fewer than three numbers of connections, zero included: no interval for the bytes per connection',
  },
  BROADCAST_NOT_SENT: { invalidates: false, meaning: 'a worker did not send a broadcast it was ordered to' },
  ROUND_TRIPS_MISSING: { invalidates: false, meaning: 'single round trips of the probe were not sent or not answered' },
  NOT_GONE: { invalidates: false, meaning: 'connections were left 120 s after the end: the residual is not known' },
} as const satisfies Record<string, Definition>;

export type ReasonCode = keyof typeof VERDICT_REASONS;

/** As in the result document, whose schema leaves the code open for documents of other versions. */
export interface Reason {
  code: ReasonCode;
  message: string;
  fix?: string;
}
