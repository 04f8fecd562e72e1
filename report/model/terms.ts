/** The terms of a report, each with its definition, so that the file explains itself without a network. */
export const TERMS = {
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
    'permessage-deflate (RFC 7692): browsers offer it with every WebSocket, and the server grants it or not. A server that does keeps a zlib context for each connection, and compresses each message for each of them.',
  'Failures and disconnects':
    'Virtual users whose flow ended in an error, and connections that ended before the run released them, each by cause.',
  'Expected copies':
    'One for each connection whose join was acknowledged before the broadcast was sent, and that was still open at that time.',
  Ledger:
    'expected = received + lost while connected + lost while disconnected, for each connection and broadcast. Duplicate, reordered, unexpected and late copies are counted separately.',
  Delivered:
    'Received ÷ expected copies, counted after the drain and rounded down: 100 % means all of them. `coverage` in result.json.',
  'Messages of clients':
    'What the step `every` lets each connection send once in a period. Times count from the intended send, so a late generator cannot hide its queue. due = sent + not sent; sent = acknowledged + unanswered.',
  'Latency of a copy':
    'From the intended send until the copy arrived, so a late publisher cannot hide its queue. `oneWayMs` in result.json.',
  'Last receiver': 'Of each broadcast, the latency of the last copy that arrived. `completionMs` in result.json.',
  'Send delay': 'Actual minus intended send time of a broadcast.',
  'Reference receiver':
    'A single receiver in its own process, with nothing else to do. If the other receivers lag behind it, the queue may be in the generator. `sentinelMs` in result.json.',
  'Round trip ÷ 2':
    'Half of the time from sending a broadcast to the probe’s echo, on the server’s own clock. The Techracers study calls it propagation delay.',
  'Memory per connection':
    'What one more connection costs the workers, the proxy and the kernel that they run on: of each, the slope of memory against connections, with its 95 % interval. It excludes the memory of an empty server. Where the generator shares the machine, the kernel’s part is that of the deployment’s sockets: three of four with a proxy, one of two without.',
  'At rest':
    'Every worker has collected its garbage and 250 ms have passed. The figure is the mean of up to three readings.',
  'In service':
    'What the workers need while they work, garbage and buffers included: read just before the collection at each plateau, or the share of the peak of hold and broadcasts in proportion to the connections if that is more.',
  'What connections leave behind':
    'How memory rises with the connections that have come and left, and in time, with 95 % intervals. A leak is an interval above 0 and a rise of more than 1 MB over the run; otherwise, a leak larger than the end of the interval would have been found.',
  'Planned fault':
    'What the scenario does to the deployment or to the connections while broadcasts go on. Times count from just before it; a connection is back when it has returned for the last time. Copies that were missed are compared with what as many members as before would have got.',
  Layers:
    'The processes, or the part of the kernel, that use the memory or CPU. PSS divides shared pages among the processes that share them; RSS counts them once per process. The load generator is not part of the deployment.',
  Residual:
    'Memory when the last connection has ended and nothing more is freed, minus the baseline. A positive residual is not necessarily a leak.',
  'CPU cost':
    'Seconds per 1,000 connects during the ramps, percent of a core while idle, and microseconds per delivered copy, excluding the idle share.',
  Limits:
    'Where the line of memory in service reaches the memory of the machine or container, where the workers run out of open files, and where the pings of idle connections take all cores. How many connections fit into a memory budget is a question, and no limit.',
  'Generator health':
    'How busy and how late the event loops of the load generator were. If a loop is late, its own queue is part of the latency it measures.',
};

export type Term = keyof typeof TERMS;
