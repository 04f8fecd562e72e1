/**
 * Definitions of terms for the appendix of a report. The report contains them, so that it can be read without a
 * network.
 */
export const REPORT_TERMS = {
  Stages:
    'A baseline without connections; ramps of new connections, each followed by a plateau; a hold with all clients connected; broadcasts; drain; disconnect.',
  'Connections held':
    'Connections that were alive through the last broadcast; in scenarios whose virtual users leave by themselves, the highest number open at the same time. The measurement’s own connections are not counted.',
  'Connect rate':
    'Connections made per second of ramp, excluding pauses. The curve over time comes from the samples, one per second.',
  'Connect time':
    'From a virtual user’s first attempt to the Socket.IO CONNECT answer, including retries. Only successful connections count.',
  Transports:
    'WebSocket from the start, upgraded to it from HTTP long-polling, as socket.io-client does by default, or polling. Every connection that opened is in exactly one of the three.',
  Compression:
    'permessage-deflate (RFC 7692): browsers offer it with every WebSocket. A server that grants it keeps a zlib context per connection, and compresses a message once for each receiver.',
  'Failures and disconnects':
    'Virtual users whose flow ended in an error, and connections that ended before the run released them, each by cause.',
  'Expected copies':
    'One for each connection whose join was acknowledged before the broadcast was sent, and that was still open at that time.',
  Ledger:
    'expected = received + lost while connected + lost while disconnected, for each connection and broadcast. Duplicate, reordered, unexpected and late copies are counted separately.',
  Delivered:
    'Received ÷ expected copies, counted after the drain and rounded down: 100 % means all of them. `coverage` in result.json.',
  'Messages of clients':
    'What each connection sends once per period, by the step `every`. Times count from the intended send, so a late generator cannot hide its queue. due = sent + not sent; sent = acknowledged + unanswered.',
  'Latency of a copy':
    'From the intended send until the copy arrived, so a late publisher cannot hide its queue. `oneWayMs` in result.json.',
  'Last receiver': 'Latency of the last copy of each broadcast. `completionMs` in result.json.',
  'Send delay': 'Actual minus intended send time of a broadcast.',
  'Reference receiver':
    'A single receiver in its own process, with nothing else to do. If the other receivers lag behind it, the queue may be in the generator. `sentinelMs` in result.json.',
  'Round trip ÷ 2':
    'Half of the time from sending a broadcast to the probe’s echo, on the server’s own clock. The Techracers study calls it propagation delay.',
  'Memory per connection':
    'What one more connection costs the workers, the proxy and their kernel: the slope of each part’s memory against connections, with its 95 % interval. The memory of an empty server is not included. If the generator shares the machine, the kernel’s part counts the deployment’s sockets only: three of four with a proxy, one of two without.',
  'At rest':
    'Every worker has collected its garbage and 250 ms have passed. The figure is the mean of up to three readings.',
  'In service':
    'What the workers need while they work, garbage and buffers included: the reading just before the collection at each plateau, or the peak during hold and broadcasts in proportion to the connections, if that is higher.',
  'What connections leave behind':
    'How memory rises with each connection that has come and left, and with time. A leak is a 95 % interval above 0 and a rise of more than 1 MB over the run; without one, a leak above the end of the interval would have been found.',
  'Planned fault':
    'What the scenario does to the deployment or to the connections while broadcasts go on. Times count from just before it; a connection is back when it has returned for the last time. Missed copies are relative to the number of members before the fault.',
  Layers:
    'The processes, or the part of the kernel, that use the memory or CPU. PSS divides shared pages among the processes that share them; RSS counts them once per process. The load generator is not part of the deployment.',
  Residual:
    'Memory when the last connection has ended and nothing more is freed, minus the baseline. A positive residual is not necessarily a leak.',
  'CPU cost':
    'Seconds per 1,000 connects during the ramps, percent of a core while idle, and microseconds per delivered copy, excluding the idle share. A figure that is not larger than its noise is unknown.',
  Limits:
    'The numbers of connections at which memory in service fills the machine or container, the workers run out of open files, or the pings of idle connections take all cores. A memory budget is not a limit.',
  'Generator health':
    'How busy and how late the event loops of the load generator were. If a loop is late, its own queue is part of the latency it measures.',
};

export type Term = keyof typeof REPORT_TERMS;
