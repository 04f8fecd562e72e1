/** The terms of the report, each defined in its appendix, so that the file explains itself without a network. */
import { type Html, html } from './html.ts';
import { section } from './section.ts';

/** The page with the full definitions. */
const METHOD = 'docs/method.md';

interface Definition {
  term: string;
  /** Heading of `METHOD` with the full definition. */
  anchor: string;
  text: string;
}

export const DEFINITIONS = {
  verdict: {
    term: 'Verdict',
    anchor: 'verdict',
    text: 'Whether the measurement can be trusted: VALID, SUSPECT (at least one check raised a doubt) or INVALID (no headline figures). It evaluates the measurement, not the server.',
  },
  stages: {
    term: 'Stages',
    anchor: 'what-a-run-does',
    text: 'A baseline without connections; ramps of new connections, each followed by a plateau; a hold with all clients connected, in which nothing is sent but the messages of the step `every`; broadcasts; drain; disconnect.',
  },
  connections: {
    term: 'Connections held',
    anchor: 'connections',
    text: 'Connections that were alive through the last broadcast; in scenarios whose virtual users leave by themselves, the highest number open at the same time. The measurement’s own connections are not counted.',
  },
  rate: {
    term: 'Connect rate',
    anchor: 'rate',
    text: 'Connections made per second of ramp, excluding pauses. The curve over time is computed from the samples, one per second.',
  },
  connectTime: {
    term: 'Connect time',
    anchor: 'connect-time',
    text: 'From a virtual user’s first attempt to the Socket.IO CONNECT answer, including retries. Only successful connections count.',
  },
  transports: {
    term: 'Transports',
    anchor: 'transports',
    text: 'How connections talk to the server: WebSocket from the start, upgraded to it from HTTP long-polling, as socket.io-client does by default, or polling. Every connection that opened is in exactly one of the three.',
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
    term: 'Expected receipts',
    anchor: 'expected-set',
    text: 'Connections whose join was acknowledged before the broadcast was sent, and that were still open at that time.',
  },
  ledger: {
    term: 'Ledger',
    anchor: 'ledger',
    text: 'expected = received + lost while connected + lost while disconnected, for each connection and broadcast. Duplicate, reordered, unexpected and late receipts are counted separately.',
  },
  coverage: {
    term: 'Coverage',
    anchor: 'coverage-and-drain',
    text: 'Received ÷ expected, computed after the drain and rounded down: 100 % means all of them.',
  },
  clientMessages: {
    term: 'Messages of clients',
    anchor: 'messages',
    text: 'What the step `every` lets each connection send once in a period, on an absolute schedule. Times count from the intended send, so a late generator cannot hide its queue. due = sent + not sent; sent = acknowledged + unanswered.',
  },
  oneWay: {
    term: 'One-way latency',
    anchor: 'latency',
    text: 'The time of each receipt minus the intended send time, so a late publisher cannot hide its queue.',
  },
  completion: {
    term: 'Time to reach everybody',
    anchor: 'latency',
    text: 'For each broadcast, the latency of the last receiver that got it.',
  },
  sendDelay: {
    term: 'Send delay',
    anchor: 'latency',
    text: 'Actual minus intended send time of a broadcast.',
  },
  sentinel: {
    term: 'Reference receiver',
    anchor: 'latency',
    text: 'A single receiver (sentinel in result.json) in its own process, with nothing else to do. If the other receivers lag behind it, the queue may be in the generator.',
  },
  roundTrip: {
    term: 'Round trip ÷ 2',
    anchor: 'latency',
    text: 'Half of the time from sending a broadcast to the probe’s echo, on the server’s own clock. The Techracers study calls it propagation delay.',
  },
  perConnection: {
    term: 'Memory per connection',
    anchor: 'per-connection',
    text: 'What one more connection costs the workers, the proxy and the kernel that they run on: of each, the slope of the least-squares line through the plateaus, with Student’s 95 % interval and R². It excludes the memory of an empty server. Where the generator shares the machine, the kernel’s part is that of the deployment’s sockets: three of four with a proxy, one of two without.',
  },
  naive: {
    term: 'Naive memory per connection',
    anchor: 'per-connection',
    text: '(peak − baseline) ÷ connections, as in the Techracers study. It includes garbage and buffers.',
  },
  atRest: {
    term: 'At rest',
    anchor: 'at-rest',
    text: 'Every worker has collected its garbage and 300 ms have passed. The figure is the median of three readings.',
  },
  overTime: {
    term: 'What connections leave behind',
    anchor: 'memory-over-time',
    text: 'The slope of the line through readings of memory, against the number of connections that have come and left, with its 95 % interval. A leak is an interval above 0 and a rise of more than 1 MB over the run; otherwise, the end of the interval is what a leak would have been found from.',
  },
  fault: {
    term: 'Planned fault',
    anchor: 'storms',
    text: 'What the scenario does to the deployment or to the connections while broadcasts go on. Times count from just before it; a connection is back when it has returned for the last time. Copies that were missed are of broadcasts from the fault until everything was as before, against what as many members as before would have got.',
  },
  inService: {
    term: 'In service',
    anchor: 'in-service',
    text: 'What the workers need while they work: read just before the collection at each plateau, or the share of the peak of hold and broadcasts in proportion to the connections if that is more. Capacity comes from it.',
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
    text: 'Seconds per 1,000 connects during the ramps, percent of a core while idle, and microseconds per delivered message, excluding the idle share.',
  },
  capacity: {
    term: 'Capacity',
    anchor: 'capacity',
    text: 'The number of connections at which the line of the memory in service reaches the memory budget, and the other known limits. Of CPU, they have only that of idle connections, which are pinged.',
  },
  seedMax: {
    term: 'Theoretical max',
    anchor: 'capacity',
    text: '2 GiB × connections ÷ peak worker RSS, the rule of the published benchmark report. It grows with the size of the run.',
  },
  generator: {
    term: 'Generator health',
    anchor: 'verdict',
    text: 'How busy and how late the event loops of the load generator were. If a loop is late, its own queue is part of the latency it measures.',
  },
} satisfies Record<string, Definition>;

export type Term = keyof typeof DEFINITIONS;

/** A term as a link to its definition. @param text of the link; by default the term itself */
export function term(name: Term, text: string = DEFINITIONS[name].term): Html {
  return html`<a class="term" href="#def-${name}">${text}</a>`;
}

export function definitions(): Html {
  const entries = Object.entries(DEFINITIONS).map(
    ([name, { term, anchor, text }]) => html`<div id="def-${name}">
<dt>${term}</dt>
<dd>${text} <code>${METHOD}#${anchor}</code></dd>
</div>
`,
  );
  return section({
    id: 'definitions',
    title: 'Definitions',
    folded: true,
    lead: `These are short definitions. ${METHOD} in the repository has the full ones, and the limits of each figure. KB and MB are 1,024 and 1,048,576 bytes.`,
    body: html`<dl class="definitions">${entries}</dl>`,
  });
}
