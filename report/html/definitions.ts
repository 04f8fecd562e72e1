/** What the words of the report mean: each has an entry in its appendix, which also works without a network. */
import { type Html, html } from './html.ts';
import { section } from './section.ts';

/** Where the whole method stands. */
const METHOD = 'docs/method.md';

interface Definition {
  term: string;
  /** Heading of the method that says all of it. */
  anchor: string;
  text: string;
}

export const DEFINITIONS = {
  verdict: {
    term: 'Verdict',
    anchor: 'verdict',
    text: 'Whether the measurement can be trusted: VALID, SUSPECT (figures with reasons to doubt them) or INVALID (no headline). It judges the measurement, not the server.',
  },
  stages: {
    term: 'Stages',
    anchor: 'method',
    text: 'Baseline without connections, ramps of arrivals with a plateau after each, hold with everybody connected and nothing sent, broadcasts, drain, disconnect.',
  },
  connections: {
    term: 'Connections held',
    anchor: 'connections',
    text: 'The most that were connected and joined at the same time. The probe of the measurement is not counted.',
  },
  rate: {
    term: 'Connect rate',
    anchor: 'rate',
    text: 'Connections made per second of ramp, pauses left out. The curve over time is taken from the samples, one a second.',
  },
  connectTime: {
    term: 'Connect time',
    anchor: 'connect-time',
    text: 'From the first attempt of a virtual user to the Socket.IO CONNECT answer, repeats included. Connections that were made only.',
  },
  failures: {
    term: 'Failures and disconnects',
    anchor: 'failures',
    text: 'Virtual users whose flow ended in an error, by cause; and connections that ended although nobody asked them to.',
  },
  expected: {
    term: 'Expected receipts',
    anchor: 'expected-set',
    text: 'Connections whose join was acknowledged before the broadcast was sent, and that had not ended before.',
  },
  ledger: {
    term: 'Ledger',
    anchor: 'ledger',
    text: 'expected = received + lost while connected + lost while disconnected, kept per connection and broadcast. Duplicates, reordered, unexpected and late receipts are counted beside it.',
  },
  coverage: {
    term: 'Coverage',
    anchor: 'coverage-and-drain',
    text: 'Received ÷ expected, decided after the drain and rounded down: 100 % means all.',
  },
  oneWay: {
    term: 'One-way latency',
    anchor: 'latency',
    text: 'For every receipt, its time less the intended send time, so that a late publisher cannot hide its queue.',
  },
  completion: {
    term: 'Time to reach everybody',
    anchor: 'latency',
    text: 'Per broadcast, the last receiver: how long until everybody who was reached had it.',
  },
  sendDelay: {
    term: 'Send delay',
    anchor: 'latency',
    text: 'Actual less intended send time of a broadcast.',
  },
  sentinel: {
    term: 'Sentinel',
    anchor: 'latency',
    text: 'One receiver in a process of its own with nothing else to do. Where the crowd comes later than it, the generator may be the queue.',
  },
  roundTrip: {
    term: 'Round trip ÷ 2',
    anchor: 'latency',
    text: 'Half of what a probe that echoes each broadcast takes on the server’s own clock: the Techracers study’s propagation delay.',
  },
  perConnection: {
    term: 'Memory per connection',
    anchor: 'per-connection',
    text: 'Slope of the least-squares line through the plateaus, with Student’s 95 % interval and R². The memory of an empty server is not in it.',
  },
  naive: {
    term: 'Naive memory per connection',
    anchor: 'per-connection',
    text: '(peak − baseline) ÷ connections, the Techracers study’s rule. Garbage and buffers count.',
  },
  atRest: {
    term: 'At rest',
    anchor: 'at-rest',
    text: 'Every worker has collected its garbage, 300 ms have passed, and the median of three readings counts.',
  },
  inService: {
    term: 'In service',
    anchor: 'in-service',
    text: 'What the workers need while they work: read just before the collection at each plateau, or the share of the peak of hold and broadcasts in proportion to the connections if that is more. Capacity comes from it.',
  },
  layers: {
    term: 'Layers',
    anchor: 'layers',
    text: 'Whose memory or CPU it is. PSS divides the pages that processes share; RSS counts them once for each. The load generator is no part of the deployment.',
  },
  residual: {
    term: 'Left after',
    anchor: 'residual',
    text: 'Memory a second after the last connection has left, less the baseline. Positive is not yet a leak.',
  },
  cpu: {
    term: 'CPU cost',
    anchor: 'cpu',
    text: 'Seconds per 1,000 connects while it ramps, percent of a core while idle, and microseconds per delivered message with the idle share taken off.',
  },
  capacity: {
    term: 'Capacity',
    anchor: 'capacity',
    text: 'Where the line of the memory in service reaches the memory budget, and the limits that are known. CPU is not among them.',
  },
  seedMax: {
    term: 'Theoretical max',
    anchor: 'capacity',
    text: '2 GiB × connections ÷ peak worker RSS, the rule of the published benchmark report. It grows with the size of the run.',
  },
  generator: {
    term: 'Generator health',
    anchor: 'verdict',
    text: 'How busy and how late the event loops of the load generator were. A late loop is the queue that it seems to measure.',
  },
} satisfies Record<string, Definition>;

export type Term = keyof typeof DEFINITIONS;

/** A figure's name, as a link to what it means. @param text where it is not the term itself */
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
    lead: `In short; ${METHOD} of the project says all of it, and what each figure cannot tell. KB and MB are 1,024 and 1,048,576 bytes.`,
    body: html`<dl class="definitions">${entries}</dl>`,
  });
}
