/** The terms of a report, each defined in its appendix, so that the file explains itself without a network. */

interface Definition {
  term: string;
  /** Heading of docs/method.md with the full definition. */
  anchor: string;
  text: string;
}

export const TERMS = {
  verdict: {
    term: 'Verdict',
    anchor: 'verdict',
    text: 'Whether the measurement can be trusted: VALID, SUSPECT (a check raised a doubt) or INVALID (no figures). It judges the measurement, not the server.',
  },
  stages: {
    term: 'Stages',
    anchor: 'what-a-run-does',
    text: 'A baseline without connections; ramps of new connections, each followed by a plateau; a hold with all clients connected; broadcasts; drain; disconnect.',
  },
  connections: {
    term: 'Connections held',
    anchor: 'connections',
    text: 'Connections that were alive through the last broadcast; in scenarios whose virtual users leave by themselves, the highest number open at the same time. The measurement’s own connections are not counted.',
  },
  rate: {
    term: 'Connect rate',
    anchor: 'rate',
    text: 'Connections made per second of ramp, excluding pauses. The curve over time comes from the samples, one per second.',
  },
  connectTime: {
    term: 'Connect time',
    anchor: 'connect-time',
    text: 'From a virtual user’s first attempt to the Socket.IO CONNECT answer, including retries. Only successful connections count.',
  },
  transports: {
    term: 'Transports',
    anchor: 'transports',
    text: 'WebSocket from the start, upgraded to it from HTTP long-polling, as socket.io-client does by default, or polling. Every connection that opened is in exactly one of the three.',
  },
  compression: {
    term: 'Compression',
    anchor: 'compression',
    text: 'permessage-deflate (RFC 7692): browsers offer it with every WebSocket, and the server grants it or not. A server that does keeps a zlib context for each connection, and compresses each message for each of them.',
  },
  failures: {
    term: 'Failures and disconnects',
    anchor: 'failures',
    text: 'Virtual users whose flow ended in an error, and connections that ended before the run released them, each by cause.',
  },
  expected: {
    term: 'Expected copies',
    anchor: 'expected-set',
    text: 'One for each connection whose join was acknowledged before the broadcast was sent, and that was still open at that time.',
  },
  ledger: {
    term: 'Ledger',
    anchor: 'ledger',
    text: 'expected = received + lost while connected + lost while disconnected, for each connection and broadcast. Duplicate, reordered, unexpected and late copies are counted separately.',
  },
  coverage: {
    term: 'Delivered',
    anchor: 'coverage-and-drain',
    text: 'Received ÷ expected copies, counted after the drain and rounded down: 100 % means all of them. `coverage` in result.json.',
  },
  clientMessages: {
    term: 'Messages of clients',
    anchor: 'messages',
    text: 'What the step `every` lets each connection send once in a period. Times count from the intended send, so a late generator cannot hide its queue. due = sent + not sent; sent = acknowledged + unanswered.',
  },
  oneWay: {
    term: 'Latency of a copy',
    anchor: 'latency',
    text: 'From the intended send until the copy arrived, so a late publisher cannot hide its queue. `oneWayMs` in result.json.',
  },
  completion: {
    term: 'Last receiver',
    anchor: 'latency',
    text: 'Of each broadcast, the latency of the last copy that arrived. `completionMs` in result.json.',
  },
  sendDelay: {
    term: 'Send delay',
    anchor: 'latency',
    text: 'Actual minus intended send time of a broadcast.',
  },
  sentinel: {
    term: 'Reference receiver',
    anchor: 'latency',
    text: 'A single receiver in its own process, with nothing else to do. If the other receivers lag behind it, the queue may be in the generator. `sentinelMs` in result.json.',
  },
  roundTrip: {
    term: 'Round trip ÷ 2',
    anchor: 'latency',
    text: 'Half of the time from sending a broadcast to the probe’s echo, on the server’s own clock. The Techracers study calls it propagation delay.',
  },
  perConnection: {
    term: 'Memory per connection',
    anchor: 'per-connection',
    text: 'What one more connection costs the workers, the proxy and the kernel that they run on: of each, the slope of memory against connections, with its 95 % interval. It excludes the memory of an empty server. Where the generator shares the machine, the kernel’s part is that of the deployment’s sockets: three of four with a proxy, one of two without.',
  },
  atRest: {
    term: 'At rest',
    anchor: 'at-rest',
    text: 'Every worker has collected its garbage and 300 ms have passed. The figure is the median of three readings.',
  },
  inService: {
    term: 'In service',
    anchor: 'in-service',
    text: 'What the workers need while they work, garbage and buffers included: read just before the collection at each plateau, or the share of the peak of hold and broadcasts in proportion to the connections if that is more.',
  },
  overTime: {
    term: 'What connections leave behind',
    anchor: 'memory-over-time',
    text: 'The slope of memory against the number of connections that have come and left, with its 95 % interval. A leak is an interval above 0 and a rise of more than 1 MB over the run; otherwise, a leak larger than the end of the interval would have been found.',
  },
  fault: {
    term: 'Planned fault',
    anchor: 'storms',
    text: 'What the scenario does to the deployment or to the connections while broadcasts go on. Times count from just before it; a connection is back when it has returned for the last time. Copies that were missed are compared with what as many members as before would have got.',
  },
  layers: {
    term: 'Layers',
    anchor: 'layers',
    text: 'The processes, or the part of the kernel, that use the memory or CPU. PSS divides shared pages among the processes that share them; RSS counts them once per process. The load generator is not part of the deployment.',
  },
  residual: {
    term: 'Residual',
    anchor: 'residual',
    text: 'Memory when the last connection has ended and nothing more is freed, minus the baseline. A positive residual is not necessarily a leak.',
  },
  cpu: {
    term: 'CPU cost',
    anchor: 'cpu',
    text: 'Seconds per 1,000 connects during the ramps, percent of a core while idle, and microseconds per delivered copy, excluding the idle share.',
  },
  capacity: {
    term: 'Limits',
    anchor: 'capacity',
    text: 'Where the line of memory in service reaches the memory of the machine or container, where the workers run out of open files, and where the pings of idle connections take all cores. How many connections fit into a memory budget is a question, and no limit.',
  },
  generator: {
    term: 'Generator health',
    anchor: 'verdict',
    text: 'How busy and how late the event loops of the load generator were. If a loop is late, its own queue is part of the latency it measures.',
  },
} satisfies Record<string, Definition>;

export type Term = keyof typeof TERMS;
